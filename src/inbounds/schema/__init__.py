"""Declared columns, conditions and the types of a release record."""
