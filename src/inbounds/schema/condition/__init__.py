"""Conditions on records: parse, check, canonical form."""
