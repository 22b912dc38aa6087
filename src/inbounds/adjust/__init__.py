"""Adjustment of reports: whole numbers in range that add up, with credible intervals.

    tree, reports → prior → posterior → best whole numbers → table

Everything here is post-processing of reports that are already private. No module reads plans or data.
"""
