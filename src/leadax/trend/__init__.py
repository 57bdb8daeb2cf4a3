"""Polynomial vector fields fitted in closed form: where nets begin, so that they only have to learn the rest."""

from .degree import Polynomial as Polynomial
from .degree import best_polynomial as best_polynomial
from .degree import highest_degree as highest_degree
from .fit import Trend as Trend
from .fit import trend_of as trend_of
from .intervals import Formula as Formula
from .turns import needs_hidden as needs_hidden
