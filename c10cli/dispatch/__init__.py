"""Which kernel runs: stack, kernels, tables, the dispatcher and ways to register."""
