"""How much a query, or a file from a stranger, may ask of the machine: every such limit by its name.

A file is bounded before any work is done on it: what it costs grows with its length alone, so that a kilobyte never
costs more than a fifth of a second and 50 megabytes.
"""

MOST_ANSWERS = 1 << 53
"""Answers of any query: positions, and every whole number up to them, are exact as floats too."""

MOST_EDGES = 1 << 21
"""Edges of a graph of answers: all pairs of a map of 1448 cells, both ways."""

MOST_MOVES = 1 << 9
"""Different moves along the edges of a map that has its noise in a table: the table is compared for each of them."""

MOST_LISTED = 1 << 27
"""Values of one scale or one noise table that are ever written out in an array (a gigabyte)."""

MOST_RECOMPUTED = 1 << 17
"""Answers up to which the claims about a noise table are recomputed answer by answer; beyond, in closed form."""

MOST_ROUNDED = 1 << 20
"""Cells that a file may have real answers rounded into: the edges of all of them are written out when one is drawn."""

MOST_CELLS = 1 << 13
"""Values of a quantile; and output cells other than one per answer that a file may declare, unless its law has a row
for each."""

MOST_STEPS = 1 << 16
"""Steps of a noise table that are looked at one by one beyond those written out in its core."""

MOST_BLOCKS = 1 << 24
"""Label sets that the reports of one law may name: a collection counts each of them."""

MOST_SUBSETS = 1 << 18
"""The same where every set is written out in a table."""

MOST_SCORED = 1 << 12
"""Outputs of a score table up to which the tight bound is computed; beyond, the simple one, which costs nothing."""

MOST_DEEPER = 1 << 13
"""Outputs times entries about the depth of a score table, each of which costs the tight bound anew."""

MOST_DEPTHS_APART = 32
"""Different entries about the depth of a score table, for each of which the whole table is gone through."""

MOST_DIGITS = 1500
"""Digits of a numerator or a denominator in a file: more than the finest decimal that a plan may hold has."""

MOST_TIMES = 10**5
"""Answers that the record of several answers may add up."""

MOST_GROUPS_PER_VALUE = 500
"""Groups that a plan's combinations of listed values may make, for every value that is listed."""

MOST_ROWS_PER_BYTE = 32
"""Rows of a compressed register of keys, for every byte of the file."""

MOST_UNFOLDED = 1000
"""Bytes that a compressed register of keys may unfold to, for every byte of the file."""

DEEPEST = 32
"""Levels of lists and tables within each other in a file."""

LONGEST = 1 << 29
"""Bytes of a file that is read whole: the passport of the largest matrix has some 350 million."""
