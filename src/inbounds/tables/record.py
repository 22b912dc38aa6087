"""The release record: what an auditor needs to know about a released table, and no true value."""

import hashlib
import platform
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds import __version__
from inbounds.errors import PassportError, UnknownVersion
from inbounds.files import canonical, content_of, sha256
from inbounds.mechanism.spelling import query_json, read_fraction, read_query
from inbounds.numbers import whole
from inbounds.query import Metric, Query
from inbounds.tables.account import AccountLine, counted_by_unit, drawn, query_of
from inbounds.tables.adding.form import ReportsForm
from inbounds.tables.answer import Designed
from inbounds.tables.columns import Column
from inbounds.tables.designs import Design
from inbounds.tables.layout import layer_error
from inbounds.tables.plan import ADD_OR_REMOVE, CHANGE, PERSON, Contribution, Plan, Statistic
from inbounds.tables.statistics import KINDS, Subject
from inbounds.tables.texts import number
from inbounds.tables.words import RECORD_BEFORE, composition, handling, promised, record_of, statement
from inbounds.tables.worth import NoBetter
from inbounds.tables.write import own_digest, spaced_digest

FORMAT, VERSION = "inbounds release", 2
"""Fields may be added, never redefined. Version 2 says what a record is; version 1 is read for ever."""

RELATIONS = {("public", CHANGE), ("maximum", CHANGE), ("maximum", ADD_OR_REMOVE), ("maximum", PERSON)}
"""What a plan may say about sizes and neighbours."""

TOLD = ("ibis-framework", "duckdb", "psycopg", "pyspark", "pyarrow", "numpy", "scipy", "highspy")


def record(designed: Designed, idle: Sequence[NoBetter] = (), reports: ReportsForm | None = None) -> dict[str, Any]:
    """Everything but the table's own digest, which `write` adds. Built from the plan and the mechanisms alone.

    idle: the statistics that are no better than a constant. reports: what was drawn for statistics that add up; their
    table is post-processing of it.
    """
    asked, plan = designed.asked, designed.asked.plan
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": secrets.token_hex(16),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "plan_sha256": plan.digest,
        "plan": plan.summary(),
        "statement": statement(plan),
        "values": handling(plan),
        "epsilon": {"total": str(plan.epsilon), "spent": str(plan.spent)},
        "account": [
            {
                "statistic": entry.statistic.name,
                "spent": str(entry.spent),
                "drawn_at": str(entry.drawn_at),
                "reason": entry.reason,
                **_layers(entry),
            }
            for entry in asked.entries
        ],
        "composition": composition(plan, asked.entries),
        "mechanisms": mechanisms(designed),
        "no_better_than_a_constant": [str(one) for one in idle],
        "versions": versions(),
        **({} if reports is None else {"reports": reports}),
    }


def _layers(entry: AccountLine) -> dict[str, Any]:
    """The epsilon of each layer of a statistic that adds up, its own numbers first."""
    if entry.layered is None:
        return {}
    return {"layers": {name: str(entry.drawn_at * share) for name, share in entry.layered.shares}}


def mechanisms(designed: Designed) -> list[dict[str, Any]]:
    """One line per statistic and size: the mechanism's digest, construction, epsilon and range."""
    lines, asked = [], designed.asked
    for k, statistic in enumerate(asked.plan.statistics):
        designs, row, layered = designed.designs[k], designed.expected[k], asked.entries[k].layered
        parts = _parts(asked.plan, statistic) if layered is None else {"layer": layered.name}
        for size, members, design, found in zip(asked.sizes, asked.members, designs, row, strict=True):
            lines.append(
                {
                    "statistic": statistic.name,
                    "size": size,
                    "groups": len(members),
                    **parts,
                    **_line(design),
                    "expected_error": found.error,
                    "constant_error": found.constant,
                }
            )
        if layered is not None:
            lines += [
                {
                    "statistic": statistic.name,
                    "size": layer.size,
                    "groups": len(layer.ranges),
                    "layer": layer.name,
                    **_line(design),
                    "expected_error": layer_error(asked.plan, asked.entries[k], layer.share),
                }
                for layer, design in zip(layered.layers, designed.layers[k], strict=True)
            ]
    return _merged(lines)


def _parts(plan: Plan, statistic: Statistic) -> dict[str, Any]:
    """The columns of the numbers that were drawn, where the statistic is computed from them."""
    draws = plan.draws(statistic)
    return {} if draws == plan.cells(statistic) else {"parts": draws}


def _line(design: Design) -> dict[str, Any]:
    made = design.mechanism
    return {
        "sha256": design.sha256,
        "epsilon": str(made.epsilon),
        "answers": _answers(made.query),
        "neighbours": str(made.query.neighbours),
        "origin": str(made.origin),
        "query": query_json(made.query),
    }


def _answers(query: Query) -> str:
    if query.labels is not None:
        return ", ".join(query.labels)
    return f"{query.answers[0]}..{query.answers[-1]}, {len(query.answers)} values"


def _merged(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sizes that share a mechanism (min, max, median do not depend on the size) on one line."""
    merged: dict[tuple[str, ...], dict[str, Any]] = {}
    for line in lines:
        own = line["statistic"], line.get("layer", ""), line["sha256"]
        first = merged.setdefault(own, {**line, "groups": 0, "sizes": []})
        first["groups"] += line["groups"]
        first["sizes"].append(line["size"])
    found = []
    for line in merged.values():
        sizes = line.pop("sizes")
        line["size"] = sizes[0] if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]}"
        found.append(line)
    return found


def versions() -> dict[str, str]:
    found = {"inbounds": __version__, "python": platform.python_version()}
    for name in TOLD:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


# --- checking a record again ------------------------------------------------------------------------------


def check(path: str | PathLike[str]) -> list[str]:
    """What a release record and the table beside it prove by themselves, sentence by sentence.

    Its own digest and the plan's, the table's digest, and the account: statistics add up to the epsilon that the
    statement names, and every mechanism was drawn at no more than its statistic allows. A `PassportError` with
    the reason otherwise. The mechanisms themselves are not in the record, only their digests.
    """
    file = Path(path)
    with _whole(file):
        content = _content(file)
        return [_check_own(content), _check_table(content["table"], file), *_check_promise(content)]


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """A record whose digest and account hold; its table need not be there."""
    file = Path(path)
    with _whole(file):
        content = _content(file)
        _check_own(content)
        _check_promise(content)
        return content


@contextmanager
def _whole(file: Path) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise PassportError(f"{file.name} is not a whole release record") from None


def _content(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = content_of(file, "release record")
    if content["format"] != FORMAT:
        raise PassportError(f"{file.name} is not a release record")
    if content["version"] not in range(1, VERSION + 1) or isinstance(content["version"], bool):
        raise UnknownVersion(
            f"{file.name} is a release record of version {str(content['version'])[:20]!r}, not 1 or {VERSION}"
        )
    return content


def _check_own(content: Mapping[str, Any]) -> str:
    if content["sha256"] != own_digest(content):
        raise PassportError("the record was changed: it does not have its own digest")
    plan = content["plan"]
    if content["plan_sha256"] != (spaced_digest(plan) if content["version"] == 1 else sha256(canonical(plan))):
        raise PassportError("the record was changed: its plan does not have the digest stated")
    return "the record and the plan in it have the digests stated: neither was changed by accident"


def _check_table(table: Mapping[str, Any], file: Path) -> str:
    name = table["file"]
    if not name or Path(name).name != name:
        raise PassportError("the record names a table that is not beside it")
    try:
        with open(file.parent / name, "rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        raise PassportError(f"the table {name} is not beside its record") from None
    if found != table["sha256"]:
        raise PassportError(f"the table {name} is not the one that was released: its digest differs")
    return f"{name} is the table that was released ({table['rows']} rows): it has the digest stated"


def _check_promise(content: Mapping[str, Any]) -> list[str]:
    """Statement, account and mechanisms against the plan in the record, in exact fractions."""
    plan, total, spent = content["plan"], *(read_fraction(content["epsilon"][name]) for name in ("total", "spent"))
    public, neighbours = plan["sizes"] == "public", plan["neighbours"]
    if (plan["sizes"], neighbours) not in RELATIONS:
        raise PassportError("the record names a relation that no release has")
    if total != read_fraction(plan["epsilon"]) or not 0 < spent <= total:
        raise PassportError("the record spends another epsilon than its plan")
    person = plan.get("person", {})
    if bool(person) != (neighbours == PERSON):
        raise PassportError("the record names a relation that no release has")
    meant = RECORD_BEFORE if content["version"] == 1 else record_of(plan["source"]["kind"], person)
    if content["statement"] != promised(public, neighbours, spent, meant):
        raise PassportError("the statement is not what the plan and the account promise")
    parts = _check_account(content, total, spent)
    _check_mechanisms(content)
    return [
        f"the statement is what its plan and account promise: {content['statement'].rstrip('.')}",
        f"the account adds up: {parts} of epsilon {number(total)}",
        f"each of {len(content['mechanisms'])} mechanisms was drawn at no more than its statistic's part of it, by the "
        "record's own word: their digests are in the record, and only their passports prove them",
    ]


def _check_account(content: Mapping[str, Any], total: Fraction, spent: Fraction) -> str:
    """Every part positive, what the plan said where it said it, and together what was spent."""
    parts = [read_fraction(line["spent"]) for line in content["account"]]
    for line, part, statistic in zip(content["account"], parts, content["plan"]["statistics"], strict=True):
        share = read_fraction(statistic["share"]) * total if "share" in statistic else part
        told = read_fraction(statistic["epsilon"]) if "epsilon" in statistic else share
        if line["statistic"] != statistic["name"] or not 0 < part == told:
            raise PassportError(f"the account of {line['statistic']} is not what its plan allows")
    if sum(parts, Fraction(0)) != spent:
        raise PassportError("the account does not add up to the epsilon stated")
    return " + ".join(map(number, parts)) + (f" = {number(spent)}" if len(parts) > 1 else "")


def _check_mechanisms(content: Mapping[str, Any]) -> None:
    """Each statistic has mechanisms for all groups, none above what its part of the account allows."""
    plan, answered = content["plan"], dict.fromkeys((s["name"] for s in content["plan"]["statistics"]), 0)
    allowed, person = {}, _contribution(plan)
    for line, statistic in zip(content["account"], plan["statistics"], strict=True):
        spent, public = read_fraction(line["spent"]), plan["sizes"] == "public"
        by_unit = counted_by_unit(statistic["kind"], _adds_up(statistic, plan))
        drawn_at, _ = drawn(statistic["kind"], public, plan["neighbours"], spent, person, by_unit)
        if read_fraction(line["drawn_at"]) != drawn_at:
            raise PassportError(f"the account of {line['statistic']} is not what its plan allows")
        allowed[statistic["name"]] = _check_layers(line, drawn_at, _adds_up(statistic, plan))
    for made in content["mechanisms"]:
        layers = allowed[made["statistic"]]
        if not 0 < read_fraction(made["epsilon"]) <= layers[made.get("layer", "")]:
            raise PassportError("a mechanism spends more than the account allows")
        answered[made["statistic"]] += made["groups"] if made.get("layer", "") == next(iter(layers)) else 0
        query = read_query(made["query"])
        _check_parts(made, query, plan)
        _check_person(made, query, plan)
    nodes = plan["hierarchy"]["nodes"] if "hierarchy" in plan else [plan["groups"]]
    if (
        set(answered.values()) != {plan["groups"]}
        or nodes[-1] != plan["groups"]
        or content["table"]["rows"] != sum(nodes)
    ):
        raise PassportError("the mechanisms are not those of the plan's groups and statistics")


def _adds_up(statistic: Mapping[str, Any], plan: Mapping[str, Any]) -> bool:
    """Whether a statistic's numbers were drawn with their sums, as the plan in a record says."""
    kind = KINDS[statistic["kind"]]
    return kind.over_cells or ("hierarchy" in plan and kind.over_groups)


def _check_layers(line: Mapping[str, Any], drawn_at: Fraction, adds_up: bool) -> dict[str, Fraction]:
    """What each layer of a statistic may spend, its own numbers first; together no more than is drawn at."""
    if adds_up != ("layers" in line):
        raise PassportError(f"the account of {line['statistic']} is not what its plan allows")
    if not adds_up:
        return {"": drawn_at}
    layers = {name: read_fraction(part) for name, part in line["layers"].items()}
    if not min(layers.values()) > 0 or sum(layers.values(), Fraction(0)) > drawn_at:
        raise PassportError(f"the layers of {line['statistic']} spend more than the account allows")
    return layers


def _check_parts(line: Mapping[str, Any], query: Query, plan: Mapping[str, Any]) -> None:
    """Sums of a record's v and its w - v cost epsilon together, if each costs epsilon·distance/w; nothing else may."""
    shared = isinstance(query.neighbours, Metric)
    if shared != ("parts" in line):
        raise PassportError("a mechanism promises less than the numbers that were drawn by it need")
    if not shared:
        return
    (own,) = [statistic for statistic in plan["statistics"] if statistic["name"] == line["statistic"]]
    column = plan["columns"][own["of"]]
    width = read_fraction(column["high"]) - read_fraction(column["low"])
    if len(line["parts"]) != 2 or own["kind"] != "mean" or query.neighbours != Metric(width):
        raise PassportError("a mechanism promises less than the numbers that were drawn by it need")


def _contribution(plan: Mapping[str, Any]) -> Contribution:
    """How much of one person counts, as the plan in a record says."""
    said = plan.get("person", {"max_records": 1, "max_groups": 1})
    return Contribution(whole(said["max_records"], "max_records", 1), min(said["max_groups"], plan["groups"]))


def _check_person(line: Mapping[str, Any], query: Query, plan: Mapping[str, Any]) -> None:
    """A mechanism whose answers one person moves by several records has neighbours that far apart."""
    if plan["neighbours"] != PERSON:
        return
    (own,) = [statistic for statistic in plan["statistics"] if statistic["name"] == line["statistic"]]
    declared = plan["columns"].get(own["of"])
    facts = {} if declared is None else {**declared, "labels": declared.get("labels", ())}
    subject: Subject[Any] = Subject(own["name"], own["of"], Column(**facts) if facts else None, public=False)
    size = int(str(line["size"]).partition("..")[0])
    records = 1 if counted_by_unit(own["kind"], _adds_up(own, plan)) else _contribution(plan).records
    if query != query_of(own["kind"], subject, size, records):
        raise PassportError("a mechanism promises less than one person's records need")
