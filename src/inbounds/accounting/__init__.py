"""What several answers about the same people promise together.

filters       charges of questions chosen one after the other, and what they convert to
"""
