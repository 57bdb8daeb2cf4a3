"""The paper's theory (Sec. 3) as tools: how many samples are enough, how large the error can be, whether sharing helps.

The names are listed in `__init__.pyi` and loaded on first use: only `measured` needs JAX.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
