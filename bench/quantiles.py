"""Errors of private quantiles beside the exponential mechanism on ranks and OpenDP, over sizes, ranges and shapes.

No report is drawn: given the records, the probabilities of all reports are known for each side, and so is the expected
error. OpenDP runs in a process of its own: it scores the candidates itself and calibrates its own scale; its noisy
maximum with exponential noise has the law of permute-and-flip, which the process checks against its own draws first.

`python bench/quantiles.py` writes docs/benchmarks/quantiles.md; `--quick` prints a small sweep.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, one_thread
from pages import WIDE, machine_line

import inbounds as ib
from inbounds.mechanism.quantiles.expected import groups_of
from inbounds.mechanism.quantiles.laws import flipped
from inbounds.numbers import Floats, Ints
from inbounds.query import Quantile

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "quantiles.md"
SIZES, VALUES, EPSILONS = (10, 30, 100, 300, 1000, 3000), (5, 21, 101, 500), ("0.2", "1", "4")
QUANTILES = {"minimum": "0", "median": "0.5", "90 %": "0.9", "maximum": "1"}
NEGLIGIBLE = 1e-3
"""Steps: an expected error that nobody can tell from none."""

GROUPS = 60
"""Groups drawn from every shape, one for each equal part of the places that its quantile may have.

Whether a quantile lies at the edge of what equal records make certain decides its error, and few groups do.
"""


def _bell(values: int, centre: float, width: float) -> Floats:
    return np.exp(-0.5 * ((np.arange(values) / (values - 1) - centre) / width) ** 2)


SHAPES = {
    "flat": lambda m: np.ones(m),
    "falling": lambda m: np.exp(-8 * np.arange(m) / m),
    "rising": lambda m: np.exp(-8 * np.arange(m)[::-1] / m),
    "bell": lambda m: _bell(m, 0.5, 0.1),
    "bell at a quarter": lambda m: _bell(m, 0.25, 0.05),
    "two bells": lambda m: _bell(m, 0.2, 0.05) + _bell(m, 0.8, 0.05),
    "mostly the least value": lambda m: np.r_[1.0, np.full(m - 1, 0.2 / m)],
}


@dataclass(frozen=True)
class Case:
    """One row of the sweep, and the records drawn for it."""

    size: int
    values: int
    epsilon: str
    quantile: str
    shape: str
    groups: Ints

    @property
    def query(self) -> Quantile:
        return ib.quantile(QUANTILES[self.quantile], 0, self.values - 1, size=self.size)

    @property
    def distances(self) -> Ints:
        return np.abs(np.arange(self.values) - self.query.truths(self.groups)[:, None])

    def error(self, probabilities: Floats) -> float:
        return float((probabilities * self.distances).sum(axis=1).mean())


def sweep(quick: bool) -> Iterator[Case]:
    rng = np.random.default_rng(11)
    for size in SIZES[::3] if quick else SIZES:
        for values in VALUES[:3:2] if quick else VALUES:
            for epsilon in EPSILONS[::2] if quick else EPSILONS:
                for quantile in QUANTILES:
                    for name, shape in SHAPES.items():
                        weights = shape(values)
                        at = Fraction(QUANTILES[quantile])
                        groups = groups_of(weights / weights.sum(), at, size, GROUPS, rng)
                        yield Case(size, values, epsilon, quantile, name, groups)


# --- the sides --------------------------------------------------------------------------------------------


def exponential(case: Case) -> float:
    """The float exponential mechanism on ranks: exp(-epsilon/2) for every record that must change."""
    lengths = case.query.lengths(case.groups)
    weights = np.exp(-float(case.epsilon) / 2 * lengths)
    return case.error(weights / weights.sum(axis=1, keepdims=True))


def ours(cases: list[Case]) -> Iterator[tuple[float, str]]:
    """(expected error, the kind of law) of what `ib.choose` takes before any record is seen."""
    chosen: dict[tuple[Quantile, str], Any] = {}
    for case in cases:
        key = case.query, case.epsilon
        if key not in chosen:
            chosen[key] = ib.choose(*key).mechanism
        yield case.error(chosen[key].probabilities(case.groups)), chosen[key].law.name


def peer(cases: list[Case]) -> list[float] | None:
    """The errors of OpenDP's private quantile, from its own process; None where it is not installed."""
    asked = [
        {
            "groups": case.groups.tolist(),
            "distances": case.distances.tolist(),
            "at": float(Fraction(QUANTILES[case.quantile])),
            "epsilon": case.epsilon,
        }
        for case in cases
    ]
    command = [sys.executable, __file__, "opendp"]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return None
    return list(map(float, json.loads(done.stdout)))


def opendp() -> None:
    """In a process of its own: for every case the probabilities of all reports."""
    import opendp.prelude as dp  # type: ignore[import-untyped]

    dp.enable_features("contrib", "honest-but-curious")
    scorers: dict[Any, Any] = {}

    def scorer(size: int, values: int, at: float) -> Any:
        if (size, values, at) not in scorers:
            space = dp.vector_domain(dp.atom_domain(T=int), size=size), dp.symmetric_distance()
            scorers[size, values, at] = dp.t.make_quantile_score_candidates(*space, list(range(values)), at)
        return scorers[size, values, at]

    def law(groups: Ints, at: float, epsilon: float) -> Floats:
        """OpenDP's scores, |at · (records above) - (1 - at) · (records below)| in its units, as it computes them."""
        made = scorer(int(groups[0].sum()), groups.shape[1], at)
        below = np.cumsum(groups, axis=1) - groups
        scores = np.abs(at * (groups[0].sum() - below - groups) - (1 - at) * below)
        one = scores.sum(axis=1).argmax()
        own = np.array(made(np.repeat(np.arange(groups.shape[1]), groups[one]).tolist()), dtype=np.float64)
        unit = own.sum() / scores[one].sum()
        assert np.allclose(own, unit * scores[one], rtol=1e-6, atol=1e-6 * unit), "the scores of OpenDP are others"
        # one record changed is a distance of 2; noise of twice the scale that its map states, as the check finds
        gaps = unit * (scores - scores.min(axis=1, keepdims=True))
        return flipped(np.exp(-gaps * epsilon / (2 * made.map(2))))

    def checked() -> None:
        group, at = [5, 6, 7, 4, 3], 0.5
        space = dp.vector_domain(dp.atom_domain(T=int), size=25), dp.symmetric_distance()
        make = lambda scale: dp.m.make_private_quantile(*space, dp.max_divergence(), list(range(5)), at, scale)  # noqa: E731
        drawn = make(dp.binary_search_param(make, 2, 1.0))
        records = np.repeat(np.arange(5), group).tolist()
        found = np.bincount([drawn(records) for _ in range(40_000)], minlength=5) / 40_000
        assert np.abs(found - law(np.array([group]), at, 1.0)[0]).max() < 0.02, (
            "the law of OpenDP's quantile is another"
        )

    checked()
    asked = json.load(sys.stdin)
    found = [law(np.array(case["groups"]), case["at"], float(case["epsilon"])) for case in asked]
    errors = [
        float((probabilities * np.array(case["distances"])).sum(axis=1).mean())
        for probabilities, case in zip(found, asked, strict=True)
    ]
    print(json.dumps(errors))


# --- the page ---------------------------------------------------------------------------------------------

FACTS = ("quantile", "epsilon", "values", "size", "shape")

ABOUT = """Expected absolute errors of quantiles of groups of public size, given the records: {count} cases, the product
of sizes {sizes}, ranges of {values} values, epsilon {epsilons}, minimum, median, 90 % quantile and
maximum, and {shapes} shapes ({names}), {groups} groups drawn for each, evenly over the places
that the quantile may have. `inbounds` is what `ib.choose` takes before any record is seen. Its peers get the same
records and the same epsilon:

- *exponential*: the exponential mechanism in floats, with exp(-epsilon/2) for every record that must change;
- *OpenDP*: `make_private_quantile` with the size in the domain, scored and calibrated by OpenDP itself, whose noisy
  maximum of exponential noise is permute-and-flip."""

LIMITS = """**What this does not say.** How the errors compare with a mechanism that knows more about the records, or
that interpolates between them; and nothing about sizes that are not public, for which OpenDP takes other scores. A case
where both sides err by less than a thousandth of a step is left out of the ratios. Beside OpenDP single cases are
worse: it prefers the value in whose middle the quantile lies, where ours must allow for the neighbour that its
definition makes the quantile, and for extremes it takes every value beyond the records for as good as the
truth, which helps where these lie near an end."""


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def quantiles_of(ratios: Floats) -> list[str]:
    above = f"{100 * (ratios > 1.02).mean():.1f} %"
    return [
        str(len(ratios)),
        *(f"{value:.3f}" for value in (*np.quantile(ratios, (0.1, 0.5, 0.9)), ratios.max())),
        above,
    ]


def by(cases: list[Case], ratios: dict[str, Floats], fact: str) -> str:
    rows = []
    for value in dict.fromkeys(getattr(case, fact) for case in cases):
        own = np.array([getattr(case, fact) == value for case in cases])
        rows.append([str(value), *(text for found in ratios.values() for text in _median_and_worst(found[own]))])
    head = [fact, *(f"{what}, {name}" for name in ratios for what in ("median", "worst"))]
    return table(head, rows)


def _median_and_worst(ratios: Floats) -> list[str]:
    known = ratios[np.isfinite(ratios)]
    return [f"{np.median(known):.3f}", f"{known.max():.3f}"] if len(known) else ["–", "–"]


def page(cases: list[Case], errors: dict[str, Floats], laws: list[str]) -> str:
    own = errors["inbounds"]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = {
            name: np.where(np.maximum(own, found) > NEGLIGIBLE, own / found, np.nan)
            for name, found in errors.items()
            if name != "inbounds"
        }
    about = ABOUT.format(
        count=len(cases), sizes=", ".join(map(str, SIZES)), values=", ".join(map(str, VALUES)),
        epsilons=", ".join(EPSILONS), shapes=len(SHAPES), names=", ".join(SHAPES), groups=GROUPS,
    )  # fmt: skip
    summary = [[name, *quantiles_of(found[np.isfinite(found)])] for name, found in ratios.items()]
    kinds = {name: laws.count(name) for name in sorted(set(laws))}
    return (
        "\n\n".join(
            [
                WIDE,
                "# Quantiles",
                about,
                "## Our error over theirs",
                table(["peer", "cases", "10 %", "median", "90 %", "worst", "above 1.02"], summary),
                "Below 1, ours is smaller. "
                + "; ".join(f"{count} cases are answered by the law *{name}*" for name, count in kinds.items())
                + ".",
                *(
                    f"By {fact}:\n\n{by(cases, ratios, fact)}"
                    for fact in ("quantile", "epsilon", "values", "size", "shape")
                ),
                "## Some errors",
                _examples(cases, errors),
                LIMITS,
                "**Repeat it:** `python bench/quantiles.py`.",
                machine_line(machine()),
            ]
        )
        + "\n"
    )


def _examples(cases: list[Case], errors: dict[str, Floats]) -> str:
    """The medians of groups of 30 and 300 with a bell at a quarter."""
    rows = []
    for k, case in enumerate(cases):
        if case.size in (30, 300) and case.quantile == "median" and case.shape == "bell at a quarter":
            facts = [f"{case.size} records, {case.values} values, epsilon {case.epsilon}"]
            rows.append([*facts, *(f"{found[k]:.3g}" for found in errors.values())])
    return table(["median, bell at a quarter", *errors], rows)


def main(quick: bool) -> None:
    one_thread()
    cases = list(sweep(quick))
    own = list(ours(cases))
    errors = {"inbounds": np.array([error for error, _ in own])}
    errors["exponential"] = np.array([exponential(case) for case in cases])
    found = peer(cases)
    if found is not None:
        errors["OpenDP"] = np.array(found)
    text = page(cases, errors, [law for _, law in own])
    if quick:
        print(text)
    else:
        PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    opendp() if sys.argv[1:] == ["opendp"] else main(sys.argv[1:] == ["--quick"])
