"""`python -m conformance`: the command line."""

from conformance.cli import main

if __name__ == "__main__":
    main()
