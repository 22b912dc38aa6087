"""Limits on what a query, or a file from an unknown author, may ask of the machine.

A file is bounded before any work is done on it. Its cost grows with its length only: a kilobyte never costs more than
a fifth of a second and 50 megabytes.
"""

MOST_ANSWERS = 1 << 53
"""Answers of any query: every position is exact as a float, too."""

MOST_EDGES = 1 << 21
"""Edges of a graph of answers: all pairs of a map of 1448 cells, both ways."""

MOST_MOVES = 1 << 9
"""Different moves along the edges of a map with a noise table: the table is compared for each of them."""

MOST_LISTED = 1 << 27
"""Values of one scale or one noise table that are ever written out in an array (a gigabyte)."""

MOST_RECOMPUTED = 1 << 17
"""Answers up to which the claims about a noise table are recomputed answer by answer; above, in closed form."""

MOST_ROUNDED = 1 << 20
"""Cells of a file's interval query: the edges of all cells are written out when a report is drawn."""

MOST_CELLS = 1 << 13
"""Values of a quantile. Also: output cells that a file may declare, if they are not one per answer and its law has no
row for each."""

MOST_STEPS = 1 << 16
"""Steps of a noise table outside its core that are examined one by one."""

MOST_BLOCKS = 1 << 24
"""Label sets of one block design: a collector keeps a count for each of them."""

MOST_SUBSETS = 1 << 18
"""Label sets of a block design that writes every set out in a table."""

MOST_SCORED = 1 << 12
"""Outputs of a score table up to which the tight bound is computed; above, the simple bound, which is cheap."""

MOST_DEEPER = 1 << 13
"""Outputs times depth entries of a score table: the tight bound is computed once for each entry."""

MOST_DEPTHS_APART = 32
"""Different depth entries of a score table: the whole table is read once for each of them."""

MOST_DIGITS = 1500
"""Digits of a numerator or a denominator in a file: more than the finest decimal in a plan has."""

MOST_TIMES = 10**5
"""Answers that a composition record may add up."""

MOST_GROUPS_PER_VALUE = 500
"""Groups that a plan's combinations of values may make, per value in the plan's lists."""

MOST_ROWS_PER_BYTE = 32
"""Rows of a compressed key file, per byte of the file."""

MOST_UNFOLDED = 1000
"""Bytes that a compressed key file may expand to, per byte of the file."""

DEEPEST = 32
"""Nesting levels of lists and tables in a file."""

LONGEST = 1 << 29
"""Bytes of a file that is read whole: the passport of the largest matrix has some 350 million."""
