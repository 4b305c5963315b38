"""The command `c10`: arguments to calls to text, one file per command."""
