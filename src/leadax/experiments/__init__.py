"""Settings of the paper's experiments, and sensible ones for data of your own."""

from .presets import Settings as Settings
from .presets import complete as complete
from .presets import settings_for as settings_for
