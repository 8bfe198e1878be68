"""Run the command line: `python -m elmonet`."""

from elmonet.cli import main

if __name__ == "__main__":
    main()
