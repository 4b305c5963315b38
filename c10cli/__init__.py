"""c10cli."""
__version__ = "0.1.0"
