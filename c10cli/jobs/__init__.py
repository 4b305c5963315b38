"""Work in child processes: one protocol, one fingerprint of what was run."""
