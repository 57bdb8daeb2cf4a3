"""The paper's theory (Sec. 3): sample sizes, error bounds, and minimal decompositions of linear maps.

The names are listed in `__init__.pyi` and loaded on first use, since only `measured` needs JAX.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
