"""The experiments of Section 4, one module each."""
