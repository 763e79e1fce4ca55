"""Runs of a few iterations, by the command line."""

QUICK = ("--threads=1", "--set=iterations=12", "--set=generator_width=4", "--set=discriminator_width=4")
DIGITS = ("--dataset=digits", "--labels=20", *QUICK)
