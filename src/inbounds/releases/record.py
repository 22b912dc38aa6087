"""Build the release record: what an auditor needs to know about a released table. It contains no true value."""

import math
import platform
import secrets
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from inbounds import __version__
from inbounds.catalog.unknown_groups import threshold
from inbounds.mechanism.codec import query_to_json
from inbounds.mechanism.json_values import format_integers
from inbounds.mechanism.laws import JointLaw, NoisyCounts, Threshold
from inbounds.plan.plan import CHANGE, PERSON, Plan
from inbounds.query import RangeQuery, count
from inbounds.releases.accuracy import describe_low_coverage
from inbounds.releases.budget import BudgetLine
from inbounds.releases.check_source import list_compared_texts, used_columns
from inbounds.releases.usefulness import UselessStatistic
from inbounds.releases.workload import ReleaseDesign, TableContent, level_names, output_query
from inbounds.report.wording import ANY_SCALE, INDEPENDENT_RECORDS
from inbounds.schema.columns import PlainColumn
from inbounds.schema.condition import tree
from inbounds.schema.record_types import (
    BudgetRecord,
    EpsilonRecord,
    GroupsRecord,
    MechanismRecord,
    PersonRecord,
    ReleaseRecord,
)
from inbounds.schema.report_types import ADJUSTMENT_TEXTS
from inbounds.schema.text import format_number, is_date
from inbounds.sources.csv_files import WELL_FORMED
from inbounds.statistics import ExpectedError, Statistic
from inbounds.statistics.designs import DEFAULT_OPTIONS, DesignedMechanism
from inbounds.statistics.quantile import OrderStatistic
from inbounds.statistics.sizes import describe_prior

RECORDED_PACKAGES = ("ibis-framework", "duckdb", "psycopg", "pyspark", "pyarrow", "numpy", "scipy", "highspy")
"""Packages whose versions are in the record."""


def _time_of_record(plan: Plan) -> datetime:
    """Return when the record is made; the day alone for groups from the data: how long it took tells their number."""
    now = datetime.now(UTC)
    return now.replace(hour=0, minute=0, second=0) if plan.groups.from_data else now


def build_record(
    designed: ReleaseDesign,
    useless: Sequence[UselessStatistic] = (),
    table: TableContent | None = None,
    key_types: Mapping[str, str] | None = None,
) -> ReleaseRecord:
    """Build the content of a record, without the table's digest, from the plan, the mechanisms and the draws.

    useless: the statistics that are no more accurate than a constant. table: the table and its draws; None for a dry
    run. A draw is the output of a certified mechanism, never its noise. key_types: the types of the columns that name a
    group, from the schema.
    """
    workload, plan = designed.workload, designed.workload.plan
    record: ReleaseRecord = {
        "id": secrets.token_hex(16),
        "time": _time_of_record(plan).isoformat(timespec="seconds"),
        "plan_sha256": plan.digest,
        "plan": plan.summary(),
        "statement": plan_statement(plan),
        "values": describe_value_handling(plan) + describe_accuracy(designed),
        "epsilon": _epsilon_record(plan),
        "account": [_account(entry) for entry in workload.entries],
        "composition": describe_composition(plan, workload.entries),
        "mechanisms": mechanism_records(designed),
        "useless": [str(statistic) for statistic in useless],
        "versions": package_versions(),
        "groups": _groups(plan, key_types or {}),
    }
    if plan.about:
        record["about"] = plan.about
    if table is None:
        return record
    record["draws"] = {name: format_integers(outputs.tolist()) for name, outputs in table.draws.items()}
    if table.reports is not None:
        record["reports"] = table.reports
        record["values"] += [
            f"{additive['statistic']}: made to add up by {ADJUSTMENT_TEXTS[additive['by']]}"
            for additive in table.reports["statistics"]
        ]
    if table.levels is not None:
        record["levels"] = table.levels
    return record


def _groups(plan: Plan, types: Mapping[str, str]) -> GroupsRecord:
    groups = plan.groups
    keys = {name: list(column) for name, column in zip(groups.by, groups.columns, strict=True)}
    return {"keys": keys, "types": dict(types), "sizes": format_integers(groups.sizes.tolist())}


def _account(entry: BudgetLine) -> BudgetRecord:
    record: BudgetRecord = {
        "statistic": entry.statistic.name,
        "spent": str(entry.spent),
        "draw_epsilon": str(entry.drawn_at),
        "reason": entry.reason,
    }
    if entry.layered is not None:
        record["layers"] = {name: str(entry.drawn_at * share) for name, share in entry.layered.shares}
    if entry.delta:
        record["draw_delta"] = str(entry.delta)
    return record


def mechanism_records(designed: ReleaseDesign) -> list[MechanismRecord]:
    """Return one line per statistic and mechanism: digest, origin, epsilon, range, and the group sizes it answered."""
    merged: dict[tuple[str, str, str], MechanismRecord] = {}
    workload = designed.workload
    for k, (statistic, designs, row) in enumerate(
        zip(workload.plan.statistics, designed.designs, designed.expected, strict=True)
    ):
        draws, layered = workload.plan.drawn_columns(statistic), workload.entries[k].layered
        for size, members, design, expected in zip(workload.sizes, workload.members, designs, row, strict=True):
            line = _line(statistic.name, size, len(members), design, expected)
            if draws != workload.plan.cells(statistic):
                line["parts"] = draws
            if layered is not None:
                line["layer"] = layered.name
            key = statistic.name, line.get("layer", ""), design.sha256
            merged[key] = line if key not in merged else _join_sizes(merged[key], line)
        for line in _layer_lines(designed, k):
            merged[statistic.name, line["layer"], line["sha256"]] = line
    return list(merged.values())


def _layer_lines(designed: ReleaseDesign, k: int) -> Iterator[MechanismRecord]:
    """Yield the lines of the sums that are drawn beside a statistic's own numbers, or of the levels above."""
    entry = designed.workload.entries[k]
    layers = () if entry.layered is None else entry.layered.sums
    for layer, design, expected in zip(layers, designed.layers[k], designed.levels[k][1:], strict=False):
        line = _line(entry.statistic.name, layer.size, len(layer.ranges), design, expected)
        line["layer"] = layer.name
        yield line
    for level, name in zip(designed.above, level_names(designed.workload.plan), strict=False):
        for line in mechanism_records(level):
            if line["statistic"] == entry.statistic.name:
                yield {**line, "layer": name}


def _line(
    statistic: str, size: int, groups: int, design: DesignedMechanism, expected: ExpectedError
) -> MechanismRecord:
    mechanism = design.mechanism
    line: MechanismRecord = {
        "statistic": statistic,
        "size": size,
        "groups": groups,
        "sha256": design.sha256,
        "epsilon": str(mechanism.epsilon),
        "answers": _answers(output_query(mechanism)),
        "neighbours": str(mechanism.query.neighbours),
        "origin": str(mechanism.origin),
        "query": query_to_json(mechanism.query),
        "law": mechanism.law.kind,
        "expected_error": expected.error,
        "constant_error": expected.constant,
    }
    if expected.parent is not None:
        line["parent_error"] = expected.parent
    if expected.deviation:
        line["standard_error"] = expected.deviation
    return line


def _join_sizes(first: MechanismRecord, line: MechanismRecord) -> MechanismRecord:
    """Join the lines of sizes that share a mechanism, as first..last: min, max and median do not depend on the size."""
    sizes = f"{str(first['size']).partition('..')[0]}..{line['size']}"
    return {**first, "size": sizes, "groups": first["groups"] + line["groups"]}


def _answers(query: RangeQuery) -> str:
    if query.labels is not None:
        return ", ".join(query.labels)
    return f"{query.answers[0]}..{query.answers[-1]}, {len(query.answers)} values"


def _epsilon_record(plan: Plan) -> EpsilonRecord:
    record: EpsilonRecord = {"total": str(plan.epsilon), "spent": str(plan.total_epsilon)}
    return {**record, "delta": str(plan.delta)} if plan.delta else record


@lru_cache(maxsize=1)
def package_versions() -> dict[str, str]:
    """Return the versions of the packages in use; read once, because that takes longer than a draw."""
    versions = {"inbounds": __version__, "python": platform.python_version()}
    for name in RECORDED_PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


# --- what a release promises, in plain sentences -----------------------------------------------------------


def plan_statement(plan: Plan) -> str:
    """Write the guarantee of a plan without formulas: the promise in two sentences, then a line of details."""
    person = plan.people.summary() if plan.people.id else None
    spent, delta = plan.total_epsilon, plan.delta
    found, kind = plan.groups.from_data, plan.source.kind
    return format_plan_guarantee(plan.groups.public, plan.neighbours, spent, kind, person, delta, found=found)


def format_plan_guarantee(
    public: bool,
    neighbours: str,
    spent: Fraction,
    kind: str,
    person: PersonRecord | None = None,
    delta: Fraction = Fraction(0),
    *,
    found: bool = False,
) -> str:
    """Write the guarantee from public sizes, neighbours, the epsilon spent, the kind of source and the privacy unit.

    found: groups are those that the data holds.
    """
    factor, epsilon = f"{math.exp(float(spent)):.4g}", f"epsilon {format_number(spent)}"
    unit = (
        "Each row counts as one person" if person is None else f"All rows with the same {person['id']} are one person"
    )
    change = _describe_change(public, neighbours)
    if delta:
        promise = (
            f"{unit}, and any set of tables has at most {factor} times the probability that it would have if {change}, "
            f"plus {format_number(delta)} ({epsilon}, delta {format_number(delta)})."
        )
    else:
        promise = (
            f"{unit}, and any table that can be published is at most {factor} times as likely as it would be if "
            f"{change} ({epsilon})."
        )
    details = " ".join(_promise_details(public, neighbours, spent, kind, person, delta, found))
    sizes = SIZES_PUBLIC if public else SIZES_PROTECTED
    if found:
        sizes = (
            "Groups are read from the data: a group is in the table only where its number of persons, with noise, "
            "exceeds a threshold, so one that is missing may be empty, or have persons. If a person is alone in "
            f"groups, any of these is in the table with a probability of at most {format_number(delta)}."
        )
    return f"{promise} {sizes}\n{details}"


SIZES_PUBLIC = "Which group a person belongs to and how large each group is are public, and not protected."
SIZES_PROTECTED = "The size of each group is protected; only its declared maximum is public."


def _describe_change(public: bool, neighbours: str) -> str:
    """Describe the change of the data that the promise covers."""
    if public:
        return "one person's row were different or left out"
    if neighbours == PERSON:
        return "one person's rows were added or removed"
    if neighbours == CHANGE:
        return "one person's row were any other, also in another group"
    return "one person's row were added or removed"


def _promise_details(
    public: bool, neighbours: str, spent: Fraction, kind: str, person: PersonRecord | None, delta: Fraction, found: bool
) -> Iterator[str]:
    """Write what the promise means by a row and a person, and the changes that it covers at twice the epsilon."""
    yield "A row is a record that the source's reader delivers."
    if person is not None:
        name, groups = person["id"], person["max_groups"]
        yield (
            f"At most {person['max_records']} rows of a person count in each of at most {groups} "
            f"group{'s' * (groups > 1)}, chosen by that person's own rows alone; rows without {name} count for nobody, "
            f"and values of {name} are compared byte by byte."
        )
    twice = f"covered at twice the epsilon, {format_number(2 * spent)}"
    if delta:
        twice += ", and twice the delta" if found else ", and 1 + exp(epsilon) times the delta"
    if public:
        yield f"A person who moves from one group to another is {twice}."
    elif neighbours == PERSON:
        yield f"A person who is replaced by another, or whose rows change, is {twice}."
    elif neighbours != CHANGE:
        yield f"A row that is replaced by another is {twice}."
    if kind == "csv":
        yield f"The CSV file must be well formed ({WELL_FORMED}); if not, it is refused."


def describe_value_handling(plan: Plan) -> list[str]:
    """Describe for every column how values outside its bounds or labels, and missing ones, are counted."""
    together: dict[Any, list[Statistic]] = {}
    for statistic in plan.statistics:
        together.setdefault((type(statistic).describe_handling, statistic.subject_text), []).append(statistic)
    lines = [
        line for (describe, _), members in together.items() for line in describe(members, plan.context, plan.source)
    ]
    only = [f"records: only those count that meet {plan.where}"] if plan.where else []
    return (
        only
        + _describe_keys(plan)
        + _describe_spelling(plan)
        + lines
        + _describe_quantiles(plan)
        + _describe_adding_up(plan)
        + _describe_dates(plan)
        + _describe_encoding(plan)
    )


GAP = (
    "where few records of a group lie near its quantile, as for a largest value far from the next, or answers that are "
    "only 0 or 10, released values lie anywhere in the gap, and intervals may miss the truth far more often than stated"
)


VECTORS = (
    "of each group the errors and intervals follow from all of its drawn quantiles; they suppose that {records}, and "
    "hold the truth less often where records lie otherwise"
)


def describe_accuracy(designed: ReleaseDesign) -> list[str]:
    """Describe what expected errors and intervals suppose, and where intervals are right too seldom."""
    workload, plan = designed.workload, designed.workload.plan
    every = list(enumerate(plan.statistics))
    sized = [one.name for k, one in every if designed.model(k, 0).is_sized and not plan.adds_up(one)]
    lines = _describe_joint_designs(designed)
    adding = [] if plan.groups.public else [one.name for one in plan.statistics if plan.adds_up(one)]
    if adding:
        lines.append(f"{', '.join(adding)}: expected errors suppose that {describe_prior(plan.groups.typical)}")
    if sized:
        counted = plan.total_count_place
        told = "" if counted is None else f"; in the table, the drawn {plan.statistics[counted].name} tells the size"
        prior = describe_prior(plan.groups.typical)
        lines.append(f"{', '.join(sized)}: expected errors and intervals suppose that {prior}{told}")
    for k, one in every:
        coverage = dict(zip(workload.sizes, designed.coverage[k], strict=True))
        flag = "" if plan.credible_level is None else describe_low_coverage(coverage, plan.credible_level)
        lines += [f"{one.name}: {flag}"] if flag else []
    quantiles = [k for k, one in every if isinstance(one, OrderStatistic) and plan.has_interval(one)]
    vectors = {k: designed.model(k, 0).prior is not None for k in quantiles if designed.model(k, 0).quantiles}
    for has_prior in (False, True):
        if names := [plan.statistics[k].name for k, one in vectors.items() if one is has_prior]:
            records = INDEPENDENT_RECORDS if has_prior else ANY_SCALE
            lines.append(f"{', '.join(names)}: {VECTORS.format(records=records)}")
    single = [plan.statistics[k].name for k in quantiles if k not in vectors]
    return lines + ([f"{', '.join(single)}: {GAP}"] if single else [])


def _describe_joint_designs(designed: ReleaseDesign) -> list[str]:
    """Describe by which law several quantiles are drawn together, in groups of which sizes."""
    lines, sizes = list[str](), designed.workload.sizes
    for k, one in enumerate(designed.workload.plan.statistics):
        laws = [designed.model(k, place).mechanism.law for place in range(len(sizes))]
        if isinstance(laws[0], JointLaw):
            counted = [str(size) for size, law in zip(sizes, laws, strict=True) if isinstance(law, NoisyCounts)]
            where = f" in groups of {', '.join(counted)}, elsewhere " if 0 < len(counted) < len(sizes) else ""
            ways = [BY_COUNTS] * bool(counted) + [BY_LENGTHS] * (len(counted) < len(sizes))
            lines.append(f"{one.name}: its quantiles are {where.join(ways).strip()}; {CHOSEN}")
    return lines


BY_COUNTS = "read off the numbers of records with each value, drawn with noise"
BY_LENGTHS = "drawn as a whole, the likelier the fewer records lie between them and the true ones"
CHOSEN = "chosen by the least expected error before data was read"


def _describe_quantiles(plan: Plan) -> list[str]:
    """Describe which quantiles of a column are one draw, and which are drawn one by one."""
    lines, columns = list[str](), dict[str, list[OrderStatistic]]()
    for one in plan.statistics:
        if isinstance(one, OrderStatistic) and len(plan.cells(one)) > 1:
            lines.append(f"{one.name}: its quantiles are one draw, at all of its epsilon, and rise")
        elif isinstance(one, OrderStatistic):
            columns.setdefault(one.column, []).append(one)
    for members in columns.values():
        if len(members) > 1:
            order = ", then put in order" if all(one.rank is not None for one in members) else ""
            lines.append(f"{', '.join(one.name for one in members)}: drawn one by one{order}; {ONE_DRAW}")
    return lines


ONE_DRAW = (
    "one list of shares is one draw where no design option is given and groups, or their maxima, are not too large"
)


def _describe_adding_up(plan: Plan) -> list[str]:
    """Describe how numbers are made to add up after they were drawn, and where those above the groups come from."""
    lines, adding = [], [statistic for statistic in plan.statistics if plan.adds_up(statistic)]
    if adding:
        names = ", ".join(statistic.name for statistic in adding)
        lines.append(
            f"{names}: drawn together with sums, all of which the record keeps, then made to add up in whole numbers "
            "within their ranges; the error is what is expected of each number after that"
        )
        if plan.design != DEFAULT_OPTIONS:
            lines.append(f"{names}: drawn with geometric noise, whatever [design] says")
    averages = [statistic.name for statistic in adding if statistic.averages]
    if averages:
        lines.append(f"{', '.join(averages)}: adds up weighted with the sizes, as the sum or count that it divides")
    of_levels = [statistic.name for statistic in plan.statistics if plan.is_drawn_of_levels(statistic)]
    if of_levels:
        lines.append(
            f"{', '.join(of_levels)}: drawn of all records of every level, at a part of epsilon for each level"
        )
    derived = [one for one in plan.statistics if plan.hierarchy is not None and one.derive(plan.context)]
    pooled = [one.name for one in derived if not plan.is_drawn_of_levels(one)]
    if pooled:
        lines.append(
            f"{', '.join(pooled)}: above the groups computed from what was drawn of the groups, at no cost; error and "
            "interval there are those of normal errors"
        )
    within = [statistic.name for statistic in plan.statistics if plan.hierarchy is not None and statistic.over_cells]
    if within:
        lines.append(
            f"{', '.join(within)}: adds up within every group, not over levels, and is missing above the groups; to "
            "have both, make one of its columns the lowest level and count the other by a histogram"
        )
    return lines


def _describe_keys(plan: Plan) -> list[str]:
    """Describe how records are assigned to groups, if the plan has periods, a key for missing values, or no keys."""
    periods = plan.groups.period.items()
    none = "" if plan.groups.missing_key else "; one that has none, or text not written like 2024-01-31, is in no group"
    lines = [f"{name}: a record's group is the {period} of its date or time{none}" for name, period in periods]
    if plan.groups.missing_key:
        none = "no date" if plan.groups.period else "no value"
        lines.append(f"groups: a record with {none}, or an empty one, has the key {plan.groups.missing_key}")
    if plan.groups.from_data:
        lengths = [(name, cast(PlainColumn, plan.columns[name]).max_length) for name in plan.groups.by]
        bytes_of = ", ".join(f"{name} {length}" for name, length in lengths)
        lines.append(
            f"groups: read from the data; a record whose key is longer than {bytes_of} bytes, or no printable text, is "
            "in no group"
        )
        lines += _describe_threshold(plan)
    return lines


def _describe_threshold(plan: Plan) -> list[str]:
    """Describe how many persons a group needs to be published."""
    place = plan.publishing_place
    assert place is not None
    statistic, most = plan.statistics[place], plan.groups.most
    epsilon = plan.epsilons[place] / plan.contribution.groups
    law = threshold(count(most), epsilon, plan.draw_delta(statistic)).law
    assert isinstance(law, Threshold)
    persons = [bisect_left(range(2 * law.bound + 2), share, key=law.chance) for share in SHARES]
    return [
        f"{statistic.name}: a group of {persons[0]} persons is published half of the time, one of {persons[1]} with a "
        f"probability of 0.95, one of {2 * law.bound + 1} always; a published number is off by at most {law.bound}"
    ]


SHARES = (Fraction(1, 2), Fraction(19, 20))
"""Probabilities of being published for which a record says how many persons a group needs."""


SAME = {"ignore_case": "in large and small letters", "trim": "with and without spaces at the ends"}


def _describe_spelling(plan: Plan) -> list[str]:
    """Describe which texts of records are the same, and which stand for a label or for no value."""
    lines = []
    for name in dict.fromkeys((*plan.groups.by, *used_columns(plan))):
        record = dict(plan.columns[name].summary()) if name in plan.columns else {}
        same = [
            words
            for option, words in (
                ("ignore_case", "in large and small letters"),
                ("trim", "with and without spaces at the ends"),
            )
            if record.get(option)
        ]
        if same:
            lines.append(f"{name}: texts are the same {' and '.join(same)}")
        if record.get("codes"):
            lines.append(f"{name}: records hold codes of its labels")
        if record.get("missing_codes"):
            codes = cast(list[str], record["missing_codes"])
            lines.append(f"{name}: {', '.join(codes)} in a record count as no value")
    return lines


def _describe_dates(plan: Plan) -> list[str]:
    """Describe columns of text that are compared with dates: a value with a time of day counts as missing."""
    names = dict.fromkeys(name for where in plan.conditions for name, _ in tree.find_text_comparisons(where))
    dated = (
        [name for name in names if all(map(is_date, list_compared_texts(plan, name)))] if plan.source.textual else []
    )
    return [f"{name}: what is not a date alone, such as 2024-01-31 10:30, is missing; cut off times" for name in dated]


def _describe_encoding(plan: Plan) -> list[str]:
    """Describe what happens if a file is not UTF-8: an error would reveal data, so no error is raised."""
    if plan.source.kind != "csv" or plan.source.is_decoded:
        return []
    keys = [part for key in plan.groups.keys for part in key]
    labels = [text for name in used_columns(plan) for text in list_compared_texts(plan, name)]
    strange = next((text for text in (*keys, *labels) if not text.isascii()), None)
    line = f"the file must be UTF-8: otherwise {strange} and other texts with letters beyond ASCII never match"
    return [] if strange is None else [line]


def _describe_spending(entry: BudgetLine) -> str:
    """Describe the epsilon that a statistic spends, and how its layers share it."""
    text = (
        f"{entry.statistic.name}: epsilon {format_number(entry.spent)}; each number is drawn at "
        f""
        f"{format_number(entry.drawn_at)}"
    )
    if entry.delta:
        text += f" and delta {format_number(entry.delta)}, which decides whether its group is published"
    if entry.layered is None:
        return f"{text} ({entry.reason})"
    shares = [f"{format_number(entry.drawn_at * share)} for {name}" for name, share in entry.layered.shares]
    return f"{text} ({entry.reason}), shared, as a record is in one number of each: {', '.join(shares)}"


def describe_composition(plan: Plan, entries: list[BudgetLine] | tuple[BudgetLine, ...]) -> list[str]:
    """Describe the account line by line: the epsilon of each statistic, and why the total covers all groups."""
    lines = [_describe_spending(entry) for entry in entries]
    groups = f"{len(plan.groups)} groups" if len(plan.groups) > 1 else "one group"
    if plan.groups.from_data:
        groups = "groups from the data"
    most = plan.contribution.groups
    apart = "no record is in two of them, so they cost no more than one (parallel composition)"
    if most > 1:
        apart = f"one person counts in at most {most} of them, so they cost no more than {most} (parallel composition)"
    lines.append(f"{groups}: {apart}; statistics of the same group {_describe_total(plan)}")
    return lines


def _describe_total(plan: Plan) -> str:
    whole = format_number(plan.epsilon)
    if plan.groups.from_data:
        return f"add up: all of {whole} spent, and all of delta {format_number(plan.delta)} by the numbers of persons"
    if not plan.delta:
        return f"add up: {format_number(plan.total_epsilon)} of {whole} spent"
    added = format_number(sum(plan.epsilons, Fraction(0)))
    return (
        f"are accounted together: they add up to {added}, and are epsilon {whole} at delta {format_number(plan.delta)}"
    )
