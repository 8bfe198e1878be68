"""`python -m elmonet` is the command line."""

from elmonet.cli import main

if __name__ == "__main__":
    main()
