"""Is a kernel right: inputs from cases, the reference, tolerances, and what a call must not do."""
