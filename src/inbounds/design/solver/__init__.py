"""Linear programs: HiGHS, master programs over rays, pricing, and the linear algebra of interior points."""
