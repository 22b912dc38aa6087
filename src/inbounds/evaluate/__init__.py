"""Judging mechanisms for a person who has to choose: comparisons, promises, recommendations."""
