"""What was sampled: collected networks, predictions averaged over them, and how good these are."""
