"""`python -m evenhand`: the command line, for where the command is not on the path."""

from evenhand.cli import main

if __name__ == "__main__":
    main()
