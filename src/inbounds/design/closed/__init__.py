"""Closed forms: the papers' formulas as float matrices P[output, answer]. They propose; repair and checker decide."""
