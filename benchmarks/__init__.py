"""Scripts that measure; README.md has their commands and what they printed."""
