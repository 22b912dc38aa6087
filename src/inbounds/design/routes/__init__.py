"""Routes to an optimum. Each takes a `Problem` that it accepts and returns a `Proposal` with a proved bound."""
