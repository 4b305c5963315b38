"""How fast a kernel is: clock, sampling, statistics, results and their journal."""
