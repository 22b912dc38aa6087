"""Forgeries of a published release, made systematically: each with every digest that a forger can compute.

A forgery is a record and its table. Those of `weaker` change what a mechanism promises and leave the table as it is;
those of `rewritten` change the published numbers; those of `renamed` change what the numbers are said to be about;
those of `refitted` change the plan, and everything else that the checker's rules then require, but no mechanism.
"""

import copy
import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from checker.released import sign
from inbounds.checker.account import StatedCost, numbers_moved, planned_parts
from inbounds.checker.lines import required_lines
from inbounds.checker.plan import read_plan
from inbounds.checker.statement import format_statement
from inbounds.errors import PassportError
from inbounds.files import sha256_hex
from inbounds.releases.record import format_plan_guarantee

Record = dict[str, Any]


@dataclass(frozen=True)
class Forgery:
    """A record and its table, signed anew. estimate: only an estimate was changed, and no sum that must hold."""

    name: str
    record: Record = field(repr=False)
    table: bytes = field(repr=False)
    estimate: bool = False


@dataclass(frozen=True)
class Original:
    """A release as it was published."""

    record: Record = field(repr=False)
    table: bytes = field(repr=False)
    suffix: str

    @staticmethod
    def read(record: Path, table: Path) -> "Original":
        return Original(json.loads(record.read_bytes())["content"], table.read_bytes(), table.suffix)

    @cached_property
    def _text(self) -> str:
        return json.dumps(self.record)

    def copy_record(self) -> Record:
        """A copy to change; JSON is copied faster as text."""
        copied: Record = json.loads(self._text)
        return copied

    def forged(self, name: str, change: Callable[[Record], object]) -> Forgery:
        """The record changed, the table as it is."""
        lie = self.copy_record()
        change(lie)
        return Forgery(name, sign(lie, self.table), self.table)

    @property
    def rows(self) -> tuple[list[str], list[list[Any]]]:
        """Head and rows; cells of a CSV file are texts."""
        if self.suffix == ".csv":
            head, *rows = csv.reader(io.StringIO(self.table.decode(), newline=""))
            return head, rows
        if self.suffix == ".json":
            listed = json.loads(self.table)
            return list(listed[0]), [list(row.values()) for row in listed]
        table = pa.parquet.read_table(io.BytesIO(self.table))
        return table.column_names, [list(row.values()) for row in table.to_pylist()]

    def written(self, head: list[str], rows: list[list[Any]]) -> bytes:
        """A table of these cells in the same kind of file."""
        if self.suffix == ".csv":
            buffer = io.StringIO(newline="")
            csv.writer(buffer, lineterminator="\n").writerows([head, *rows])
            return buffer.getvalue().encode()
        if self.suffix == ".json":
            listed = [dict(zip(head, row, strict=True)) for row in rows]
            return json.dumps(listed, ensure_ascii=False, indent=1).encode() + b"\n"
        buffer = io.BytesIO()
        columns = dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))
        pa.parquet.write_table(pa.table(columns), buffer)
        return buffer.getvalue()

    def rewritten(self, name: str, head: list[str], rows: list[list[Any]], *, estimate: bool = False) -> Forgery:
        """The table changed, its digest in the record made to fit."""
        table = self.written(head, rows)
        return Forgery(name, sign(self.copy_record(), table), table, estimate)


# --- mechanisms that promise less, or answer something else -------------------------------------------------

MANY = 8
"""Lines or statistics among which changes take turns."""


def weaker(original: Original, *, every: bool) -> Iterator[Forgery]:
    """Lines about mechanisms with another query, other neighbours, another range, size, epsilon or layer.

    every: all lines, with the questions of all others; otherwise the first of each statistic and layer, with those of
    three others, and where there are many, each with a third of the changes: every change meets a third of them.
    """
    lines = original.record["mechanisms"]
    first = {(line["statistic"], line.get("layer")): k for k, line in reversed([*enumerate(lines)])}
    chosen = range(len(lines)) if every else sorted(first.values())
    for k in chosen:
        line = lines[k]
        owner = f"{line['statistic']} {line.get('layer', '')} {line['size']}"
        for other in (lines[n] for n in chosen if every or n in _next(chosen, k)):
            if _question(other) != _question(line):
                yield original.forged(f"{owner}: question of {other['statistic']} {other['size']}", _asks(k, other))
        part = slice(None) if every or len(chosen) < MANY else slice(k % 3, None, 3)
        for name, question in [*_other_questions(line)][part]:
            yield original.forged(f"{owner}: {name}", _asks(k, question))
        for name, change in [*_other_lines(k)][part]:
            yield original.forged(f"{owner}: {name}", change)
    yield from _other_accounts(original)


def _next(chosen: Sequence[int], k: int) -> list[int]:
    """The three after k, in a circle."""
    at = chosen.index(k) + 1
    return [*chosen, *chosen][at : at + 3]


def _question(line: Record) -> Record:
    return line["query"]


def _asks(k: int, other: Record) -> Callable[[Record], None]:
    """The k-th line with the question of another one."""

    def change(record: Record) -> None:
        line = record["mechanisms"][k]
        line["query"] = copy.deepcopy(other["query"])
        if line["query"]["kind"] in ("quantile", "quantiles"):
            line.setdefault("law", "score table")
        else:
            line.pop("law", None)

    return change


def _other_questions(line: Record) -> Iterator[tuple[str, Record]]:
    question = _question(line)
    changes = _quantiles(question) if question["kind"] in ("quantile", "quantiles") else _queries(question)
    for name, changed in changes:
        yield name, {"query": changed}


def _queries(query: Record) -> Iterator[tuple[str, Record]]:
    neighbours, answers = query["neighbours"], query["answers"]
    steps = neighbours.get("reach", 0)
    others: list[Any] = [{"reach": n} for n in range(max(steps - 3, 0), steps + 3) if n != steps]
    others += [{"reach": 1}, {"reach": True}, {"metric": "1"}, {"metric": "1/2"}, {"metric": "100"}, {}]
    others += [{"everyone": True}, {**neighbours, "everyone": True}, {"everyone": 1}, None]
    for other in others:
        if json.dumps(other) != json.dumps(neighbours):
            yield f"neighbours {other}", {**query, "neighbours": other}
    for more in (-1, 1):
        yield f"{more} answers", {**query, "answers": {**answers, "size": answers["size"] + more}}
        start = str(Fraction(answers["start"]) + more * Fraction(answers["unit"]))
        yield f"from {start}", {**query, "answers": {**answers, "start": start}}
    yield "half the unit", {**query, "answers": {**answers, "unit": str(Fraction(answers["unit"]) / 2)}}
    yield "twice the unit", {**query, "answers": {**answers, "unit": str(Fraction(answers["unit"]) * 2)}}
    for kind in ("count", "total", "mean", "extreme", "ordinal", "interval"):
        if kind != query["kind"]:
            yield f"kind {kind}", {**query, "kind": kind}
    yield "rounds", {**query, "rounds": True}
    yield "an allowance", {**query, "allowance": "1/10000"}
    cells = {"lowers": answers, "uppers": answers, "values": answers}
    yield "cells of its own", {**query, "outputs": cells}
    yield "labels", {**query, "labels": [str(n) for n in range(answers["size"])]}
    if query["labels"] is not None:
        yield "labels in another order", {**query, "labels": query["labels"][::-1]}
        yield "no labels", {**query, "labels": None}


def _quantiles(quantile: Record) -> Iterator[tuple[str, Record]]:
    for at in ("0", "1/4", "1/2", "9/10", "1", "1/4 1/2", "9/10 1/4", "1/4 9/10 1", ["1/4", "9/10"]):
        if at != quantile["at"]:
            yield f"at {at}", {**quantile, "at": at}
    yield "one or several", {**quantile, "kind": "quantile" if quantile["kind"] == "quantiles" else "quantiles"}
    yield "public or not", {**quantile, "public": not quantile["public"]}
    for name in ("size", "records", "missing"):
        for more in (-1, 1):
            yield f"{name} {more}", {**quantile, name: str(int(quantile[name]) + more)}
    values = quantile["values"]
    for more in (-1, 1):
        yield f"{more} values", {**quantile, "values": {**values, "size": values["size"] + more}}
    yield "half the step", {**quantile, "values": {**values, "unit": str(Fraction(values["unit"]) / 2)}}


def _other_lines(k: int) -> Iterator[tuple[str, Callable[[Record], object]]]:
    """The k-th line at another epsilon, for other groups, of another layer, or of other parts."""
    for factor in (Fraction(1, 2), Fraction(2), Fraction(10), Fraction(-1), Fraction(999, 1000)):

        def spends(record: Record, factor: Fraction = factor) -> None:
            line = record["mechanisms"][k]
            line["epsilon"] = str(Fraction(line["epsilon"]) * factor)

        yield f"epsilon times {factor}", spends
    yield "one group more", lambda record: record["mechanisms"][k].update(groups=record["mechanisms"][k]["groups"] + 1)
    yield "another size", lambda record: record["mechanisms"][k].update(size=77)
    yield "size in words", lambda record: record["mechanisms"][k].update(size=f" {record['mechanisms'][k]['size']}")
    yield "another layer", lambda record: record["mechanisms"][k].update(layer="elsewhere")
    yield "parts", lambda record: record["mechanisms"][k].update(parts=["one", "two"])
    yield "no digest", lambda record: record["mechanisms"][k].update(sha256="")
    yield "left out", lambda record: record["mechanisms"].pop(k)
    yield "twice", lambda record: record["mechanisms"].append(copy.deepcopy(record["mechanisms"][k]))
    yield "a field more", lambda record: record["mechanisms"][k].update(more=True)


def _other_accounts(original: Original) -> Iterator[Forgery]:
    """More epsilon than the plan allows, said in every place at once."""
    for k, line in enumerate(original.record["account"]):
        for factor in (2, Fraction(1, 2)):

            def spends(record: Record, k: int = k, factor: Any = factor, name: str = line["statistic"]) -> None:
                own = record["account"][k]
                own["draw_epsilon"] = str(Fraction(own["draw_epsilon"]) * factor)
                if "layers" in own:
                    own["layers"] = {layer: str(Fraction(part) * factor) for layer, part in own["layers"].items()}
                for made in record["mechanisms"]:
                    if made["statistic"] == name:
                        made["epsilon"] = str(Fraction(made["epsilon"]) * factor)

            yield original.forged(f"all of {line['statistic']} drawn at {factor} times", spends)
        elsewhere = f"account of {line['statistic']} named otherwise"
        yield original.forged(elsewhere, lambda record, k=k: record["account"][k].update(statistic="elsewhere"))
        for part in ("0", "-1", "100"):
            yield original.forged(f"{line['statistic']} spends {part} in every place", _spends_in_all(k, part))
        if len(line.get("layers", {})) > 1:
            for share in (0, -1, Fraction(1, 2)):
                name = f"a layer of {line['statistic']} spends {share} of its part and another the rest"
                yield original.forged(name, _shares_otherwise(k, Fraction(share)))
            yield original.forged(f"two layers of {line['statistic']} spend for three", _spends_twice(k))


def _shares_otherwise(k: int, share: Fraction) -> Callable[[Record], None]:
    """The second layer of a statistic with a share of its part, the first with what is left; said in every place."""

    def change(record: Record) -> None:
        layers = record["account"][k]["layers"]
        first, second, *_ = layers
        part = Fraction(layers[second])
        layers[first], layers[second] = str(Fraction(layers[first]) + part * (1 - share)), str(part * share)
        _follow(record, k)
        if share > 0:  # which a plan without shares allows, and one with shares does not
            record["plan"].get("hierarchy", {}).pop("shares", None)
            record["account"][k]["draw_epsilon"] = str(Fraction(record["account"][k]["draw_epsilon"]) / 2)

    return change


def _spends_twice(k: int) -> Callable[[Record], None]:
    """The first layer of a statistic with the part of the second on top of its own."""

    def change(record: Record) -> None:
        layers = record["account"][k]["layers"]
        first, second, *_ = layers
        layers[first] = str(Fraction(layers[first]) + Fraction(layers[second]))
        _follow(record, k)

    return change


def _follow(record: Record, k: int) -> None:
    """Mechanisms and reports at the epsilons that the k-th line of the account has now."""
    own = record["account"][k]
    before = {}
    for made in record["mechanisms"]:
        if made["statistic"] == own["statistic"]:
            before[made["layer"]] = Fraction(made["epsilon"])
            made["epsilon"] = own["layers"][made["layer"]]
    for form in record["reports"]["statistics"]:
        for layer in form["layers"] if form["statistic"] == own["statistic"] else ():
            now = Fraction(own["layers"][layer["name"]])
            layer["rate"] = str(Fraction(layer["rate"]) * now / before[layer["name"]])


def _spends_in_all(k: int, part: str) -> Callable[[Record], None]:
    """The k-th statistic with another epsilon, said in plan, account and mechanisms alike; the sum is made to fit."""

    def change(record: Record) -> None:
        own, statistic = record["account"][k], record["plan"]["statistics"][k]
        factor = Fraction(part) / Fraction(own["spent"])
        statistic.pop("budget_share", None)
        statistic["epsilon"] = part
        own |= {"spent": part, "draw_epsilon": str(Fraction(own["draw_epsilon"]) * factor)}
        if "layers" in own:
            own["layers"] = {layer: str(Fraction(one) * factor) for layer, one in own["layers"].items()}
        for made in record["mechanisms"]:
            if made["statistic"] == own["statistic"]:
                made["epsilon"] = str(Fraction(made["epsilon"]) * factor)
        for form in record.get("reports", {"statistics": []})["statistics"]:
            for layer in form["layers"] if form["statistic"] == own["statistic"] else ():
                layer["rate"] = str(Fraction(layer["rate"]) * factor)
        spent = sum((Fraction(line["spent"]) for line in record["account"]), Fraction(0))
        record["epsilon"]["spent"] = str(spent)
        plan = record["plan"]
        record["statement"] = format_plan_guarantee(
            plan["sizes"] == "public", plan["neighbours"], spent, plan["source"]["kind"], plan.get("unit")
        )

    return change


# --- published numbers that do not follow from the draws ----------------------------------------------------


def changed_cells(original: Original, *, every: bool) -> Iterator[Forgery]:
    """Cells changed by one. every: all of them; otherwise one of each column, in another row each time."""
    head, rows = original.rows
    for column, name in enumerate(head):
        filled = [k for k, row in enumerate(rows) if row[column] not in ("", None)]
        for row in filled if every else [filled[column % len(filled)]]:
            for changed in _others(rows[row][column]):
                lie = [list(one) for one in rows]
                lie[row][column] = changed
                yield original.rewritten(
                    f"{name} in row {row + 1}: {changed!r}", head, lie, estimate=_is_estimate(original, name)
                )


def _is_estimate(original: Original, name: str) -> bool:
    """Whether a column states an error or the end of an interval."""
    return name.endswith(("_error", "_low", "_high"))


def _others(cell: Any) -> list[Any]:
    if isinstance(cell, str):
        try:
            number: int | float = int(cell)
        except ValueError:
            try:
                number = float(cell)
            except ValueError:
                return [f"{cell}x"]
        return [str(number + 1)]
    return [cell + 1]


def moved_cells(original: Original) -> Iterator[Forgery]:
    """Cells, rows and columns in each other's place; rows and columns too many or too few."""
    head, rows = original.rows
    for column, name in enumerate(head):
        pairs = [(a, b) for a in range(len(rows)) for b in range(a) if rows[a][column] != rows[b][column]]
        if pairs:
            lie, (a, b) = [list(row) for row in rows], pairs[0]
            lie[a][column], lie[b][column] = lie[b][column], lie[a][column]
            estimate = _is_estimate(original, name)
            yield original.rewritten(f"{name}: rows {a + 1} and {b + 1}", head, lie, estimate=estimate)
    if len(rows) > 1 and rows[0] != rows[1]:
        yield original.rewritten("the first rows", head, [rows[1], rows[0], *rows[2:]])
        yield original.rewritten("a row left out", head, rows[1:])
    yield original.rewritten("a row twice", head, [*rows, rows[0]])
    for column in range(len(head) - 1):
        order = [*range(column), column + 1, column, *range(column + 2, len(head))]
        moved = [[row[k] for k in order] for row in rows]
        yield original.rewritten(f"columns {column + 1} and {column + 2}", [head[k] for k in order], moved)
        swapped = [*head[:column], head[column + 1], head[column], *head[column + 2 :]]
        estimate = _is_estimate(original, head[column]) and _is_estimate(original, head[column + 1])
        if [row[column] for row in rows] != [row[column + 1] for row in rows]:
            yield original.rewritten(
                f"names of columns {column + 1} and {column + 2}", swapped, rows, estimate=estimate
            )
    yield original.rewritten("a column renamed", [*head[:-1], f"{head[-1]}x"], rows)
    yield original.rewritten("a column left out", head[:-1], [row[:-1] for row in rows])
    yield original.rewritten("a column more", [*head, "more"], [[*row, row[-1]] for row in rows])


# --- draws, groups and names --------------------------------------------------------------------------------


def other_draws(original: Original) -> Iterator[Forgery]:
    """Draws changed, swapped, shortened, out of range, or of another column; the table as it is.

    Of the changes of one draw, those of a long column take turns.
    Several draws may be made to sum to the same cells, or have the same order: those are no forgeries of the table.
    """
    summed = tuple(f"{own['name']}: " for own in original.record["plan"]["statistics"] if own.get("sum_to_size"))
    for column, line in original.record["draws"].items():
        outputs = line.split(" ")
        if summed and column.startswith(summed):
            yield original.forged(f"draws of {column} out of range", _draws(column, " ".join(["99"] * len(outputs))))
            continue
        for k, output in enumerate(outputs):
            others = [int(output) + 1, int(output) - 1, int(output) + 10**6]
            for other in others if len(outputs) < len(others) else [others[k % 3]]:
                changed = " ".join([*outputs[:k], str(other), *outputs[k + 1 :]])
                yield original.forged(f"draw {k + 1} of {column}: {other}", _draws(column, changed))
        if outputs != outputs[::-1]:
            yield original.forged(f"draws of {column} turned", _draws(column, " ".join(outputs[::-1])))
        yield original.forged(f"draws of {column} shortened", _draws(column, " ".join(outputs[:-1])))
        yield original.forged(f"draws of {column} with a space", _draws(column, f" {line}"))
        yield original.forged(f"draws of {column} left out", lambda record, own=column: record["draws"].pop(own))
    yield original.forged("draws of nothing", _draws("nothing", "1"))
    yield original.forged("no draws", lambda record: record.pop("draws"))
    adding = original.record.get("reports", {"statistics": []})["statistics"]
    for s, own in enumerate(adding):
        for n, layer in enumerate(own["layers"]):
            for r, row in enumerate(layer["reports"]):
                for more in (10**6 * (-1) ** r,):

                    def lies(record: Record, place: tuple[int, int, int] = (s, n, r), more: int = more) -> None:
                        a, b, c = place
                        record["reports"]["statistics"][a]["layers"][b]["reports"][c][0] += more

                    yield original.forged(f"report {r} of {own['statistic']}, {layer['name']}: {row[0] + more}", lies)


def _draws(column: str, line: str) -> Callable[[Record], None]:
    return lambda record: record["draws"].update({column: line})


def renamed(original: Original) -> Iterator[Forgery]:
    """Groups, labels, columns and sizes that are said to be others, with the digest of the keys made to fit or not."""
    record = original.record
    for name, keys in record["groups"]["keys"].items():
        for k, fits in ((0, True), (0, False), (len(keys) - 1, True)):

            def renames(lie: Record, name: str = name, k: int = k, fits: bool = fits) -> None:
                lie["groups"]["keys"][name][k] += " renamed"
                _sign_keys(lie, fits)

            yield original.forged(f"key {k} of {name} renamed, digest {fits}", renames)
        if len(set(keys)) > 1:

            def turns(lie: Record, name: str = name) -> None:
                lie["groups"]["keys"][name].reverse()
                _sign_keys(lie, True)

            yield original.forged(f"keys of {name} turned", turns)
    sizes = record["groups"]["sizes"].split(" ")
    for k, size in enumerate(sizes):
        for other in (int(size) + 1, max(int(size) - 1, 1)):
            if str(other) != size:

                def resizes(lie: Record, k: int = k, other: int = other) -> None:
                    lie["groups"]["sizes"] = " ".join([*sizes[:k], str(other), *sizes[k + 1 :]])
                    _sign_keys(lie, True)

                yield original.forged(f"size {k} is {other}", resizes)
    for name, column in record["plan"]["columns"].items():
        for part in ("low", "high", "step", "missing"):
            if part in column:

                def moves(lie: Record, name: str = name, part: str = part) -> None:
                    own = lie["plan"]["columns"][name]
                    own[part] = str(Fraction(own[part]) + 1)

                if _matters(record, name, part):
                    yield original.forged(f"{part} of {name} moved", moves)
        if "labels" in column and any(name in _columns(own) for own in record["plan"]["statistics"]):

            def relabels(lie: Record, name: str = name) -> None:
                lie["plan"]["columns"][name]["labels"][0] += " renamed"

            yield original.forged(f"label of {name} renamed", relabels)
            yield original.forged(
                f"labels of {name} turned", lambda lie, name=name: lie["plan"]["columns"][name]["labels"].reverse()
            )
    kinds = ("count", "sum", "mean", "median", "min", "max", "mode", "histogram")
    for k, statistic in enumerate(record["plan"]["statistics"]):
        for kind in kinds if len(record["plan"]["statistics"]) < MANY else kinds[k % 3 :: 3]:
            if kind != statistic["kind"]:

                def becomes(lie: Record, k: int = k, kind: str = kind) -> None:
                    own = lie["plan"]["statistics"][k]
                    common = ("name", "epsilon", "budget_share", "design")
                    column = (*_columns(own), "c", "x")[0]
                    subject = {"condition": f"{column} > 3"} if kind == "count" else {"column": column}
                    fields = {name: own[name] for name in common if name in own}
                    lie["plan"]["statistics"][k] = {"kind": kind, **subject, **fields}

                yield original.forged(f"{statistic['name']} is said to be a {kind}", becomes)
        yield original.forged(
            f"{statistic['name']} renamed", lambda lie, k=k: lie["plan"]["statistics"][k].update(name="renamed")
        )
    yield from _other_promises(original)


def other_fields(original: Original) -> Iterator[Forgery]:
    """Statistics with a field that their kind does not have, without one that it has, or with one of another type."""
    for k, statistic in enumerate(original.record["plan"]["statistics"]):
        for fields in _other_fields(statistic, original.record["plan"]["columns"]):
            changed = [place for place in {**statistic, **fields} if statistic.get(place) != fields.get(place)]

            def change(lie: Record, k: int = k, fields: Record = fields) -> None:
                lie["plan"]["statistics"][k] = copy.deepcopy(fields)

            stated = {place: fields[place] for place in changed if place in fields}
            yield original.forged(f"{statistic['name']} with {changed} as {stated}", change)


def _other_fields(statistic: Record, columns: Record) -> Iterator[Record]:
    subject = next(place for place in ("condition", "columns", "column") if place in statistic)
    rest = {place: value for place, value in statistic.items() if place != subject}
    value = statistic[subject]
    yield rest
    yield {**rest, "of": " × ".join(value) if subject == "columns" else value}
    yield {**statistic, "of": value}
    yield {**statistic, "subject": value}
    for kind in ("", "Count", "cоunt", "count ", "x" * 41, 1, None, ["count"]):
        yield {**statistic, "kind": kind}
    for other in (None, 1, True, {"name": value}, [], [value], "no such column"):
        if subject != "condition" or other != "no such column":
            yield {**statistic, subject: other}
    for place, other in {"condition": "true", "column": "x", "columns": ["c", "d"]}.items():
        if place != subject:
            yield {**rest, place: other}
            yield {**statistic, place: other}
    if statistic["kind"] != "quantile":
        yield {**statistic, "at": "1/2"}
        yield {**statistic, "at": ["1/4", "1/2"]}
    else:
        for at in (
            [],
            ["1/2"],
            ["1/2", "1/4"],
            ["1/4", "1/4"],
            ["1/4", 1],
            ["1/4", "3/2"],
            "1/4 1/2",
            ["0", "1/4 1/2"],
        ):
            yield {**statistic, "at": at}
    if statistic["kind"] != "histogram":
        yield {**statistic, "sum_to_size": True}
        yield {**statistic, "sum_to_size": False}
    if statistic["kind"] != "crosstab":
        yield {**statistic, "margins": []}
        return
    first, second = value
    third = next(name for name in (*columns, "") if name not in value)
    for pair in ([first, first], [first], [first, second, third], [first, third], [f"{first} × {second}"], [first, 1]):
        yield {**statistic, "columns": pair}
    for margins in ([third], [first, third], [first, first], [1], first, None, {first: second}):
        yield {**statistic, "margins": margins}
    yield {place: statistic[place] for place in statistic if place != "margins"}


def unknown_kinds(original: Original) -> Iterator[Forgery]:
    """Statistics of a kind that no checker has a rule for, with the fields that they have."""
    for k, statistic in enumerate(original.record["plan"]["statistics"]):
        yield original.forged(
            f"{statistic['name']} of the kind range", lambda lie, k=k: lie["plan"]["statistics"][k].update(kind="range")
        )
    yield original.forged(
        "all of the kind range", lambda lie: [own.update(kind="range") for own in lie["plan"]["statistics"]]
    )


def _columns(statistic: Record) -> list[str]:
    """The columns that a statistic is about; none for a count."""
    return statistic.get("columns", [statistic[name] for name in ("column",) if name in statistic])


def _matters(record: Record, name: str, part: str) -> bool:
    """Whether a statistic is about the column; `missing` is said in words alone unless a quantile uses it."""
    kinds = {own["kind"] for own in record["plan"]["statistics"] if name in _columns(own)}
    return bool(kinds) if part != "missing" else bool(kinds & {"min", "median", "max", "quantile"})


def _sign_keys(record: Record, fits: bool) -> None:
    if fits:
        groups, by = record["groups"], record["plan"]["by"]
        keys = list(zip(*(groups["keys"][name] for name in by), strict=True)) if by else [()]
        sizes = [int(size) for size in groups["sizes"].split(" ")]
        record["plan"]["keys_sha256"] = sha256_hex(json.dumps([keys, sizes]))


def _other_promises(original: Original) -> Iterator[Forgery]:
    plan = original.record["plan"]
    changes: dict[str, Callable[[Record], object]] = {
        "sizes": lambda lie: lie["plan"].update(sizes="maximum" if plan["sizes"] == "public" else "public"),
        "epsilon": lambda lie: lie["plan"].update(epsilon="1/2"),
        "statement": lambda lie: lie.update(statement=lie["statement"].replace("as likely", "more likely")),
        "spent": lambda lie: lie["epsilon"].update(spent="1/2"),
        "rows": lambda lie: lie["table"].update(rows=lie["table"]["rows"] + 1),
        "credible_level": lambda lie: lie["plan"].update(
            credible_level="1/2" if plan["credible_level"] is None else None
        ),
        "values": lambda lie: lie.update(values=["nothing is changed"]),
        "composition": lambda lie: lie.update(composition=["it costs nothing"]),
        "reason": lambda lie: lie["account"][0].update(reason="nobody minds"),
        "answers": lambda lie: lie["mechanisms"][0].update(answers="whatever"),
        "neighbours in words": lambda lie: lie["mechanisms"][0].update(neighbours="whatever"),
        "origin": lambda lie: lie["mechanisms"][0].update(origin="optimal"),
        "expected error": lambda lie: lie["mechanisms"][0].update(expected_error=0.0),
        "digest of a mechanism": lambda lie: lie["mechanisms"][0].update(sha256="0" * 64),
        "a field that nobody knows": lambda lie: lie.update(proved=True),
        "version": lambda lie: lie.update(version=2),
        "levels": lambda lie: lie.update(levels=[]),
    }
    for relation in ("change one record", "add or remove one record", "add or remove one person"):
        if relation != plan["neighbours"]:
            changes[f"neighbours: {relation}"] = lambda lie, word=relation: lie["plan"].update(neighbours=word)
    if "unit" in plan:
        changes["no person"] = lambda lie: lie["plan"].pop("unit")
        for name in ("max_records", "max_groups"):
            changes[name] = lambda lie, name=name: lie["plan"]["unit"].update({name: plan["unit"][name] + 1})
    for name, change in changes.items():
        yield original.forged(name, change)


# --- everything made to fit, but the mechanisms -------------------------------------------------------------


def refitted(original: Original) -> Iterator[Forgery]:
    """Another plan, with statement, account and lines that fit it; the digests are still those of other mechanisms.

    A forger who knows the rules can write such a record. Nothing but the weights shows that it is one.
    """
    if "reports" in original.record or "levels" in original.record:
        return
    for name, change in _other_plans(original):
        lie = original.copy_record()
        change(lie)
        try:
            _refit(lie)
        except PassportError:
            continue  # the change makes no plan at all
        yield Forgery(name, sign(lie, original.table), original.table)


def _other_plans(original: Original) -> Iterator[tuple[str, Callable[[Record], object]]]:
    plan = original.record["plan"]
    for word, most in plan.get("unit", {}).items():
        if isinstance(most, int) and most > 1:
            yield f"{word} lowered", lambda lie, word=word: lie["plan"]["unit"].update({word: 1})
    if "unit" in plan:
        yield "no persons, but records", _without_persons
    if plan["neighbours"] == "change one record" and plan["sizes"] == "maximum":
        yield "records come and go", lambda lie: lie["plan"].update(neighbours="add or remove one record")
    for k, own in enumerate(plan["statistics"]):
        if own["kind"] == "quantile":
            others: list[Any] = ["1/3", ["1/3", "1/2"], ["0", "1/4", "9/10"]]
            for at in others:
                changed: Any = lambda lie, k=k, at=at: lie["plan"]["statistics"][k].update(at=at)  # noqa: E731
                yield f"{own['name']} at {at}", changed
        if own["kind"] in ("min", "max"):
            other = "max" if own["kind"] == "min" else "min"
            yield (
                f"{own['name']} is a {other}",
                lambda lie, k=k, word=other: lie["plan"]["statistics"][k].update(kind=word),
            )
        if own["kind"] in ("count", "sum", "histogram") and len(plan["statistics"]) > 1:
            yield f"{own['name']} spends some of the others' epsilon", _spends_more(k)
        if own["kind"] == "sum":
            yield f"{own['name']} in half steps", _in_half_steps(own)
    if len(plan["statistics"]) > 1:
        yield "two statistics exchange their names", _exchange_names


def _without_persons(lie: Record) -> None:
    del lie["plan"]["unit"]
    lie["plan"]["neighbours"] = "add or remove one record"


def _spends_more(k: int) -> Callable[[Record], None]:
    """A statistic with half of its neighbour's part on top of its own: the sum is right."""

    def change(lie: Record) -> None:
        parts = [Fraction(line["spent"]) for line in lie["account"]]
        other = (k + 1) % len(parts)
        parts[k], parts[other] = parts[k] + parts[other] / 2, parts[other] / 2
        for own, part in zip(lie["plan"]["statistics"], parts, strict=True):
            own.pop("budget_share", None)
            own["epsilon"] = str(part)

    return change


def _in_half_steps(own: Record) -> Callable[[Record], None]:
    """The column of a sum on a grid twice as fine, and the draws at the same values."""

    def change(lie: Record) -> None:
        column = lie["plan"]["columns"][own["column"]]
        column["step"] = str(Fraction(column["step"]) / 2)
        for one in lie["plan"]["statistics"]:
            if one.get("column") == own["column"]:
                for name in [name for name in lie["draws"] if name.startswith(one["name"])]:
                    lie["draws"][name] = " ".join(str(2 * int(output)) for output in lie["draws"][name].split(" "))

    return change


def _exchange_names(lie: Record) -> None:
    """The first two statistics under each other's names, where only the plan, the account and the lines say so."""
    names = [own["name"] for own in lie["plan"]["statistics"][:2]]
    other = dict(zip(names, names[::-1], strict=True))
    for own in lie["plan"]["statistics"]:
        own["name"] = other.get(own["name"], own["name"])


def _refit(lie: Record) -> None:
    """Statement, account and lines as the rules require them of the plan."""
    plan = read_plan(lie["plan"], lie["groups"])
    parts, required = planned_parts(plan), []
    for line, statistic, part in zip(lie["account"], plan.statistics, parts, strict=True):
        drawn_at = part / numbers_moved(statistic, plan)
        line |= {"statistic": statistic.name, "spent": str(part), "draw_epsilon": str(drawn_at)}
        alone = plan.person is None or statistic.rule.moves_several
        records = 1 if alone or plan.person is None else plan.person.records
        required += required_lines(StatedCost(statistic, part, {"": drawn_at}, records), plan, None)
    lie["epsilon"]["spent"] = str(sum(parts, Fraction(0)))
    lie["statement"] = format_statement(plan, sum(parts, Fraction(0)))
    for made, line in zip(lie["mechanisms"], required, strict=False):
        made |= {"statistic": line.statistic, "size": line.size, "groups": line.groups, "epsilon": str(line.epsilon)}
        made["query"] = line.query.content


def balanced_cells(original: Original) -> Iterator[Forgery]:
    """Of what adds up, one more in a group and one less in its sister: every sum holds all the same."""
    if "reports" not in original.record or "hierarchy" not in original.record["plan"]:
        return
    head, rows = original.rows
    leaves = original.record["plan"]["groups"]
    top = next(level for level in original.record["plan"]["hierarchy"]["levels"] if level in head)
    for own in original.record["reports"]["statistics"]:
        for name in own["layers"][0]["columns"] if not own["shape"] else ():
            column, parent = head.index(name), head.index(top)
            pairs = [
                (a, b)
                for a in range(len(rows) - leaves, len(rows))
                for b in range(len(rows) - leaves, len(rows))
                if a != b and rows[a][parent] == rows[b][parent] and float(rows[b][column]) >= 1
            ]
            if pairs:
                (a, b), lie = pairs[0], [list(row) for row in rows]
                lie[a][column] = _more(lie[a][column], 1)
                lie[b][column] = _more(lie[b][column], -1)
                yield original.rewritten(f"{name}: one moved within its {top}", head, lie, estimate=True)


def _more(cell: Any, more: int) -> Any:
    if not isinstance(cell, str):
        return cell + more
    return str(float(cell) + more) if "." in cell else str(int(cell) + more)
