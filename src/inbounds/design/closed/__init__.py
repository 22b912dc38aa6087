"""Closed forms: the papers' formulas as float matrices P[output, answer]. They are proposals, not yet certified."""
