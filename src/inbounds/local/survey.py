"""Surveys: several attributes of one person, all reported or one of them chosen at random, and their joint
guarantee.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inbounds.files import canonical_json, sha256_hex
from inbounds.local.client import Outside, Randomizer
from inbounds.local.collector import Collector, fingerprint
from inbounds.local.engines import collect, detect_engine, select_columns
from inbounds.local.frames import replace_columns
from inbounds.local.guarantee import LocalGuarantee, format_ratio, local_guarantee, product_upper_bound
from inbounds.local.reports import check_local_mechanism
from inbounds.local.strata import StratifiedCollector
from inbounds.mechanism import Mechanism
from inbounds.trusted.inputs import read_array
from inbounds.trusted.samplers import system_entropy

Ask = Literal["all", "one"]
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class SurveyStatement:
    """The joint guarantee of all reports of one person.

    ask "all": the probabilities of reports about different attributes multiply, and so do their ratios. ask "one":
    which attribute is reported does not depend on the answers, and a report about it has the ratio of that one.
    """

    statements: Mapping[str, LocalGuarantee]
    ask: Ask

    def worst_ratio(self) -> float:
        """Return the worst ratio of the probabilities of what one person sends, under any two people; rounded up."""
        worst = [statement.worst_ratio() for statement in self.statements.values()]
        return max(worst) if self.ask == "one" else product_upper_bound(worst)

    @property
    def ldp(self) -> float:
        """The least epsilon of epsilon-LDP for the person as a whole; rounded up."""
        parts = [statement.ldp for statement in self.statements.values()]
        return max(parts) if self.ask == "one" else math.nextafter(math.fsum(parts), math.inf)

    def __str__(self) -> str:
        how = "all attributes are reported" if self.ask == "all" else "one attribute is reported, drawn by lot"
        first = f"any two people: probabilities of all reports within a ratio of {format_ratio(self.ldp)}"
        parts = (f"  people who differ in {name} alone: {statement}" for name, statement in self.statements.items())
        return "\n".join([f"{first} ({self.ldp:.6g}-LDP); {how}", *parts])


@dataclass(frozen=True, eq=False)
class Survey:
    """A client for several attributes, each with its mechanism; all of them, or one that is chosen at random.

    Call it with a person's answers by attribute: what comes back is what leaves the person.
    """

    mechanisms: Mapping[str, Mechanism]
    ask: Ask = "all"
    outside: Outside = "refuse"

    def __post_init__(self) -> None:
        if self.ask not in ("all", "one"):
            raise ValueError(f"ask must be 'all' or 'one', got {self.ask!r}")
        if not self.mechanisms or not all(isinstance(name, str) for name in self.mechanisms):
            raise ValueError("a survey needs at least one attribute, each with a name and a mechanism")
        object.__setattr__(self, "mechanisms", MappingProxyType(dict(self.mechanisms)))
        self.clients  # noqa: B018 - refuses what is no mechanism

    @cached_property
    def clients(self) -> dict[str, Randomizer]:
        def outside(mechanism: Mechanism) -> Outside:
            check_local_mechanism(mechanism)
            return self.outside if mechanism.query.is_ordered else "refuse"

        return {name: Randomizer(law, outside(law)) for name, law in self.mechanisms.items()}

    @property
    def privacy(self) -> SurveyStatement:
        """The joint privacy guarantee for each person."""
        return SurveyStatement(
            {name: local_guarantee(mechanism) for name, mechanism in self.mechanisms.items()}, self.ask
        )

    @property
    def fingerprint(self) -> str:
        """A digest of all laws and of how they are asked."""
        return sha256_hex(
            canonical_json([self.ask, *([name, fingerprint(mechanism)] for name, mechanism in self.mechanisms.items())])
        )

    def __call__(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Return one person's reports by attribute; attributes that were not chosen have none."""
        reports = self.arrays({name: np.atleast_1d(read_array(answers[name])) for name in self._check_answers(answers)})
        return {name: column.tolist()[0] for name, column in reports.items() if column.tolist()[0] is not None}

    def arrays(self, columns: Columns) -> dict[str, NDArray[Any]]:
        """Return reports of many people, a column for each attribute; None where a person was not asked."""
        names = self._check_answers(columns)
        sizes = {len(columns[name]) for name in names}
        if len(sizes) != 1:
            raise ValueError(f"columns must have one value for each person, got {sorted(sizes)} values")
        drawn = (system_entropy(sizes.pop()) % np.uint64(len(names))).astype(np.int64) if self.ask == "one" else None
        reports_by_name = {}
        for place, name in enumerate(names):
            # all are drawn, so that a refusal does not reveal which attribute was chosen
            reports = self.clients[name].array(columns[name])
            reports_by_name[name] = reports if drawn is None else _only(drawn == place, reports)
        return reports_by_name

    def randomize(self, table: Any, *, keep: Sequence[str] = ()) -> Any:
        """Return a table of reports for all attributes, like `ib.local.randomize`; other columns stay behind unless
        kept.
        """
        engine = detect_engine(table)
        kinds = {name: client.kind for name, client in self.clients.items()}
        return replace_columns(select_columns(table, engine, list(self.mechanisms), keep), engine, kinds, self.arrays)

    def collect(
        self, table: Any, *, by: str | Sequence[str] | None = None, shard: str | None = None
    ) -> dict[str, Collector | StratifiedCollector]:
        """Count the reports of every attribute with the table's engine. by: as for `ib.local.collect`."""
        if hasattr(table, "read_all"):  # a reader of Arrow can be read once only, and every attribute reads the table
            table = table.read_all()
        answered = "all" if self.ask == "all" else "some"
        named = {name: None if shard is None else f"{shard}: {name}" for name in self.mechanisms}
        return {
            name: collect(table, name, mechanism, by=by, shard=named[name], asked=answered)  # type: ignore[arg-type]
            for name, mechanism in self.mechanisms.items()
        }

    def _check_answers(self, answers: Mapping[str, Any]) -> list[str]:
        missing = [name for name in self.mechanisms if name not in answers]
        if missing:
            raise ValueError(
                f"answers must have all of {', '.join(map(repr, self.mechanisms))}; {missing[0]!r} is not there"
            )
        return list(self.mechanisms)


def _only(chosen: NDArray[np.bool_], reports: NDArray[Any]) -> NDArray[Any]:
    """Return the reports that were chosen, with None in place of the others."""
    column = np.full(reports.shape, None, dtype=object)
    column[chosen] = reports[chosen]
    return column
