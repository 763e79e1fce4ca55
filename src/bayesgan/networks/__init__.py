"""Architectures: one module describes one network."""
