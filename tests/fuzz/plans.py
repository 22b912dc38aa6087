"""Plans at random over every type of column: what a dry run accepts is released, whatever the plan asks together.

A release is charged before data is read. So a plan that is accepted and then fails because of the plan and the schema
alone, a name that is too long for an engine, a statement that is too deep, two types that it does not compare, would
cost epsilon for nothing.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import inbounds as ib
from fuzz.conditions import random_condition, text_of
from fuzz.operations import NOT_STATED, PERIODS, Content, plan, roles
from fuzz.sources import NONE, Columns, Place, columns_of
from fuzz.values import Type
from inbounds.errors import InboundsError
from inbounds.releases.pipeline import PlanError, preview_release, release

WHOLE_NUMBERS = ("int64", "bigint", "integer", "digits")
"""What sources call columns of whole numbers."""


@dataclass
class PlanFuzzer:
    """Plans about one table of a source, with a column for each of its types; all its records are ordinary."""

    name: str
    types: Sequence[Type]
    keep: Callable[[Columns], Place]
    folder: Path
    accepted: Counter[str] = field(default_factory=Counter)
    released: int = 0
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.name)
        self.place = self.keep(columns_of(self.types, []))
        self.ledger = str(self.folder / "budget.db")
        with ib.Ledger.open(self.ledger, create=True) as ledger:
            ledger.add_population("us", 10**9)

    def run(self, plans: int) -> None:
        """Try so many plans that a dry run accepts."""
        for number in range(20 * plans):
            if self.released >= plans:
                return
            self.rng.seed(f"{self.name} {number}")
            self.try_plan(number, self.random_plan())

    def try_plan(self, number: int, content: Content) -> None:
        content = content | ({"source": self.place.source} if self.place.source else {})
        try:
            preview_release(content, self.place.frame, cache=self.folder / "designs")
        except (InboundsError, PlanError):
            return
        for statistic in content["statistics"]:
            self.accepted[next(iter(statistic))] += 1
        try:
            release(content, self.place.frame, cache=self.folder / "designs", allow_useless=True)
            self.released += 1
        except Exception as reason:
            self.failed.append(f"{self.name} {number}: {type(reason).__name__}: {reason}; {content}")

    def wide_plan(self, statistics: int, terms: int) -> Content:
        """So many statistics of persons, the last with a condition of so many terms: engines limit both."""
        x = next(f"x{k}" for k, own in enumerate(self.types) if own.name in WHOLE_NUMBERS)
        where = " or ".join(f'"{x}" = {term}' for term in range(terms))
        counts: list[Content] = [{"count": f'"{x}" > {k}', "name": f"n{k}"} for k in range(statistics - 1)]
        found = plan([*counts, {"count": where, "name": "last"}], [NONE], columns={x: {"type": "number"}})
        found["people"] = {"name": "us", "ledger": self.ledger, "id": "who", "max_records": 2, "max_groups": 1}
        found["groups"] = {"by": ["g"], "keys": [NONE, "elsewhere"], "max_size": 2}
        return found

    # --- one plan -----------------------------------------------------------------------------------------

    def random_plan(self) -> Content:
        some = self.rng.sample(range(len(self.types)), min(len(self.types), self.rng.randint(1, 3)))
        statistics, columns = list[Content](), Content()
        for k in some:
            parts = self.rng.choice(list(roles(f"x{k}", self.types[k], every_bound=True)))
            for part in self.rng.sample(parts, min(len(parts), self.rng.choice([1, 1, 2, 5]))):
                statistics.append(part.statistic | self.rng.choice([{}, {}, {"mechanism": "truncated_geometric"}]))
            columns |= parts[0].columns
        if self.rng.random() < 0.3:  # two columns beside each other
            pair = self.rng.sample([k for k in range(len(self.types)) if k not in some], 2)
            statistics.append({"count": f'"x{pair[0]}" {self.rng.choice(["<", ">=", "!="])} "x{pair[1]}"'})
            columns |= {f"x{k}": {"type": "number"} for k in pair}
        kinds = {x: own.get("type", "text" if "labels" in own else "number") for x, own in columns.items()}
        found = plan(statistics, [NONE], columns=columns, groups=self.random_groups())
        found["people"] = {"name": "us", "ledger": self.ledger}
        if self.rng.random() < 0.3:
            most = {"max_records": self.rng.choice([1, 3]), "max_groups": self.rng.choice([1, 2, 50])}
            found["people"] |= {"id": self.random_person(), **most}
        if self.rng.random() < 0.3 and "max_size" in found["groups"]:
            found["where"] = text_of(random_condition(self.rng, kinds))
        if self.rng.random() < 0.3:
            found["output"] = {"credible_level": "0.9"}
        if len(found["groups"].get("by", ())) == 2 and self.rng.random() < 0.3:
            found["hierarchy"] = {"levels": found["groups"]["by"]}
        return found

    def random_groups(self) -> Content:
        size = {self.rng.choice(["size", "max_size"]): self.rng.choice([1, 2, 9])}
        if self.rng.random() < 0.2:
            return size
        if self.rng.random() < 0.4:
            return {"by": ["g"], "keys": [NONE, "elsewhere"], **size}
        k = self.rng.randrange(len(self.types))
        names, period = list(self.types[k].texts), self.rng.choice(["", "", "", *PERIODS])
        keys: Content = {"g": [NONE, "elsewhere"], f"x{k}": PERIODS[period] if period else names}
        found: Content = {"by": ["g", f"x{k}"], "keys": keys, **size} | (
            {"period": {f"x{k}": period}} if period else {}
        )
        if self.rng.random() < 0.3:
            keys[f"x{k}"] = [*keys[f"x{k}"], NOT_STATED]
            found["missing_key"] = NOT_STATED
        return found

    def random_person(self) -> str:
        return self.rng.choice(["who", f"x{self.rng.randrange(len(self.types))}"])
