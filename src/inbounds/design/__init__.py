"""Finding the optimum: plain arrays in, proposals with proved bounds out. The only place that knows a solver.

`optimal` chooses the route: `geometric` and `counts` (closed form), `flowchart`, `fill` (no solver), `rays` with
`pricing`, `stairs`, `master`, `simplex` and `everyone` (cone rays), `program` with `rows`, `folded`, `chains` (linear
programs for properties). `bound` and `duality` prove lower bounds; `fallback` has a mechanism for every request.
"""
