"""`python -m leadax.cli`: the same as `leadax`."""

from . import main

if __name__ == "__main__":  # a worker process imports it under another name
    main()
