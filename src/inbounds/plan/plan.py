"""The plan: everything about a release that is decided before the data is read.

All of it is public. Values are exact, frozen, and validated when made. `plan.load` builds plans from files;
`releases.pipeline` carries them out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

from inbounds.exact import to_epsilon, to_fraction
from inbounds.files import canonical_json, sha256_hex
from inbounds.ledger.population import LONGEST
from inbounds.ledger.units import ATTO
from inbounds.plan.hierarchy import Hierarchy, NestedGroups, build_group_tree
from inbounds.schema.columns import ContributionBound, Declared, PlainColumn, PrivacyUnit, check_condition
from inbounds.schema.condition.parser import parse
from inbounds.schema.condition.tree import Condition
from inbounds.schema.errors import LineIndex, PlanError, error_path
from inbounds.schema.record_types import AboutRecord, PlanRecord, StatisticRecord
from inbounds.schema.spelling import PLAIN, Spelling
from inbounds.schema.text import format_number
from inbounds.sources.groups import FROM_DATA, Groups, check_keys_not_data
from inbounds.sources.open import Source
from inbounds.statistics import STATISTICS, Count, Statistic, StatisticContext
from inbounds.statistics.conditions import EVERYTHING, ConditionStatistic
from inbounds.statistics.designs import ADDING, DEFAULT_OPTIONS, DESIGN_FIELDS, DesignOptions

CHANGE = "change one record"
ADD_OR_REMOVE = "add or remove one record"
PERSON = "add or remove one person"

WHY_DELTA = (
    "that a group is published tells that somebody is in it, which no epsilon alone protects; give the delta, and "
    "persons, how many the data is about at least"
)

KEY_COLUMN = '{ type = "text", max_length = 40 }'

PUBLISHING = {False: "count", True: "count_distinct"}
"""The kind of the statistic that publishes groups from the data: persons are records, or are told apart by an id."""

LEVEL = "level"
"""The output column with the level of a row, if groups have a hierarchy."""


@dataclass(frozen=True)
class Plan:
    """A source, public facts, statistics, and the epsilon they share.

    Formal guarantee of its release: for two tables that are neighbours in the sense of `neighbours`, the probability of
    any released table differs by a factor of at most exp(spent), spent <= epsilon. With a delta, the probability of any
    set of tables differs by a factor of at most exp(epsilon), and delta; see `epsilons`.

    delta: 0 unless declared. persons: how many the data is about, at least; a delta above 1/persons is refused unless
    allow_large_delta.
    people, edition: the people the data is about, and the edition of the data, for the ledger.
    where: the condition that a record must meet to count at all; how many do is not public, so groups need max_size.
    credible_level: the probability of the intervals beside answers; None for no intervals.
    reads: the file of the plan, and the source that a frame replaced.
    draft: its author has not confirmed it yet, so it can be tried and not released.
    about: title, author, contact and notes for readers; no part of what is asked, so they may change.
    """

    source: Source
    groups: Groups
    columns: Mapping[str, Declared]
    statistics: tuple[Statistic, ...]
    epsilon: Fraction
    neighbours: str = ""
    design: DesignOptions = DEFAULT_OPTIONS
    credible_level: Fraction | None = None
    output: str = ""
    lines: LineIndex | None = field(default=None, repr=False, compare=False)
    reads: tuple[str, ...] = field(default=(), repr=False, compare=False)
    people: PrivacyUnit = field(default_factory=PrivacyUnit)
    edition: str = ""
    hierarchy: Hierarchy | None = None
    where: str = ""
    draft: bool = False
    delta: Fraction = Fraction(0)
    persons: int | None = None
    allow_large_delta: bool = False
    about: AboutRecord = field(default_factory=lambda: AboutRecord())

    def __post_init__(self) -> None:
        if not self.neighbours:
            object.__setattr__(self, "neighbours", self._usual_neighbours)
        with self.with_line_numbers():
            with error_path("privacy", "epsilon"):
                object.__setattr__(self, "epsilon", to_epsilon(self.epsilon))
            self._check_delta()
            self._check_groups_from_data()
            check_keys_not_data(self.groups.register, self.source, self.reads)
            self._check_spellings()
            self._check_relation()
            self._check_where()
            self._divide_statistics()
            self._check_hierarchy()
            self._check_statistics()
            self.epsilons  # noqa: B018 - refuses an epsilon shared to more than its total
            if self.credible_level is not None and not 0 < self.credible_level < 1:
                raise PlanError(f"must be between 0 and 1, got {self.credible_level}", ("output", "credible_level"))

    @property
    def _usual_neighbours(self) -> str:
        if self.people.id:
            return PERSON
        return CHANGE if self.groups.public else ADD_OR_REMOVE

    @property
    def contribution(self) -> ContributionBound:
        """Return how many records of one person count. How many groups the data holds does not matter: it is data."""
        groups = self.people.max_groups if self.groups.from_data else min(self.people.max_groups, len(self.groups))
        return ContributionBound(self.people.max_records, groups)

    def with_published(self, keys: Sequence[tuple[str, ...]]) -> "Plan":
        """Return the plan with the groups that were published, in their order; they are no part of what it asks."""
        return replace(self, groups=self.groups.with_keys(keys))

    def _check_relation(self) -> None:
        if self.people.id:
            self._check_persons()
            return
        if self.neighbours not in (CHANGE, ADD_OR_REMOVE):
            raise PlanError(
                f"must be {CHANGE!r} or {ADD_OR_REMOVE!r}, got {self.neighbours!r}", ("privacy", "neighbours")
            )
        if self.groups.public and self.neighbours == ADD_OR_REMOVE:
            raise PlanError(
                f"must be {CHANGE!r} when group sizes are public: they do not change; "
                "declare groups.max_size instead of groups.size",
                ("privacy", "neighbours"),
            )

    def _check_delta(self) -> None:
        """Check a declared delta against the declared number of persons."""
        with error_path("privacy", "delta"):
            object.__setattr__(self, "delta", _to_delta(self.delta))
        if not self.delta:
            for name, value in (("persons", self.persons), ("allow_large_delta", self.allow_large_delta or None)):
                if value is not None:
                    raise PlanError("needs privacy.delta; give a delta, or leave this out", ("privacy", name))
            return
        with error_path("privacy", "persons"):
            persons = self.declared_persons
        if persons is not None and self.delta * persons > 1 and not self.allow_large_delta:
            raise PlanError(
                f"must be at most 1/{persons}, one over the number of persons, got {self.delta}: a release with a "
                "larger delta may publish whole records; give a smaller delta, or allow_large_delta = true",
                ("privacy", "delta"),
            )
        for k, statistic in enumerate(self.statistics):
            if statistic.epsilon is not None:
                raise PlanError(
                    "must not be given beside privacy.delta, which decides the epsilons of all statistics together; "
                    "give budget_share",
                    ("statistics", k, "epsilon"),
                )

    def _check_groups_from_data(self) -> None:
        """Check a plan whose groups are those that the data holds."""
        if not self.groups.from_data:
            return
        if not self.delta:
            raise PlanError(f"must be given beside keys = {FROM_DATA!r}: {WHY_DELTA}", ("privacy", "delta"))
        if self.neighbours == CHANGE:
            message = f"must be left out beside keys = {FROM_DATA!r}: persons are added or removed"
            raise PlanError(message, ("privacy", "neighbours"))
        if self.hierarchy is not None:
            raise PlanError(f"must not be given beside keys = {FROM_DATA!r}; list the groups", ("hierarchy",))
        for k, name in enumerate(self.groups.by):
            column = self.columns.get(name)
            if not (isinstance(column, PlainColumn) and column.max_length):
                message = f"must be declared with its type and max_length, such as columns.{name} = {KEY_COLUMN}"
                raise PlanError(message, ("groups", "by", k))
        for k, statistic in enumerate(self.statistics):
            if statistic.over_cells:
                message = f"must have public keys, not keys = {FROM_DATA!r}: ask for a histogram"
                raise PlanError(message, ("statistics", k, statistic.kind))
        if len([one for one in self.statistics if self.publishes_groups(one)]) != 1:
            entry = f'{PUBLISHING[bool(self.people.id)]} = "{EVERYTHING}"'
            message = f"must hold {entry} once: the number of persons decides which groups are published"
            raise PlanError(message, ("statistics",))

    def publishes_groups(self, statistic: Statistic) -> bool:
        """Return whether groups from the data are published by this number of persons."""
        if not (self.groups.from_data and isinstance(statistic, ConditionStatistic)):
            return False
        return statistic.kind == PUBLISHING[bool(self.people.id)] and statistic.condition == EVERYTHING

    @property
    def publishing_place(self) -> int | None:
        """Return the place of the number of persons that groups from the data are published by; None without any."""
        return next((k for k, one in enumerate(self.statistics) if self.publishes_groups(one)), None)

    def draw_delta(self, statistic: Statistic) -> Fraction:
        """Return the delta of each of its numbers: equal parts for the groups of a person, if it publishes groups."""
        return self.delta / self.contribution.groups if self.publishes_groups(statistic) else Fraction(0)

    @property
    def declared_persons(self) -> int | None:
        """Return how many persons the data is about at least, for a plan with a delta; None if that is not needed."""
        if self.persons is not None:
            if self.groups.public:
                raise PlanError("must not be given beside groups.size, which says how many they are")
            if type(self.persons) is not int or self.persons < 1:
                raise PlanError(f"must be a whole number of at least 1, got {self.persons!r}")
            return self.persons
        if self.groups.public:
            return int(self.groups.sizes.sum())
        if self.allow_large_delta:
            return None
        raise PlanError("must be given beside a delta: how many persons the data is about, at least")

    def _check_persons(self) -> None:
        """Check a plan with an id: a person is added or removed with all records, so sizes cannot be public."""
        if self.groups.public:
            raise PlanError(
                "must not be given beside people.id: a person who is added or removed changes the sizes of groups; "
                "declare max_size, the largest possible size, instead",
                ("groups", "size"),
            )
        if self.neighbours != PERSON:
            raise PlanError(
                f"must be {PERSON!r} beside people.id, got {self.neighbours!r}; leave it out (a person replaced by "
                "another is covered at twice the epsilon)",
                ("privacy", "neighbours"),
            )

    def _check_where(self) -> None:
        with error_path("where"):
            if self.condition is not None and self.groups.public:
                raise PlanError(
                    "must not be given beside groups.size: how many records of a group meet it is not public; declare "
                    "max_size, the largest possible size, instead"
                )
            if self.condition is not None:
                check_condition(self.condition, self.columns)

    @cached_property
    def condition(self) -> Condition | None:
        """Return the condition that a record must meet to count at all."""
        return parse(self.where) if self.where else None

    def _check_hierarchy(self) -> None:
        if self.hierarchy is None:
            return
        self.group_tree  # noqa: B018 - refuses levels that are not those of the groups
        if LEVEL in self.groups.by:
            raise PlanError(f"must not name a column {LEVEL!r}, which says what a row is about", ("groups", "by"))
        if not any(statistic.has_levels() for statistic in self.statistics):
            leveled = ", ".join(kind for kind, statistic in STATISTICS.items() if statistic.has_levels())
            raise PlanError(f"must have a statistic with numbers of every level: {leveled}", ("hierarchy",))

    def _divide_statistics(self) -> None:
        """Put the parts of statistics in their place that can be drawn in parts only."""
        parts: list[Statistic] = []
        largest = self.level_groups[-1] if self.level_groups else self.groups
        for k, statistic in enumerate(self.statistics):
            with error_path("statistics", k):
                options = self.design_options(statistic)
                with error_path(statistic.kind):
                    parts += statistic.divide(self.context, largest, options, self._least_epsilon(statistic))
        object.__setattr__(self, "statistics", tuple(parts))

    def _least_epsilon(self, statistic: Statistic) -> Fraction:
        """Return the least epsilon that a record of a number of a statistic may get, however others are divided.

        0 where sizes are secret and the statistic has numbers of every level, which share its epsilon.
        """
        if self.level_groups and statistic.has_levels() and not self.groups.public:
            return Fraction(0)
        shares = [(one, _statistic_epsilon(one, self.epsilon)) for one in self.statistics]
        others = sum(len(self.cells(one)) for one, share in shares if share is None)
        rest = self.epsilon - sum(share for _, share in shares if share is not None)
        share = _statistic_epsilon(statistic, self.epsilon) or max(rest, Fraction(0)) / max(1, others)
        if self.neighbours == PERSON:
            return share / (self.contribution.groups * self.contribution.records)
        return share if self.groups.public else share / 2

    def _check_statistics(self) -> None:
        if not self.statistics:
            raise PlanError("must hold at least one statistic", ("statistics",))
        names = {*self.groups.by, self.size_column, *([LEVEL] if self.hierarchy else [])}
        for k, statistic in enumerate(self.statistics):
            with error_path("statistics", k):
                with error_path(statistic.kind):
                    statistic.check(self.context, self.groups)
                self.design_options(statistic)
                if self.is_drawn_of_levels(statistic):
                    for groups in self.level_groups:
                        with error_path(statistic.kind):
                            statistic.check(self.context, groups)
                if statistic.design is not None and self.adds_up(statistic):
                    none = ", ".join(DESIGN_FIELDS)
                    raise PlanError(f"must have none of {none}: what adds up is always drawn with geometric noise")
                if self.design.aim == "worst" and self.adds_up(statistic):
                    raise PlanError(
                        "adds up and is drawn with geometric noise, whatever the aim; give the aim to others"
                    )
                cells = [*self.cells(statistic), *self.margin_cells(statistic)]
                interval_columns = [
                    f"{name}_{end}" for name in cells for end in ("low", "high") if self.has_interval(statistic)
                ]
                columns = {*cells, *self.drawn_columns(statistic), *interval_columns, *self.error_columns(statistic)}
                if columns & names:
                    raise PlanError(
                        f"must make different output columns, got {min(columns & names)!r} again", ("name",)
                    )
                names |= columns

    @cached_property
    def context(self) -> StatisticContext:
        """Return what the plan declares about its statistics."""
        return StatisticContext(self.columns, self.groups.public, bool(self.people.id))

    def spelling(self, name: str) -> Spelling:
        """Return how texts of a column are read."""
        return self.columns[name].spelling if name in self.columns else PLAIN

    def _check_spellings(self) -> None:
        """Check that no two declared groups become the same by how the texts of their columns are read.

        Keys from the data are not checked, for whether that fails would depend on them. One function of a record reads
        them, so no record has two.
        """
        declared, spellings = self.groups.declared.keys, [self.spelling(name) for name in self.groups.by]
        for name, spelling in zip(self.groups.by, spellings, strict=True):
            if name in self.groups.period and spelling != PLAIN:
                message = "must not be given for a column whose dates name a group"
                raise PlanError(message, ("columns", name, next(iter(spelling.summary()))))
        if any(spelling != PLAIN for spelling in spellings):
            keys = {tuple(one.strict(part) for one, part in zip(spellings, key, strict=True)) for key in declared}
            if len(keys) < len(declared):
                message = "must be different, but two of them become equal by how texts of their columns are read"
                raise PlanError(message, ("groups", "keys"))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the files a release reads: its source, the plan, the keys. They are never overwritten."""
        return tuple(path for path in (self.source.path, self.groups.file, *self.reads) if path)

    @cached_property
    def size_column(self) -> str:
        """Return the output column of the declared sizes; empty if all are the same, or if a key has that name."""
        name = "group_size" if self.groups.public else "group_maximum"
        differ = self.hierarchy is not None or len(self.groups.distinct_sizes) > 1
        return name if differ and name not in self.groups.by else ""

    def cells(self, statistic: Statistic) -> list[str]:
        """Return the output columns of a statistic's answers: its name, or its name and label for every cell."""
        return statistic.cells(self.context)

    def margin_cells(self, statistic: Statistic) -> list[str]:
        """Return the output columns of the margins of a crosstab."""
        return statistic.margin_cells(self.context)

    def error_columns(self, statistic: Statistic) -> list[str]:
        """Return the output columns of a statistic's expected errors: one, or one for each cell."""
        return [f"{name}_error" for name in statistic.error_cells(self.context)]

    def adds_up(self, statistic: Statistic) -> bool:
        """Return whether its numbers and their sums are drawn and made to agree: over groups, or over cells."""
        return statistic.over_cells or (self.hierarchy is not None and statistic.adds_over_groups(self.context))

    def is_drawn_of_levels(self, statistic: Statistic) -> bool:
        """Return whether it is drawn of every level by itself."""
        return self.hierarchy is not None and statistic.is_drawn_of_levels(self.context)

    def is_layered(self, statistic: Statistic) -> bool:
        """Return whether it is drawn in several layers that share its epsilon: sums beside it, or levels."""
        return self.adds_up(statistic) or self.is_drawn_of_levels(statistic)

    @cached_property
    def level_groups(self) -> tuple[Groups, ...]:
        """Return the groups of every level above those of the plan, from below up."""
        if self.hierarchy is None:
            return ()
        nest, groups = self.group_tree, []
        for sizes, nodes in zip(nest.tree.sizes[1:], nest.keys[1:], strict=True):
            named = [k for k, level in enumerate(self.hierarchy.levels[: len(nodes[0])]) if level in self.groups.by]
            by = tuple(self.hierarchy.levels[k] for k in named)
            keys = tuple(tuple(node[k] for k in named) for node in nodes)
            groups.append(Groups(by, keys, sizes, self.groups.public))
        return tuple(groups)

    @cached_property
    def level_plans(self) -> tuple["Plan", ...]:
        """Return for every level above the groups the plan of what is drawn of it, from below up."""
        statistics = tuple(filter(self.is_drawn_of_levels, self.statistics))
        levels = self.level_groups if statistics else ()
        return tuple(replace(self, groups=groups, hierarchy=None, statistics=statistics) for groups in levels)

    @cached_property
    def group_tree(self) -> NestedGroups:
        """Return the groups as leaves of their hierarchy."""
        assert self.hierarchy is not None
        return build_group_tree(self.groups, self.hierarchy.levels)

    def drawn_columns(self, statistic: Statistic) -> list[str]:
        """Return the output columns of the drawn numbers: its answers, or the numbers they are computed from."""
        derived = statistic.derive(self.context)
        return self.cells(statistic) if derived is None else [f"{statistic.name}_{part}" for part in derived.parts]

    def has_interval(self, statistic: Statistic) -> bool:
        """Return whether its answers have columns with the ends of credible intervals."""
        return self.credible_level is not None and statistic.has_order

    @cached_property
    def total_count_place(self) -> int | None:
        """Return the place of the statistic that counts all records of each group, if there is one."""
        counts = [
            k for k, statistic in enumerate(self.statistics) if isinstance(statistic, Count) and statistic.counts_all
        ]
        return counts[0] if counts and not self.groups.public else None

    @property
    def conditions(self) -> list[Condition]:
        """Return the conditions of its statistics, and its own."""
        conditions = [statistic.where for statistic in self.statistics if statistic.where is not None]
        return conditions if self.condition is None else [*conditions, self.condition]

    def with_line_numbers(self) -> Any:
        """Return a context in which errors name the line of the plan's file."""
        return _LineLocator(self.lines)

    @cached_property
    def epsilons(self) -> tuple[Fraction, ...]:
        """Return the epsilon of each statistic; together at most `epsilon`.

        With a delta they are larger by one factor: the largest for which all numbers that one person moves are together
        (epsilon, delta)-private (`accounting.declared_answers`). Of more than `MOST_ANSWERS` numbers, and where delta
        is for groups from the data, the epsilons add up.
        """
        if not self.delta:
            return self._shared_epsilons
        from inbounds.accounting.declared_answers import MOST_ANSWERS, DeclaredAnswer, largest_factor

        counts = [self.independent_parts(statistic) for statistic in self.statistics]
        if self.groups.from_data or sum(counts) > MOST_ANSWERS:  # epsilons add up
            filling = self.epsilon / sum(self._shared_epsilons, Fraction(0))
            return tuple(own * filling for own in self._shared_epsilons)
        shared = zip(self._shared_epsilons, counts, strict=True)
        factor = largest_factor([DeclaredAnswer(own / n, n) for own, n in shared], self.epsilon, self.delta)
        assert factor is not None  # the factor 1 needs no delta
        return tuple(own * factor for own in self._shared_epsilons)

    def independent_parts(self, statistic: Statistic) -> int:
        """Return in how many places one protected change moves a statistic: its epsilon is shared between them equally.

        A place is a group, with all numbers of the statistic about it. Numbers of several groups that add up share
        their sums, so the groups of one person are one place. A changed record moves two groups if it leaves one for
        another; if it stays, it may move one number by as much as both, and that is one place.
        """
        if self.neighbours == PERSON:
            return 1 if self.is_layered(statistic) else self.contribution.groups
        if self.neighbours != CHANGE:
            return 1
        apart = statistic.in_cells or (not self.groups.public and not statistic.moves_twice(self.context))
        return 2 if apart else 1

    @cached_property
    def _shared_epsilons(self) -> tuple[Fraction, ...]:
        parts = [_statistic_epsilon(statistic, self.epsilon) for statistic in self.statistics]
        left = self.epsilon - sum((part for part in parts if part is not None), Fraction(0))
        unset = parts.count(None)
        if left < 0 or (unset and left == 0):
            last = max(k for k, part in enumerate(parts) if part is not None)
            word = "budget_share" if self.statistics[last].budget_share is not None else "epsilon"
            raise PlanError(
                f"must be less: all statistics together may have at most epsilon {self.epsilon}"
                + ("" if left < 0 else ", and those without a part of their own need some of it")
                + (f", got {self.epsilon - left}" if left < 0 else ""),
                ("statistics", last, word),
            )
        return tuple(left / unset if part is None else part for part in parts)

    @property
    def total_epsilon(self) -> Fraction:
        """Return the epsilon of all statistics together, at the plan's delta."""
        return self.epsilon if self.delta else sum(self.epsilons, Fraction(0))

    def format_cost(self) -> str:
        """Write what a release costs: "epsilon 1", or "epsilon 1, delta 1e-06"."""
        delta = f", delta {format_number(self.delta)}" if self.delta else ""
        return f"epsilon {format_number(self.total_epsilon)}{delta}"

    @property
    def charged_epsilons(self) -> tuple[Fraction, ...]:
        """Return the epsilons that a ledger charges: of each statistic, or one of all at the plan's delta."""
        return (self.epsilon,) if self.delta else self.epsilons

    def design_options(self, statistic: Statistic) -> DesignOptions:
        """Return how its mechanisms are designed; statistics that add up always use geometric noise, see `layers`."""
        if self.adds_up(statistic):
            return ADDING
        return statistic.adjust_options(statistic.design or self.design)

    def with_output(self, output: str) -> "Plan":
        """Return the plan with another output file."""
        return replace(self, output=output)

    @cached_property
    def digest(self) -> str:
        """Return the sha256 of the canonical JSON of the plan, without passwords of the source."""
        return sha256_hex(canonical_json(self.summary()))

    def with_source(self, place: str) -> "Plan":
        """Return the same plan for the same people about data elsewhere, such as the file of the next month.

        place: a file or a URL. Everything else that the plan declares about its source stays.
        """
        url, path = (place, "") if "://" in place else ("", place)
        with error_path("source"):
            source = replace(self.source, url=url, path=path)
        return replace(self, source=source, people=replace(self.people, name=self.population))

    @cached_property
    def place(self) -> dict[str, Any]:
        """Return which data is declared, as of the first call: see `Source.place`."""
        return self.source.place()

    @property
    def population(self) -> str:
        """Return the name of its people in a ledger: the declared one, or the name of the source."""
        return self.people.name or self.source.summary()["name"][:LONGEST]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Return all that makes its release the same question as another: declared facts, nothing from the data.

        A typical size changes no draw, so it is no part.
        """
        plan = {name: value for name, value in self.summary().items() if name != "typical"}
        return {"plan": plan, "place": self.place, "people": self.population, "edition": self.edition}

    def summary(self) -> PlanRecord:
        """Return the plan as plain values, with the number and digest of its keys."""
        return self._summary.copy()

    @cached_property
    def _summary(self) -> PlanRecord:
        record: PlanRecord = {
            "source": self.source.summary(),
            "by": list(self.groups.by),
            "groups": len(self.groups.declared),
            "keys_sha256": self.groups.declared.keys_sha256,
            "sizes": "public" if self.groups.public else "maximum",
            "columns": {name: column.summary() for name, column in self.columns.items()},
            "statistics": [cast(StatisticRecord, statistic.to_json()) for statistic in self.statistics],
            "epsilon": str(self.epsilon),
            "neighbours": self.neighbours,
            "design": self.design.to_json(),
            "credible_level": None if self.credible_level is None else str(self.credible_level),
        }
        if self.groups.from_data:
            record["keys"] = FROM_DATA
            record["max_size"] = self.groups.most
        if self.delta:
            record["delta"] = str(self.delta)
            if self.persons is not None:
                record["persons"] = self.persons
            if self.allow_large_delta:
                record["allow_large_delta"] = True
        if self.people.name:
            record["people"] = self.people.name
        if self.edition:
            record["edition"] = self.edition
        if self.people.id:
            record["unit"] = self.people.summary()
        if self.groups.missing_key:
            record["missing_key"] = self.groups.missing_key
        if self.groups.typical:
            record["typical"] = list(self.groups.typical)
        if self.groups.period:
            record["period"] = dict(self.groups.period)
        if self.where:
            record["where"] = self.where
        if self.hierarchy is not None:
            record["hierarchy"] = self.hierarchy.summary([len(sizes) for sizes in self.group_tree.tree.sizes[::-1]])
        return record


@dataclass(frozen=True)
class _LineLocator:
    """A context in which errors name the line of the file; a plan made in Python has no lines."""

    lines: LineIndex | None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PlanError) and self.lines is not None and not error.place:
            raise error.with_place(self.lines.place(error.path)) from None


def _to_delta(value: Any) -> Fraction:
    """Return a declared delta as an exact number, 0 or what a ledger can count."""
    try:
        delta = to_fraction(value, "delta")
    except (TypeError, ValueError) as error:
        raise PlanError(str(error).removeprefix("delta ")) from None
    if not (delta == 0 or ATTO <= delta < 1):
        raise PlanError(f"must be 0, or at least {float(ATTO):g} and below 1, got {value}")
    return delta


def _statistic_epsilon(statistic: Statistic, epsilon: Fraction) -> Fraction | None:
    if statistic.budget_share is not None:
        return statistic.budget_share * epsilon
    return statistic.epsilon
