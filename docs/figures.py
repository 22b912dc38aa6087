"""make figures: the pictures of the README and of the tutorials; some are those of the gallery's notebooks."""

import base64
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from notebooks import code_cells, read

import inbounds as ib
from inbounds.report.figures import heatmaps, posterior

sys.path.append(str(Path(__file__).parents[1] / "examples"))

import demo

IMAGES = Path(__file__).parent / "images"
TAKEN = {"release": "survey", "adding-up": "hierarchy", "ledger": "budget", "curator": "curator", "local": "local"}
TAKEN |= {"design": "constraints"}
"""Pictures of tutorials, and the notebooks that draw them."""


def picture(notebook: str) -> bytes:
    """The last picture of a notebook, as it was drawn when the notebook was run."""
    shown = [output.get("data", {}) for cell in code_cells(read(notebook)) for output in cell["outputs"]]
    return base64.b64decode([data["image/png"] for data in shown if "image/png" in data][-1])


def town() -> Any:
    """The maps of the tutorial on places: what its own code made of people, reports and shares."""
    from matplotlib import pyplot as plt

    page = Path(__file__).with_name("maps.md").read_text("utf-8")
    made: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page.partition("## In a database")[0], re.S):
        exec(block, made)  # noqa: S102, our own page
    people, reports = (np.zeros((12, 16)), np.zeros((12, 16)))
    np.add.at(people, tuple(made["people"].T), 1 / len(made["people"]))
    np.add.at(reports, tuple(np.asarray(made["reports"], dtype=int).T), 1 / len(made["people"]))
    smooth = ib.snap_to_map(made["town"], made["smooth"].distribution)
    shown = {
        "where people are": people,
        "what they report": reports,
        "likeliest": made["shares"],
        "stopped early": smooth,
    }
    figure, axes = plt.subplots(2, 2, figsize=(7.5, 5), layout="constrained")
    for axis, (title, shares) in zip(axes.flat, shown.items(), strict=True):
        image = axis.imshow(100 * shares, vmin=0, vmax=100 * people.max(), cmap="YlGnBu", origin="lower")
        axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(image, ax=axes, label="per cent of the people")
    return figure


if __name__ == "__main__":
    query, epsilon = ib.count(10), 0.5
    pair = [ib.catalog.snapped_laplace(query, epsilon), ib.catalog.variant_2(query, epsilon)]
    IMAGES.mkdir(exist_ok=True)
    heatmaps(pair, ["clamped Laplace noise", "optimal, fair and monotone"]).savefig(IMAGES / "pair.png", dpi=120)
    twenty = ib.optimal(ib.count(20), epsilon, properties=["fair"])
    heatmaps([twenty], ["optimal and fair, epsilon 0.5"]).savefig(IMAGES / "reading.png", dpi=100)
    posterior(ib.optimal(ib.count(25), 1), 2).savefig(IMAGES / "published.png", dpi=100)
    demo.picture(demo.find_errors(demo.survey(), demo.people())).savefig(IMAGES / "demo.png", dpi=120)
    town().savefig(IMAGES / "maps.png", dpi=100)
    for name, notebook in TAKEN.items():
        (IMAGES / f"{name}.png").write_bytes(picture(notebook))
