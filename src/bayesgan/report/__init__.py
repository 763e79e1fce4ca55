"""A page on finished runs, for the browser."""
