"""Linear programs and what they are solved with."""
