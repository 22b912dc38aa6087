"""The JavaScript client in js/ against the Python laws: the same values, the same reports, exactly the same weights."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism.laws import BlockResponse
from vectors.write import FOLDER

JS = Path(__file__).parents[2] / "js"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js")

SINGLE = ("matrix", "noise", "plane", "response", "subsets", "affine", "planes")
"""The folders of vectors whose laws report on one person's value."""
EACH = 4
LONGEST = 300
"""The most answers, or sets of labels, that are compared one by one."""


def own_mechanisms():
    labels = ib.category(["no", "yes", "maybe", "€", "ä", "a,b", "0"])
    return {
        "shifted": ib.catalog.truncated_geometric(ib.ordinal(-3, 5, unit="0.5"), "0.7"),
        "labels": ib.catalog.randomized_response(ib.category(["no", "yes"]), 1),
        "map": ib.catalog.planar_laplace(ib.grid(3, 4), 1),
        "subsets": ib.local.subset_selection(labels, 1),
        "hadamard": ib.local.hadamard_response(labels, 1),
        "projective": ib.local.projective_response(labels, 2),
    }


def described(mechanism):
    """What the client must do with a mechanism, computed by Python's law."""
    query, reported = mechanism.query, mechanism.report_query
    values = [written(value) for value in (query.labels or answer_values(query))]
    reports = list(range(mechanism.law.design.blocks)) if isinstance(mechanism.law, BlockResponse) else None
    found = {
        "values": [values[0], values[-1]],
        "refused": ["nothing of the kind", None, float(len(values)) + 0.25],
        "reports": reports or [written(value) for value in reported.output_values.tolist()],
    }
    if isinstance(mechanism.law, BlockResponse):
        return {**found, **described_sets(mechanism.law)}
    chosen = sorted({0, len(values) // 2, len(values) - 1})
    columns = [column_of(mechanism, answer) for answer in chosen]
    return {**found, "answers": chosen, "columns": [[str(weight) for weight in column] for column in columns]}


def size_of(mechanism):
    sets = mechanism.law.design.blocks if isinstance(mechanism.law, BlockResponse) else 0
    return max(len(mechanism.query.answers), sets)


def column_of(mechanism, answer):
    return [int(weight) for weight in np.asarray(mechanism.weights)[:, answer]]


def described_sets(law):
    design, places = law.design, []
    for label in {0, design.labels - 1}:
        for holds in (True, False):
            count = design.holding if holds else design.blocks - design.holding
            index = np.arange(count)
            found = design.places(np.full(count, label), np.full(count, holds), index)
            places.append([label, holds, found.tolist()])
    return {"inside": str(law.inside), "sets": design.blocks, "places": places}


def answer_values(query):
    return [float(value) for value in query.answers]


def written(value):
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.fixture(scope="module")
def built():
    subprocess.run([NODE, "build.mjs"], cwd=JS, check=True)


def test_the_client_draws_by_the_laws_of_passports_and_refuses_others(built, tmp_path):
    mechanisms = own_mechanisms()
    for law in SINGLE:
        files = sorted((FOLDER / law / "accept").glob("*.json"))
        for file in files[:: max(1, len(files) // EACH)]:
            loaded = ib.load(file)
            if (
                size_of(loaded) <= LONGEST
                and not loaded.query.rounds
                and loaded.query.outputs.values == loaded.query.answers
            ):
                mechanisms[f"{law}-{file.stem}"] = loaded
    assert len(mechanisms) > 2 * len(SINGLE)
    for name, mechanism in mechanisms.items():
        mechanism.save(tmp_path / f"{name}.passport.json")
        (tmp_path / f"{name}.expected.json").write_text(json.dumps(described(mechanism)))
    (tmp_path / "refuse").mkdir()
    for law in SINGLE:
        for file in (FOLDER / law / "refuse").glob("*.json"):
            shutil.copy(file, tmp_path / "refuse" / f"{law}-{file.name}")
    result = subprocess.run(
        [NODE, "--test", "--test-reporter=tap", "test"],
        cwd=JS,
        env={**os.environ, "PASSPORTS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]


DRAW = """
import { readFileSync } from "node:fs";
import { readMechanism } from "./src/index.js";
const [file, value] = process.argv.slice(1);
const text = readFileSync(file, "utf8");
const { content, sha256 } = JSON.parse(text);
const mechanism = readMechanism(text, { digest: sha256, maxEpsilon: content.epsilon, query: content.query });
console.log(JSON.stringify(Array.from({ length: 50 }, () => mechanism.randomize(JSON.parse(value)))));
"""


@pytest.mark.parametrize("name", ["shifted", "labels", "map", "hadamard"])
def test_a_collector_counts_what_the_client_reports(built, tmp_path, name):
    mechanism = own_mechanisms()[name]
    mechanism.save(tmp_path / "p.json")
    value = json.dumps(written((mechanism.query.labels or answer_values(mechanism.query))[1]))
    command = [NODE, "--input-type=module", "--eval", DRAW, str(tmp_path / "p.json"), value]
    drawn = subprocess.run(command, cwd=JS, check=True, capture_output=True, text=True)
    collector = ib.Collector(mechanism)
    collector.add(json.loads(drawn.stdout))
    assert collector.counts.sum() == 50


def test_the_client_has_the_version_of_the_package():
    assert json.loads((JS / "package.json").read_text())["version"] == ib.__version__


def test_nothing_draws_but_the_systems_generator():
    sources = [file.read_text() for file in (JS / "src").glob("*.js") if file.name != "check.js"]
    assert len(sources) >= 6
    assert sum(source.count("getRandomValues") for source in sources) == 1
    assert not any("Math.random" in source for source in sources)
