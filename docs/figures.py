"""make figures: the pictures of the README and of the tutorials; some are those of the gallery's notebooks."""

import base64
from pathlib import Path

from notebooks import code_cells, read

import inbounds as ib
from inbounds.report.figures import heatmaps, posterior

IMAGES = Path(__file__).parent / "images"
TAKEN = {"release": "survey", "adding-up": "hierarchy", "ledger": "budget", "curator": "curator", "local": "local"}
TAKEN |= {"design": "constraints"}
"""Pictures of tutorials, and the notebooks that draw them."""


def picture(notebook: str) -> bytes:
    """The last picture of a notebook, as it was drawn when the notebook was run."""
    shown = [output.get("data", {}) for cell in code_cells(read(notebook)) for output in cell["outputs"]]
    return base64.b64decode([data["image/png"] for data in shown if "image/png" in data][-1])


if __name__ == "__main__":
    query, epsilon = ib.count(10), 0.5
    pair = [ib.catalog.snapped_laplace(query, epsilon), ib.catalog.variant_2(query, epsilon)]
    IMAGES.mkdir(exist_ok=True)
    heatmaps(pair, ["clamped Laplace noise", "optimal, fair and monotone"]).savefig(IMAGES / "pair.png", dpi=120)
    twenty = ib.optimal(ib.count(20), epsilon, properties=["fair"])
    heatmaps([twenty], ["optimal and fair, epsilon 0.5"]).savefig(IMAGES / "reading.png", dpi=100)
    posterior(ib.optimal(ib.count(25), 1), 2).savefig(IMAGES / "published.png", dpi=100)
    for name, notebook in TAKEN.items():
        (IMAGES / f"{name}.png").write_bytes(picture(notebook))
