"""Data sources, one module each."""
