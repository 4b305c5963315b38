"""The objects behind `file.py:name`: parsed, located, their source read, imported."""
