"""A page in the browser to explore a trained posterior: its pictures, its predictions, and what it is unsure of."""
