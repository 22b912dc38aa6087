"""Finding the optimum: plain arrays in, proposals with proved bounds out. The only place that knows a solver.

`designer` chooses the route. `routes`: `geometric` and `counts` (closed form), `flowchart`, `fill` (no solver), `rays`
with `stairs` and `everyone` (cone rays), `program` with `rows`, `folded`, `chains` (linear programs for properties);
`fallback` has a mechanism for every request. `bounds` proves lower bounds, `solver` holds pricing, master problems and
HiGHS, `closed` the papers' formulas. `problem` and `comparisons` say what is asked.
"""
