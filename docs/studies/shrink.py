"""make studies, second step: the PNGs of a directory with 256 colours each, small enough for the pages here."""

import sys
from pathlib import Path

from PIL import Image

source, target = Path(sys.argv[1]), Path(__file__).parent / "images"
target.mkdir(exist_ok=True)
for path in sorted(source.glob("00*.png")):
    Image.open(path).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(target / path.name, optimize=True)
