"""Every number that a run depends on: the settings, the methods that are compared, and the presets."""
