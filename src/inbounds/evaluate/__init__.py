"""Evaluation of mechanisms for people who choose one: comparisons, accuracy goals, recommendations."""
