"""What draws of any model say: which are kept, intervals, convergence."""
