"""What every room may use: errors, files, the machine, random streams."""
