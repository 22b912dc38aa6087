"""Release a table: charge, draw, store, write, verify."""
