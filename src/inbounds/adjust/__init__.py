"""Adjustment of outputs: whole numbers in range that add up, with credible intervals.

    tree, outputs → prior → posterior → best whole numbers → table

Everything here is post-processing of outputs that are already private. No module reads plans or data.
"""
