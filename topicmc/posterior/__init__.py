"""What the kept samples say: topics matched across chains, intervals, convergence and a verdict."""
