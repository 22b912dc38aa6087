"""Time to certify a float matrix, and to build and certify a geometric mechanism over a million answers."""

import resource
import sys

from harness import emit, timed

import inbounds as ib

rows = []
for n in (20, 100, 500):
    query = ib.count(n)
    floats = ib.catalog.truncated_geometric(query, 0.5).matrix
    rows.append(timed(f"certify n = {n}", "inbounds", lambda f=floats, q=query: ib.certify(f, q, 0.5)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
million = timed("geometric 0..1,000,000", "inbounds", lambda: ib.catalog.truncated_geometric(ib.count(10**6), 0.5))
ib.catalog.truncated_geometric(ib.count(10**6), 0.5).sample([0, 10**6])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
million.note = f"built, certified and sampled once; peak memory {peak / 1024:.0f} MB (at start {before / 1024:.0f})"
emit([*rows, million])
sys.exit(0)
