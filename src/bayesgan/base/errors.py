"""The exception for errors that a person can mend: its text is a full sentence that says what to do."""


class BayesganError(Exception):
    """Bad input, a diverged chain, an unusable file. The command line prints its text and exits with 2."""
