"""Small starts."""
