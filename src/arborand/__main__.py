"""``python -m arborand``: the command line."""

from _arborand_command import main

if __name__ == "__main__":
    main()
