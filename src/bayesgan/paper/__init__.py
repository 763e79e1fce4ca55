"""The paper's experiments: its table and its figures."""
