"""Topic mixes of documents: how they are found, how sure they are, and files of them."""
