"""Collected networks, predictions averaged over them, and scores of these."""
