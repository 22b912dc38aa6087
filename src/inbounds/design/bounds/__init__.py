"""Proved lower bounds on the loss of any mechanism."""
