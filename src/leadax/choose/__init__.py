"""Choosing between methods: which has the smallest error, and how sure that is."""

from .tune import Tuned as Tuned
from .tune import tune as tune
from .verdict import verdict as verdict
