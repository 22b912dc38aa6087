"""Every call of the package that the reference tests make: a rename, or another form of a plan, is edited here only."""

import hashlib
import importlib.util
import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import inbounds as ib
from inbounds.accounting.multilevel import MechanismChain
from inbounds.catalog.registry import REGISTRY
from inbounds.curator import Account, Curator, parse_settings
from inbounds.curator.timing import Time
from inbounds.design.solver.threads import one_thread
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import (
    BlockResponse,
    CentralRecords,
    Matrix,
    Noise,
    PermuteAndFlip,
    RecordsLaw,
    SidedPermuteAndFlip,
)
from inbounds.mechanism.laws.plane import PlaneNoise
from inbounds.mechanism.laws.response import Response
from inbounds.properties import column_ratio
from inbounds.query import with_neighbours
from inbounds.releases.pipeline import Release
from inbounds.sideinfo.sensitivity import median as median_sensitivity
from inbounds.sideinfo.smooth import SmoothRelease, smooth_release
from inbounds.trusted import samplers
from reference.digest import Frozen, freeze

REPORTS = 48
"""Reports that are drawn from every mechanism."""

DENSE = 1 << 20
"""Entries up to which the weights of a mechanism are written out."""


# --- entropy ----------------------------------------------------------------------------------------------

SEAM, SEAM_FILE = "_system_bytes", "trusted/samplers.py"
"""The one private function that reads entropy, and where it is."""


class SeededBytes:
    """One long stream of SHAKE-256 that follows from a name, in the place of the operating system's bytes.

    Which bytes come next depends on how many were taken, not on how many calls took them.
    """

    def __init__(self, name: str) -> None:
        self.name, self.block, self.rest = name, 0, b""

    def __call__(self, count: int) -> bytes:
        while len(self.rest) < count:
            self.rest += hashlib.shake_256(f"{self.name} {self.block}".encode()).digest(1 << 16)
            self.block += 1
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken


@contextmanager
def seeded(name: str) -> Iterator[None]:
    """Replace the one private function that reads entropy, in this process, for as long as the block runs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(samplers, SEAM, SeededBytes(name))
        yield


# --- queries, mechanisms ----------------------------------------------------------------------------------

count, total, mean, extreme = ib.count, ib.total, ib.mean, ib.extreme
ordinal, interval, category, cells = ib.ordinal, ib.interval, ib.category, ib.cells
graph, grid, tree, pair_of_counts, histogram_of = ib.graph, ib.grid, ib.tree, ib.pair_of_counts, ib.histogram_query
quantile, median = ib.quantile, ib.median
optimal, certify, priors = ib.optimal, ib.certify, ib.priors
power, off_by_more_than, at_most, fixed_point, ratio_of_columns = (
    ib.power_loss,
    ib.threshold_loss,
    ib.limit_loss,
    ib.keep_fixed_point,
    column_ratio,
)
alpha = ib.epsilon_from_alpha
multilevel = ib.make_chain
score_table, sided_table = ib.design_permute_flip, ib.design_sided
central_records = ib.design_central
subset_selection, hadamard_response = ib.local.subset_selection, ib.local.hadamard_response
projective_response, label_mechanism = ib.local.projective_response, ib.local.best_label_mechanism


def catalog(name: str, query: Any, epsilon: Any, **more: Any) -> Mechanism:
    """Return a mechanism of the catalog by its name."""
    return REGISTRY[name].make(query, epsilon, **more)


def catalog_names() -> list[str]:
    return [*REGISTRY]


def chosen_quantile(query: Any, epsilon: Any, prior: Any = None) -> Mechanism:
    """Return the mechanism that the package chooses for a quantile."""
    return ib.design_quantile(query, epsilon, prior).mechanism


def oblivious(query: Any, epsilon: Any) -> Mechanism:
    """Return truncated geometric noise on a quantile that one record may move anywhere."""
    law = CentralRecords.from_answers(query, catalog("truncated_geometric", query.as_range_query, epsilon).weights)
    return Mechanism(query, Fraction(epsilon), law, Origin("by hand"))


def everyone(query: Any) -> Any:
    """Return the query whose answers are all neighbours."""
    return with_neighbours(query, ib.AllPairs())


def metric(query: Any, unit: Any) -> Any:
    """Return the query under metric privacy."""
    return with_neighbours(query, ib.Metric(Fraction(unit)))


def followed_by_best_guess(mechanism: Mechanism, prior: Any = None) -> Mechanism:
    """Return the mechanism whose reports are remapped to the best guesses."""
    return mechanism.postprocess(mechanism.remap("absolute", prior))


def smooth(*facts: Any) -> SmoothRelease:
    """Return a release with smooth sensitivity."""
    return smooth_release(*facts)


# --- numbers of mechanisms --------------------------------------------------------------------------------


def frozen_mechanism(name: str, made: Any) -> Frozen:
    """Return the digest of a mechanism's integers and of reports that are drawn with seeded entropy."""
    with seeded(name):
        if isinstance(made, Mechanism) and isinstance(made.law, RecordsLaw):
            return _of_quantile(made)
        if isinstance(made, Mechanism) and isinstance(made.law, BlockResponse):
            return _of_labels(made)
        if isinstance(made, MechanismChain):
            return _of_levels(made)
        if isinstance(made, SmoothRelease):
            return _of_smooth(made)
        return _of_mechanism(made)


def frozen_optimum(made: Mechanism) -> Frozen:
    """Return the digest of a design's value alone, for problems that have several optima."""
    assert made.optimality is not None
    value = made.optimality.value
    return freeze([list(made.query.shape), made.epsilon, value], value=value)


def _of_mechanism(made: Mechanism) -> Frozen:
    query = made.query
    outputs, answers = query.shape
    places = np.linspace(0, answers - 1, min(answers, REPORTS)).astype(np.int64)
    drawn = samplers.draw_outputs(made.law.sampler(made.query), np.resize(places, REPORTS), samplers.system_entropy)
    losses = [made.loss(each) for each in (["absolute", "squared", "zero-one"] if query.is_ordered else ["zero-one"])]
    numbers = [
        [outputs, answers],
        _values(query),
        made.epsilon,
        _law(made),
        drawn,
        _borders(made.law.sampler(made.query), answers // 2),
        made.tight_epsilon(),
        losses,
        None if made.optimality is None else made.optimality.value,
    ]
    return freeze(numbers, shape=[outputs, answers], epsilon=made.tight_epsilon(), losses=losses, reports=drawn[:8])


def _borders(sampler: Any, answer: int) -> list[Any]:
    """In each of 64 equal parts of the draws, one draw where the report changes, by bisection, and both reports there.

    Random draws would not see a comparison that is off by one draw of 2**62.
    """
    low = np.arange(64, dtype=np.uint64) << np.uint64(56)
    high = low + np.uint64((1 << 56) - 1)

    def reported(words: Any) -> Any:
        given = np.concatenate([words, np.zeros(64 * (sampler.words - 1), dtype=np.uint64)])
        return samplers.draw_outputs(sampler, np.full(64, answer), lambda _: given)

    first = reported(low)
    for _ in range(56):
        middle = low + (high - low) // np.uint64(2)
        same = reported(middle) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [low, high, reported(low), reported(high)]


def _values(query: Any) -> list[Any]:
    """Answers and outputs as exact numbers; of wide ranges the ends."""
    answers, outputs = query.answers, query.outputs.values
    few = len(answers) <= 2000
    pick = (lambda scale: [*scale]) if few else (lambda scale: [scale[0], scale[1], scale[len(scale) - 1]])
    return [pick(answers), pick(outputs)]


def _law(made: Mechanism) -> list[Any]:
    """Weights output by output; of laws too wide for that the numbers that they follow from."""
    law, (outputs, answers) = made.law, made.query.shape
    if isinstance(law, Matrix) or outputs * answers <= DENSE:
        return [made.weights]
    if isinstance(law, Noise):
        return [law.core, law.floor, law.end, law.size, law.remap]
    if isinstance(law, PlaneNoise):
        return [law.table, law.anywhere, law.remap]
    assert isinstance(law, Response)
    return [law.size, law.other_weight]


def _of_quantile(made: Mechanism) -> Frozen:
    query = made.query
    groups = _groups(query)
    chances = made.probabilities(groups)
    drawn = made.sample_groups(np.repeat(groups, 4, axis=0))
    lengths = query.path_lengths(groups)
    numbers = [made.epsilon, [*query.values][:2000], _quantile_law(made.law), chances, drawn, lengths]
    truths = np.array([float(query.values[place]) for place in query.true_positions(groups)])
    errors = (chances * np.abs(query.values.floats() - truths[:, None])).sum(axis=1)
    return freeze(numbers, errors=errors[:4], reports=drawn[:8])


def _groups(query: Any) -> Any:
    """Six histograms: none, alike at an end, in the middle, spread out, in two halves, and too many records."""
    width, size = query.width + 1, query.size
    rng = np.random.default_rng(7)
    found = np.zeros((6, width), dtype=np.int64)
    found[1, 0] = size
    found[2, width // 2] = size
    found[3] = np.bincount(rng.integers(0, width, size), minlength=width)
    found[4, width // 4], found[4, width - 1] = size // 2, size - size // 2
    found[5] = np.bincount(rng.binomial(width - 1, 0.3, size + 3), minlength=width)
    return found


def _quantile_law(law: Any) -> list[Any]:
    if isinstance(law, PermuteAndFlip):
        return [law.table, law.stride, law.deeper]
    if isinstance(law, SidedPermuteAndFlip):
        return [law.table, law.below, law.above, law.deeper]
    assert isinstance(law, CentralRecords)
    return [law.first, law.length, law.weights]


def _of_labels(made: Mechanism) -> Frozen:
    labels = len(made.query.answers)
    drawn = made.sample(np.resize(np.linspace(0, labels - 1, min(labels, REPORTS)).astype(np.int64), REPORTS))
    holding = [made.law.design.blocks, made.law.design.holding, made.law.inside]
    members = [len(ib.local.list_labels(made, int(output))) for output in drawn[:4]] if labels <= 2000 else []
    borders = _borders(made.law.sampler(made.query), labels // 2)
    variance = ib.local.share_variance(made)
    numbers = [labels, made.epsilon, holding, drawn, borders, made.tight_epsilon(), variance, members]
    return freeze(numbers, law=holding, variance=variance, reports=drawn[:8])


def _of_levels(made: MechanismChain) -> Frozen:
    answers = made.first.query.answers.floats()
    drawn = [level.tolist() for level in made.sample(np.resize(answers, REPORTS))]
    laws = [[[int(w) for w in row] for row in law] for law in made.laws]
    return freeze([[*made.epsilons], laws, drawn], levels=len(made), reports=[level[:8] for level in drawn])


def _of_smooth(made: SmoothRelease) -> Frozen:
    truths = [median_sensitivity(values, 0, 3) for values in ([0, 1, 2, 3, 3], [1, 1, 1, 2, 3], [0, 0, 3, 3, 3])]
    drawn = [made.sample(truth) for truth in truths for _ in range(16)]
    return freeze([drawn], reports=drawn[:8])


# --- released tables --------------------------------------------------------------------------------------


def frozen_release(name: str, plan: Mapping[str, Any], data: Any, folder: Path) -> Frozen:
    """Return the digest of the cells of a table that is released with seeded entropy, and of its reports."""
    with seeded(name), warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        done = ib.release(plan, data, cache=folder / "designs", allow_useless=True)
    return freeze(_cells(done), columns=done.table.num_columns, rows=done.table.num_rows, first=_first(done))


def _cells(done: Release) -> list[Any]:
    """The cells column by column, what was spent, expected errors of the mechanisms, and reports beside the table."""
    table = [column.to_pylist() for column in done.table.columns]
    lines = [[line.get("expected_error"), line.get("constant_error")] for line in done.record["mechanisms"]]
    reports = [
        [layer["reports"] for layer in one["layers"]] for one in done.record.get("reports", {}).get("statistics", [])
    ]
    return [_plain(table), done.plan.total_epsilon, _plain(lines), _plain(reports)]


def _plain(value: Any) -> Any:
    """Lists of numbers and texts; what else a column holds, such as a date, as its text."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return [_plain(one) for one in value.values()]
    return value if value is None or isinstance(value, bool | int | float | str | Fraction) else str(value)


def _first(done: Release) -> list[Any]:
    return _plain([column[0].as_py() for column in done.table.columns][:8])


# --- the curator ------------------------------------------------------------------------------------------


class NoWaiting(Time):
    """Real time, of which waiting skips the rest: the answer is there when the evaluation is."""

    def __init__(self) -> None:
        self.skipped = 0.0

    def wall(self) -> float:
        return super().wall() + self.skipped

    def steady(self) -> float:
        return super().steady() + self.skipped

    def sleep(self, seconds: float) -> None:
        self.skipped += max(0.0, seconds)

    def hold(self, work: Any, leave: float) -> None:
        work.exception()
        super().hold(work, leave)


@contextmanager
def curator_of(settings: Mapping[str, Any], folder: Path) -> Iterator[Curator]:
    """Open a curator in a folder; it designs and evaluates in this process, one question after the other."""
    with Curator(parse_settings(dict(settings), folder), time=NoWaiting()) as curator:
        yield curator


def add_reader(curator: Curator, name: str, cap: str | None, level: str | None, dataset: str) -> Account:
    levels = {dataset: level} if level else None
    return curator.account(curator.add_account(name, {dataset: cap}, levels=levels))


def frozen_answer(name: str, curator: Curator, reader: Account, dataset: str, question: Mapping[str, Any]) -> Frozen:
    """Return the digest of an answer's cells, its epsilon, where it came from and what it cost."""
    with seeded(name):
        answer = curator.ask(reader, dataset, question)
    told = (answer.cost.people, answer.cost.people_left, answer.cost.account, answer.cost.account_left)
    cost = [None if amount is None else Fraction(amount) for amount in told]
    lines = [[line.get("expected_error"), line.get("constant_error")] for line in answer.mechanisms]
    numbers = [[*answer.table.values()], Fraction(answer.epsilon), answer.how, cost, lines]
    first = [column[0] for column in answer.table.values()]
    return freeze(_plain(numbers), how=answer.how, cost=cost, first=_plain(first))


# --- the demonstration ------------------------------------------------------------------------------------

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def frozen_demo(script: Path, folder: Path) -> dict[str, Frozen]:
    """Run the demonstration with seeded entropy; the numbers that it prints, paragraph by paragraph, and its table."""
    said, before = io.StringIO(), Path.cwd()
    spec = importlib.util.spec_from_file_location("reference_demo", script)
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.out = Console(file=said, highlight=False, width=110)
    with seeded("demo"), one_thread(), pytest.MonkeyPatch.context() as patched:
        patched.setenv("INBOUNDS_CACHE", str(folder / "designs"))
        os.chdir(folder)
        try:
            demo.main()
        finally:
            os.chdir(before)
    printed, rows = said.getvalue().split("Table   ")[0], (folder / "demo-released.csv").read_text("utf-8").split("\n")
    found = {}
    for k, paragraph in enumerate(part for part in printed.split("\n\n") if NUMBER.search(part)):
        numbers = [float(text.replace(",", "")) for text in NUMBER.findall(paragraph)]
        found[f"printed {k + 1}"] = freeze(numbers, printed=numbers)
    cells = [[_number(cell) for cell in row.split(",")] for row in rows[1:] if row]
    found["table"] = freeze(cells, rows=len(cells), first=cells[0], last=cells[-1])
    return found


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


# --- the shape of the release path ------------------------------------------------------------------------


def release_entry_points() -> Sequence[Any]:
    """Return everything public that draws for people."""
    from inbounds.local.client import make_randomizer
    from inbounds.releases.pipeline import release

    return (
        release,
        make_randomizer,
        Mechanism.sample,
        Mechanism.sample_groups,
        MechanismChain.sample,
        SmoothRelease.sample,
        Curator.ask,
        Curator.__init__,
    )


def declared_fields() -> list[str]:
    """Return every name that a plan, a question or a curator's settings may have."""
    from inbounds.curator import dataset, question, settings
    from inbounds.plan import load

    plans = [*load.FIELDS, *(name for names in load.FIELDS.values() for name in names)]
    limits = [*settings.ServiceLimits.__dataclass_fields__, *settings.Settings.__dataclass_fields__]
    return [*plans, *question.FIELDS, *dataset.PARTS, *limits]


def command_options() -> dict[str, list[str]]:
    """Return every command of the command line with the names of its options and arguments."""
    from typer.main import get_command

    from inbounds.cli import app

    def walked(command: Any, path: str) -> Iterator[tuple[str, list[str]]]:
        for name, below in getattr(command, "commands", {}).items():
            yield from walked(below, f"{path} {name}".strip())
        yield path, [name for option in command.params for name in (option.name, *option.opts)]

    return dict(walked(get_command(app), ""))


def source_files() -> dict[str, str]:
    """Return the text of every Python file of the package by its path."""
    root = Path(ib.__file__).parent
    return {str(file.relative_to(root)): file.read_text("utf-8") for file in sorted(root.rglob("*.py"))}
