"""`python -m leadax.cli`: the same as `leadax`."""

from . import main

main()
