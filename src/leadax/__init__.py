"""Leadax: learn the dynamics that many environments share, and what sets each apart.

The public names are listed, one per line, in `__init__.pyi`, which type checkers read and which is loaded here on
first use: importing JAX takes two seconds, and `leadax --help` must not wait for it.
"""

import lazy_loader

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
