"""Tables that add up: from reports about every node to whole numbers in range whose sums hold, with intervals.

    tree, reports → prior → posterior → best whole numbers → table

It knows nothing of plans and data: everything here is post-processing of reports that are private already.
"""
