"""``python -m bayesgan``."""

from bayesgan.cli import main

if __name__ == "__main__":
    main()
