"""Proved bounds on what any mechanism can reach."""
