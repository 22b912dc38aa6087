"""Mechanisms for people to look at: words, tables and pictures."""
