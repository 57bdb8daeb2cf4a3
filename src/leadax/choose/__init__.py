"""Choosing between methods: which has the smallest error, and how sure that is."""

from .verdict import verdict as verdict
