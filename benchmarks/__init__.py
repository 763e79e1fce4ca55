"""Scripts that measure speed; README.md has their commands and what they printed."""
