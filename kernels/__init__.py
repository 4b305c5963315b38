"""The shipped kernels of namespace ``c10``: one file per operator and variant."""
