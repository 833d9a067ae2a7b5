"""``python -m arborand``: the command line."""

from arborand.cli import main

if __name__ == "__main__":
    main()
