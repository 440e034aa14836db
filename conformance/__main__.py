"""`python -m conformance`: the command line."""

from conformance.cli import program

if __name__ == "__main__":
    program()
