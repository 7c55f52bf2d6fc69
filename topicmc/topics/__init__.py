"""What people look at: topics, their words, how sure they are, how runs compare."""
