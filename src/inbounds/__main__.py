"""python -m inbounds"""

from inbounds.cli import main

main()
