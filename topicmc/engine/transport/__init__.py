"""How the states of chains travel and workers agree, in one process or over MPI."""
