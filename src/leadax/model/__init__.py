"""What training gives: `Model`, and the `Forecast` that it makes."""

from .estimates import Estimate as Estimate
from .fields import LearntField as LearntField
from .forecast import Forecast as Forecast
from .model import Model as Model
from .model import check_fits as check_fits
from .model import check_order as check_order
