"""A run in a folder: trained, stopped, gone on with, and read back."""
