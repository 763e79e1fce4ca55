"""Shared by all packages: errors, files, the machine, random streams."""
