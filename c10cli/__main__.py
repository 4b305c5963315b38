"""``python -m c10cli``, the same as the command ``c10``."""

from c10cli.cli.main import main

main()
