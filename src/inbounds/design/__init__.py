"""Design of optimal mechanisms: plain arrays in, proposals with proved bounds out. Only this package calls solvers.

`designer` chooses the route. In `routes`: `geometric` and `count_remap` (closed form), `flowchart`, `outward_fill` (no
solver), `column_generation` with `staircases` and `windows_interior` (cone rays), `linear_program` with
`row_program`, `folding`, `chains` (linear programs for properties); `baseline` has a mechanism for every request.
`graphs` serves answers on a graph, `quantiles` medians and other quantiles. `bounds` proves lower bounds, `solver`
holds pricing, master programs and HiGHS, `closed` the papers' formulas. `problem` and `comparisons` state a request in
numbers.
"""
