"""The studio: explore, plan, release and check in a browser on this machine.

Pages show what public calls return; there is no mathematics here. The studio serves one person on one machine (`auth`),
works in one folder (`workspace`), and never shows a true value.
"""
