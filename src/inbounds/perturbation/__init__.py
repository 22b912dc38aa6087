"""Perturbation tables of statistical offices (the cell-key method): read, audit, design and write them.

table       the table, and what it promises about one table of disjoint cells
formats     the files of the R packages ptable and cellKey, and of τ-Argus and SAS
design      the table with the least delta for a largest noise, a variance and forbidden results

A perturbation table is no mechanism of this package: releases, the curator and the ledger refuse it. Its noise is meant
to be repeated, and what that reveals depends on which tables are published (docs/perturbation.md).
"""

from inbounds.perturbation.design import TableDesign, design_table
from inbounds.perturbation.formats import format_table, parse_table, read_table, write_table
from inbounds.perturbation.table import PerturbationTable

__all__ = [
    "PerturbationTable",
    "TableDesign",
    "design_table",
    "format_table",
    "parse_table",
    "read_table",
    "write_table",
]
