"""Answers: every declared group's position goes to the mechanism of its range; what comes out is the release.

First the account: at which epsilon each number is drawn. The draw is the only step that sees a true answer. What
follows it is post-processing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import InboundsError
from inbounds.loss import as_prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import shortest_run
from inbounds.numbers import Floats, Ints
from inbounds.tables.consistent import summing_to
from inbounds.tables.designs import Design, Progress, Request, kept, no_progress, prior_of
from inbounds.tables.engine import Truths
from inbounds.tables.errors import PlanError, at
from inbounds.tables.plan import CHANGE, Plan, Statistic
from inbounds.tables.statistics import KINDS
from inbounds.trusted.sample import Draws, entropy, report

# --- at which epsilon each number of a statistic is drawn, and what all of them cost together ---------------
#
# One record is one person. With public sizes a table is n records per group, an absent one counting as `missing`, and
# one record is changed within its group. Adding or removing a record is covered as well: it moves every answer no
# further than changing a record does. A record that moves to another group changes two groups: twice the epsilon.
#
# With a maximum, one record is added or removed. Changing a record, also to another group, is one removed and one
# added: a plan that promises this with a maximum answers everything at half its epsilon.
#
# How far one record moves each answer, and so which query answers it, is said in `statistics`, for each kind.


@dataclass(frozen=True)
class AccountLine:
    """One line of the account: a statistic, what it spends, and at which epsilon each number of it is drawn."""

    statistic: Statistic
    spent: Fraction
    drawn_at: Fraction
    reason: str


def account(plan: Plan) -> list[AccountLine]:
    """What every statistic spends; groups are disjoint and compose in parallel, statistics add up."""
    return [
        AccountLine(statistic, spent, *drawn(statistic.kind, plan.groups.public, plan.neighbours, spent))
        for statistic, spent in zip(plan.statistics, plan.epsilons, strict=True)
    ]


def drawn(kind: str, public: bool, neighbours: str, spent: Fraction) -> tuple[Fraction, str]:
    """The epsilon at which each number of a statistic is drawn, and why: a changed record may move two of them."""
    if neighbours == CHANGE and not public:
        return spent / 2, "half, because a changed record may leave one group and enter another"
    if neighbours == CHANGE and KINDS[kind].in_cells:
        return spent / 2, "half, because a changed record leaves one cell and enters another"
    return spent, "all of it, because one record touches one number of one group"


Mechanisms = Mapping[tuple[str, int], Mechanism]
"""The mechanism of every statistic and group size."""


@dataclass(frozen=True)
class Asked:
    """A plan's numbers before the data is looked at: for every statistic, the request of each distinct size."""

    plan: Plan
    entries: tuple[AccountLine, ...]
    sizes: tuple[int, ...]
    members: tuple[Ints, ...] = field(repr=False)
    requests: tuple[tuple[Request, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, plan: Plan) -> "Asked":
        """Groups of one size have the same range and share a mechanism."""
        distinct, place = np.unique(plan.groups.sizes, return_inverse=True)
        order = np.argsort(place, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(place))[:-1])
        entries, requests = tuple(account(plan)), []
        for k, entry in enumerate(entries):
            with plan.located(), at("statistics", k, entry.statistic.kind):
                wishes = plan.wishes_of(entry.statistic)
                subject, query = plan.subject(entry.statistic), entry.statistic.own.query
                queries = [query(subject, int(size)) for size in distinct]
                requests.append(tuple(Request(query, entry.drawn_at, wishes) for query in queries))
        return cls(plan, entries, tuple(distinct.tolist()), tuple(members), tuple(requests))


@dataclass(frozen=True)
class Designed:
    """A plan whose mechanisms are all there: for every statistic, one design per distinct size."""

    asked: Asked
    designs: tuple[tuple[Design, ...], ...] = field(repr=False)
    errors: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, asked: Asked, folder: Path, progress: Progress = no_progress) -> "Designed":
        """Design every distinct request once; what cannot be designed is an error about its statistic."""
        made: dict[Request, Design] = {}
        distinct = len({request for row in asked.requests for request in row})
        for k, row in enumerate(asked.requests):
            kind = asked.plan.statistics[k].kind
            with asked.plan.located(), at("statistics", k, kind):
                for request in row:
                    if request not in made:
                        progress("designing", len(made), distinct)
                        made[request] = _made(request, folder)
        progress("designing", distinct, distinct)
        designs = tuple(tuple(made[request] for request in row) for row in asked.requests)
        losses = [statistic.own.error for statistic in asked.plan.statistics]
        errors = {}
        for loss, row in zip(losses, asked.requests, strict=True):
            for request in row:
                if (request, loss) not in errors:
                    errors[request, loss] = _expected_error(made[request], request, loss)
        found = ((errors[request, loss] for request in row) for loss, row in zip(losses, asked.requests, strict=True))
        return cls(asked, designs, tuple(map(tuple, found)))


def _made(request: Request, folder: Path) -> Design:
    try:
        return kept(request, folder)
    except InboundsError as error:
        raise PlanError(f"cannot be answered as wished: {error}") from error


def _expected_error(design: Design, request: Request, loss: str) -> float:
    """The mean loss over the answers, to six digits: one number for all groups of a size."""
    return float(f"{design.mechanism.loss(loss, prior_of(request.wishes, request.query)):.6g}")


def mechanisms_of(designed: Designed) -> Mechanisms:
    """All mechanisms of a release, by the statistic's name and the group's size."""
    asked = designed.asked
    return {
        (statistic.name, size): made.mechanism
        for statistic, row in zip(asked.plan.statistics, designed.designs, strict=True)
        for size, made in zip(asked.sizes, row, strict=True)
    }


@dataclass(frozen=True)
class Released:
    """One released column: a name and one value per declared group."""

    name: str
    values: NDArray[Any] = field(repr=False)


def answered(
    designed: Designed, truths: Truths, *, draws: Draws = entropy, progress: Progress = no_progress
) -> list[Released]:
    """The released columns: keys, declared sizes where they differ, every statistic with its error and interval."""
    plan, columns = designed.asked.plan, [*_key_columns(designed.asked.plan), *_size_column(designed.asked.plan)]
    rows, total = iter(truths.positions), len(truths.positions) * len(plan.groups)
    done = 0
    for k, statistic in enumerate(plan.statistics):
        cells = {}
        for name in plan.cells(statistic):
            cells[name] = _drawn(designed.asked, designed.designs[k], next(rows), draws)
            done += len(plan.groups)
            progress("answering", done, total)
        columns += _spoken(designed, k, cells)
    return columns


def _drawn(asked: Asked, designs: Sequence[Design], positions: Ints, draws: Draws) -> Ints:
    """The output that each group's mechanism reports for its true position: one fresh draw for each."""
    outputs = np.empty(len(positions), dtype=np.int64)
    for design, members in zip(designs, asked.members, strict=True):
        outputs[members] = report(design.mechanism.law.sampler, positions[members], draws)
    return outputs


def _spoken(designed: Designed, k: int, cells: dict[str, Ints]) -> list[Released]:
    """Outputs as values, one column of expected errors, and intervals on request."""
    asked, statistic = designed.asked, designed.asked.plan.statistics[k]
    reported = [design.mechanism.query.reported for design in designed.designs[k]]
    values = [_by_size(asked, reported, outputs) for outputs in cells.values()]
    if statistic.consistent:
        values = list(summing_to(np.array(values), asked.plan.groups.sizes))
    columns = [Released(name, column) for name, column in zip(cells, values, strict=True)]
    errors = [np.array([error]) for error in designed.errors[k]]
    zeros = np.zeros(len(asked.plan.groups), dtype=np.int64)
    columns.append(Released(f"{statistic.name}_error", _by_size(asked, errors, zeros)))
    if asked.plan.has_interval(statistic):
        for (name, outputs), published in zip(cells.items(), values, strict=True):
            low, high = _intervals(designed, k, outputs)
            if statistic.consistent:  # the published cell may lie outside the interval of the drawn one
                low, high = np.minimum(low, published), np.maximum(high, published)
            columns += [Released(f"{name}_low", low), Released(f"{name}_high", high)]
    return columns


def _by_size(asked: Asked, tables: Sequence[NDArray[Any]], outputs: Ints) -> NDArray[Any]:
    """tables[size][output] for every group."""
    found = np.empty(len(outputs), dtype=np.result_type(*tables))
    for table, members in zip(tables, asked.members, strict=True):
        found[members] = table[outputs[members]]
    return found


def _intervals(designed: Designed, k: int, outputs: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ends of the credible interval of every answer."""
    asked = designed.asked
    assert asked.plan.interval is not None
    low, high = np.empty(len(outputs)), np.empty(len(outputs))
    for design, request, members in zip(designed.designs[k], asked.requests[k], asked.members, strict=True):
        prior = prior_of(request.wishes, request.query)
        low[members], high[members] = intervals(design.mechanism, outputs[members], asked.plan.interval, prior)
    whole = all(design.mechanism.query.reported.dtype.kind == "i" for design in designed.designs[k])
    return (low.astype(np.int64), high.astype(np.int64)) if whole else (low, high)


def _key_columns(plan: Plan) -> list[Released]:
    """What names each group; public."""
    keys = plan.groups.keys
    return [Released(name, np.array([key[k] for key in keys], dtype=object)) for k, name in enumerate(plan.groups.by)]


def _size_column(plan: Plan) -> list[Released]:
    """What was declared about each group's size, so that a reader knows which mechanism answered it; public."""
    return [Released(plan.size_column, np.array(plan.groups.sizes))] if plan.size_column else []


# --- credible intervals: where the true answer lies, given the released one and a prior over the answers ----


def intervals(mechanism: Mechanism, outputs: Ints, level: Fraction, prior: Floats | None) -> tuple[Floats, Floats]:
    """The shortest run of answers that holds at least `level` of the posterior, as `credible_set`, for every output.

    Post-processing of the draw: it needs the mechanism and the prior, not the data. A run is found once per
    distinct output, in O(answers).
    """
    weights = as_prior(prior, mechanism.query)
    answers = mechanism.query.answers.floats()
    distinct, place = np.unique(outputs, return_inverse=True)
    ends = np.array([_ends(mechanism.law.likelihood(mechanism.query, int(i)) * weights, level) for i in distinct])
    return answers[ends[place, 0]], answers[ends[place, 1]]


def _ends(mass: Floats, level: Fraction) -> tuple[int, int]:
    first, stop = shortest_run(mass / mass.sum(), float(level))
    return first, stop - 1
