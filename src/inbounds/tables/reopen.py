"""A written release opened again: its record is read as what it is, checked, and added up; its table read back."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.errors import PassportError, UnknownVersion
from inbounds.extras import library
from inbounds.files import canonical, content_of, sha256
from inbounds.files.form import as_form
from inbounds.files.held import digest_of
from inbounds.files.intake import from_json, text_of
from inbounds.mechanism.quantiles.reading import read_quantile
from inbounds.mechanism.spelling import read_fraction, read_query
from inbounds.numbers import whole
from inbounds.query import Metric, Quantile, Query, Reach
from inbounds.tables.account import counted_by_unit, drawn, query_of
from inbounds.tables.columns import Column, Contribution
from inbounds.tables.forms import AccountForm, MechanismForm, PlanForm, RecordForm, StatisticForm, TableForm
from inbounds.tables.plan import ADD_OR_REMOVE, CHANGE, PERSON
from inbounds.tables.record import FORMAT, RECORD_BEFORE, VERSION, promised, record_of
from inbounds.tables.report import page
from inbounds.tables.reported import check_reports
from inbounds.tables.statistics import KINDS, Subject
from inbounds.tables.statistics.pair import ABOVE, BELOW
from inbounds.tables.texts import number
from inbounds.tables.write import neutral, own_digest, restored, spaced_digest

RELATIONS = {("public", CHANGE), ("maximum", CHANGE), ("maximum", ADD_OR_REMOVE), ("maximum", PERSON)}
"""What a plan may say about sizes and neighbours."""


def check(path: str | PathLike[str]) -> list[str]:
    """What a release record and the table beside it prove by themselves, sentence by sentence.

    Its own digest and the plan's, the table's digest, and the account: statistics add up to the epsilon that the
    statement names, and every mechanism was drawn at no more than its statistic allows. A `PassportError` with
    the reason otherwise. The mechanisms themselves are not in the record, only their digests.
    """
    file = Path(path)
    with _whole(file):
        record = _record(file)
        return [_check_plan(record), _check_table(record["table"], file), *_check_promise(record)]


def read(path: str | PathLike[str]) -> RecordForm:
    """A record whose digest and account hold; its table need not be there."""
    file = Path(path)
    with _whole(file):
        record = _record(file)
        _check_plan(record)
        _check_promise(record)
        return record


@contextmanager
def _whole(file: Path) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise PassportError(f"{file.name} is not a whole release record") from None


def _record(file: Path) -> RecordForm:
    """What stands in the file, with its own digest, and every field of the type that it has in all records."""
    content = content_of(file, "release record")
    if content["format"] != FORMAT:
        raise PassportError(f"{file.name} is not a release record")
    if content["version"] not in range(1, VERSION + 1) or isinstance(content["version"], bool):
        raise UnknownVersion(
            f"{file.name} is a release record of version {str(content['version'])[:20]!r}, not 1 or {VERSION}"
        )
    if content["sha256"] != own_digest(content):
        raise PassportError("the record was changed: it does not have its own digest")
    return as_form(content, RecordForm)


def _check_plan(record: RecordForm) -> str:
    plan = record["plan"]
    if record["plan_sha256"] != (spaced_digest(plan) if record["version"] == 1 else sha256(canonical(plan))):
        raise PassportError("the record was changed: its plan does not have the digest stated")
    return "the record and the plan in it have the digests stated: neither was changed by accident"


def _check_table(table: TableForm, file: Path) -> str:
    name = table["file"]
    if not name or Path(name).name != name:
        raise PassportError("the record names a table that is not beside it")
    try:
        found = digest_of(file.parent / name)
    except OSError:
        raise PassportError(f"the table {name} is not beside its record") from None
    if found != table["sha256"]:
        raise PassportError(f"the table {name} is not the one that was released: its digest differs")
    return f"{name} is the table that was released ({table['rows']} rows): it has the digest stated"


def _check_promise(record: RecordForm) -> list[str]:
    """Statement, account and mechanisms against the plan in the record, in exact fractions."""
    plan, total, spent = record["plan"], *(read_fraction(record["epsilon"][name]) for name in ("total", "spent"))
    public, neighbours = plan["sizes"] == "public", plan["neighbours"]
    if (plan["sizes"], neighbours) not in RELATIONS:
        raise PassportError("the record names a relation that no release has")
    if total != read_fraction(plan["epsilon"]) or not 0 < spent <= total:
        raise PassportError("the record spends another epsilon than its plan")
    person = plan.get("person")
    if (person is not None) != (neighbours == PERSON):
        raise PassportError("the record names a relation that no release has")
    meant = RECORD_BEFORE if record["version"] == 1 else record_of(plan["source"]["kind"], person)
    if record["statement"] != promised(public, neighbours, spent, meant):
        raise PassportError("the statement is not what the plan and the account promise")
    parts = _check_account(record, total, spent)
    _check_mechanisms(record)
    if "reports" in record:
        check_reports(record, [own for own in plan["statistics"] if _adds_up(own, plan)])
    drawn = f"each of {many} mechanisms" if (many := len(record["mechanisms"])) > 1 else "the mechanism"
    return [
        f"the statement is what its plan and account promise: {record['statement'].rstrip('.')}",
        f"the account adds up: {parts} of epsilon {number(total)}",
        f"{drawn} was drawn at no more than its statistic's part of it, by the "
        "record's own word: their digests are in the record, and only their passports prove them",
    ]


def _check_account(record: RecordForm, total: Fraction, spent: Fraction) -> str:
    """Every part positive, what the plan said where it said it, and together what was spent."""
    parts = [read_fraction(line["spent"]) for line in record["account"]]
    for line, part, statistic in zip(record["account"], parts, record["plan"]["statistics"], strict=True):
        share = read_fraction(statistic["share"]) * total if "share" in statistic else part
        told = read_fraction(statistic["epsilon"]) if "epsilon" in statistic else share
        if line["statistic"] != statistic["name"] or not 0 < part == told:
            raise PassportError(f"the account of {line['statistic']} is not what its plan allows")
    if sum(parts, Fraction(0)) != spent:
        raise PassportError("the account does not add up to the epsilon stated")
    return " + ".join(map(number, parts)) + (f" = {number(spent)}" if len(parts) > 1 else "")


def _check_mechanisms(record: RecordForm) -> None:
    """Each statistic has mechanisms for all groups, none above what its part of the account allows."""
    plan, answered = record["plan"], dict.fromkeys((s["name"] for s in record["plan"]["statistics"]), 0)
    allowed, person = {}, _contribution(plan)
    for line, statistic in zip(record["account"], plan["statistics"], strict=True):
        spent, public = read_fraction(line["spent"]), plan["sizes"] == "public"
        by_unit = counted_by_unit(statistic["kind"], _adds_up(statistic, plan))
        drawn_at, _ = drawn(statistic["kind"], public, plan["neighbours"], spent, person, by_unit)
        if read_fraction(line["drawn_at"]) != drawn_at:
            raise PassportError(f"the account of {line['statistic']} is not what its plan allows")
        allowed[statistic["name"]] = _check_layers(line, drawn_at, _adds_up(statistic, plan))
    for made in record["mechanisms"]:
        layers = allowed[made["statistic"]]
        if not 0 < read_fraction(made["epsilon"]) <= layers[made.get("layer", "")]:
            raise PassportError("a mechanism spends more than the account allows")
        groups = whole(made["groups"], "groups", 1)
        answered[made["statistic"]] += groups if made.get("layer", "") == next(iter(layers)) else 0
        query = read_quantile(made["quantile"]) if "quantile" in made else read_query(made["query"])
        _check_parts(made, query, plan)
        _check_person(made, query, record)
        if isinstance(query, Quantile):
            _check_quantile(made, query, plan)
    nodes = plan["hierarchy"]["nodes"] if "hierarchy" in plan else [plan["groups"]]
    if {*answered.values(), nodes[-1]} != {plan["groups"]} or record["table"]["rows"] != sum(nodes):
        raise PassportError("the mechanisms are not those of the plan's groups and statistics")
    _check_sizes([m for m in record["mechanisms"] if m.get("layer", "") == next(iter(allowed[m["statistic"]]))])


def _check_sizes(mechanisms: list[MechanismForm]) -> None:
    """All statistics are of the same groups: the same least and largest size, and no size answered twice."""
    sizes: dict[str, list[list[int]]] = {}
    for made in mechanisms:
        ends = [whole(int(end), "size", 1) for end in str(made["size"]).split("..")]
        if len(ends) > 2 or sorted(set(ends)) != ends or ends in sizes.setdefault(made["statistic"], []):
            raise PassportError("the mechanisms are not for the sizes of the plan's groups")
        sizes[made["statistic"]].append(ends)
    if len({(min(own)[0], max(ends[-1] for ends in own)) for own in sizes.values()}) > 1:
        raise PassportError("the mechanisms are not for the sizes of the plan's groups")


def _adds_up(statistic: StatisticForm, plan: PlanForm) -> bool:
    """Whether a statistic's numbers were drawn with their sums, as the plan in a record says."""
    kind = KINDS[statistic["kind"]]
    return kind.over_cells or ("hierarchy" in plan and kind.over_groups)


def _check_layers(line: AccountForm, drawn_at: Fraction, adds_up: bool) -> dict[str, Fraction]:
    """What each layer of a statistic may spend, its own numbers first; together no more than is drawn at."""
    if adds_up != ("layers" in line):
        raise PassportError(f"the account of {line['statistic']} is not what its plan allows")
    if not adds_up:
        return {"": drawn_at}
    layers = {name: read_fraction(part) for name, part in line["layers"].items()}
    if not min(layers.values()) > 0 or sum(layers.values(), Fraction(0)) > drawn_at:
        raise PassportError(f"the layers of {line['statistic']} spend more than the account allows")
    return layers


def _check_quantile(line: MechanismForm, query: Quantile, plan: PlanForm) -> None:
    """A quantile's neighbours are those of the plan: nothing else is proved by its mechanism."""
    if query.public != (plan["sizes"] == "public") or str(line["size"]) != str(query.size):
        raise PassportError("a mechanism is for groups of other sizes than those of the plan")


def _check_parts(line: MechanismForm, query: Query | Quantile, plan: PlanForm) -> None:
    """Sums of a record's v and its w - v cost epsilon together, if each costs epsilon·distance/w; nothing else may."""
    shared = isinstance(query.neighbours, Metric)
    if shared != ("parts" in line):
        raise PassportError("a mechanism promises less than the numbers that were drawn by it need")
    if not shared:
        return
    own = _statistic(line, plan)
    column = plan["columns"][own["of"]]
    width = read_fraction(column["high"]) - read_fraction(column["low"])
    parts = [f"{own['name']}_{part}" for part in (ABOVE, BELOW)]
    if line["parts"] != parts or own["kind"] != "mean" or query.neighbours != Metric(width):
        raise PassportError("a mechanism promises less than the numbers that were drawn by it need")


def _contribution(plan: PlanForm) -> Contribution:
    """How much of one person counts, as the plan in a record says."""
    said = plan.get("person")
    if said is None:
        return Contribution()
    groups = min(whole(said["max_groups"], "max_groups", 1), plan["groups"])
    return Contribution(whole(said["max_records"], "max_records", 1), groups)


def _statistic(line: MechanismForm, plan: PlanForm) -> StatisticForm:
    """The statistic that a mechanism answered."""
    (own,) = [statistic for statistic in plan["statistics"] if statistic["name"] == line["statistic"]]
    return own


def _check_person(line: MechanismForm, query: Query | Quantile, record: RecordForm) -> None:
    """A mechanism is the one of its statistic for persons, and one person costs no more than the statistic spends.

    The cost is added up anew, not looked up: r records in each of c groups, of which the mechanism covers so many at
    once, cost c · ceil(r / covered) times the epsilon of a draw.
    """
    plan = record["plan"]
    if plan["neighbours"] != PERSON:
        return
    own, person = _statistic(line, plan), _contribution(plan)
    (spent,) = [read_fraction(entry["spent"]) for entry in record["account"] if entry["statistic"] == own["name"]]
    times = person.groups * -(-person.records // _covered_at_once(query, own, plan))
    if read_fraction(line["epsilon"]) * times > spent:
        raise PassportError("a mechanism promises less than one person's records need")
    declared: dict[str, Any] = {**plan["columns"].get(own["of"], {})}
    at = read_fraction(own["at"]) if "at" in own else None
    subject: Subject[Any] = Subject(
        own["name"], own["of"], Column(**declared) if declared else None, public=False, at=at
    )
    size = int(str(line["size"]).partition("..")[0])
    records = 1 if counted_by_unit(own["kind"], _adds_up(own, plan)) else person.records
    if query != query_of(own["kind"], subject, size, records):
        raise PassportError("a mechanism promises less than one person's records need")


def _covered_at_once(query: Query | Quantile, own: StatisticForm, plan: PlanForm) -> int:
    """How many records of one person may come or go in a group within one epsilon of the mechanism.

    Of a number by itself, as many as its neighbours are apart; where records touch several numbers, one.
    """
    if isinstance(query, Quantile):
        return query.records
    if own["kind"] in ("histogram", "mean"):
        return 1
    if isinstance(query.neighbours, Reach) and query.neighbours.steps < len(query.answers) - 1:
        most = Fraction(1)
        if own["kind"] == "sum":
            column = plan["columns"][own["of"]]
            most = max(abs(read_fraction(column["low"])), abs(read_fraction(column["high"])))
        return max(1, query.neighbours.steps * query.answers.unit // most)
    return _contribution(plan).records  # any answer may become any other


def statistic_of(record: RecordForm, column: str) -> str:
    """The statistic that a column of the released table belongs to: "answer: yes" is a cell of the histogram answer.

    What is no such column is returned as it is. A number that is computed from others has no mechanism of its own.
    """
    plan = record["plan"]
    for line in record["mechanisms"]:
        parts = line.get("parts", [])
        if column == line["statistic"] and parts:
            said = f"statistic must be a column that was drawn, got {column!r}, computed from {' and '.join(parts)}"
            raise ValueError(said)
        if column in parts:
            return line["statistic"]
    for asked in plan["statistics"]:
        labels = plan["columns"][asked["of"]].get("labels", ()) if asked["kind"] == "histogram" else ()
        if column in (f"{asked['name']}: {label}" for label in labels):
            return asked["name"]
    return column


def adds_up_after_the_draw(record: RecordForm, statistic: str | None) -> bool:
    """Whether the cells of a released histogram were made to add up, so that no mechanism reported them as they are."""
    asked = [own for own in record["plan"]["statistics"] if statistic in (own["name"], None)]
    return any(own.get("consistent", False) or _adds_up(own, record["plan"]) for own in asked)


# --- the table beside a record ------------------------------------------------------------------------------


def page_of(path: str | PathLike[str]) -> str:
    """The HTML page of a release record and the table beside it, both as they were released."""
    check(path)
    record = read(path)
    return page(record, table_beside(record, Path(path)))


def table_beside(record: RecordForm, path: Path) -> Any:
    """The released table as Arrow; keys stay the texts they are."""
    file = path.parent / record["table"]["file"]
    if file.suffix.lower() == ".parquet":
        return library("pyarrow.parquet", "tables").read_table(file)
    if file.suffix.lower() == ".json":
        return library("pyarrow", "tables").Table.from_pylist(from_json(text_of(file)))
    arrow, types = library("pyarrow.csv", "tables"), library("pyarrow", "tables")
    by = record["plan"]["by"]
    held = arrow.read_csv(
        file,
        parse_options=arrow.ParseOptions(newlines_in_values=True),
        convert_options=arrow.ConvertOptions(
            column_types={neutral(name): types.string() for name in by}, strings_can_be_null=False
        ),
    )
    held = held.rename_columns([restored(name) for name in held.column_names])
    for name in by:
        keys = types.array([restored(key) for key in held[name].to_pylist()], types.string())
        held = held.set_column(held.column_names.index(name), name, keys)
    return held


# --- several releases about the same people: what their records promise together, by adding up ---------------
#
# Each release was drawn by itself, so the factors multiply and the epsilons add up (sequential composition). A record
# that is left out moves every answer no further than the relation of its release allows, whichever that is; so the
# sum always covers a record in the data or not. It covers more when all releases promise the same.


@dataclass(frozen=True)
class Together:
    """Releases by name, what each spends, and what is covered by the sum."""

    names: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    covers: str

    @property
    def epsilon(self) -> Fraction:
        return sum(self.epsilons, Fraction(0))

    def __str__(self) -> str:
        parts = " + ".join(map(number, self.epsilons))
        total = f"{parts} = {number(self.epsilon)}" if len(self.epsilons) > 1 else parts
        factor = math.exp(float(self.epsilon))
        return (
            f"If they are about the same people, these releases are together epsilon {total}: {self.covers}, and all "
            f"tables together are at most {factor:.4g} times likelier than they would be otherwise"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; epsilons exactly, as text."""
        members = zip(self.names, self.epsilons, strict=True)
        releases = [{"file": name, "epsilon": str(epsilon)} for name, epsilon in members]
        return {"releases": releases, "epsilon": str(self.epsilon), "statement": str(self)}


def together(records: Mapping[str, RecordForm]) -> Together:
    """The sum over records, by file name. One release written twice, under any names, counts once."""
    own = {_release(name, record): (name, record) for name, record in records.items()}
    names, contents = zip(*own.values(), strict=True)
    return Together(names, tuple(Fraction(record["epsilon"]["spent"]) for record in contents), _covered(contents))


def _release(name: str, record: RecordForm) -> tuple[str, ...]:
    """What tells one release from all others: its random id, and nothing that a careless copy could share."""
    return record.get("id", name), record["plan_sha256"], record["epsilon"]["spent"], record["time"]


def _covered(records: Sequence[RecordForm]) -> str:
    promises = {(record["plan"]["sizes"], record["plan"]["neighbours"]) for record in records}
    if promises == {("public", CHANGE)}:
        return "one person's record may be changed within its groups, or left out"
    if promises == {("maximum", CHANGE)}:
        return "one person's record may be replaced by any other, also in another group"
    if promises == {("maximum", PERSON)}:
        return "one person may be added or removed, with all records (replaced: at twice the epsilon)"
    if ("maximum", PERSON) in promises:
        return (
            "one person may be added or removed, with one record where a release names no persons (replaced: at twice "
            "the epsilon)"
        )
    return "one person's record may be added or removed (replaced: at twice the epsilon)"
