"""make figures: the picture of the README."""

from pathlib import Path

import inbounds as ib
from inbounds.report.figures import heatmaps

query, epsilon = ib.count(10), 0.5
pair = [ib.catalog.snapped_laplace(query, epsilon), ib.catalog.variant_2(query, epsilon)]
target = Path(__file__).parent / "images" / "pair.png"
target.parent.mkdir(exist_ok=True)
heatmaps(pair, ["clamped Laplace noise", "optimal, fair and monotone"]).savefig(target, dpi=120)
