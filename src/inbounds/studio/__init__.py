"""The studio: look, plan, release, check in a browser on this machine.

Pages show what calls return, the same calls that Python and the command line have: no mathematics lives here. It
speaks to one person on one machine (`auth`), works in one folder (`workspace`), and never shows a true value.
"""
