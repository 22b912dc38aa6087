"""Small hostile files: honest ones with a lie in them, signed again, and texts that are nothing at all."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import inbounds as ib
from envelopes import digest_of
from inbounds.accounting.composition_record import CompositionRecord
from inbounds.files import canonical_json, sha256_hex
from inbounds.local.collector import Collector
from inbounds.mechanism import Mechanism, Optimality, Origin
from inbounds.mechanism import passport as passports
from inbounds.mechanism.laws import CentralRecords, Noise
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.query import with_neighbours
from inbounds.releases.pipeline import release
from inbounds.releases.write import record_path


class Hostile(NamedTuple):
    """A file: which reader it is for, its name, its bytes, and what lies beside it."""

    kind: str
    name: str
    content: bytes
    beside: dict[str, bytes]


HUGE = (2**17, 10**6, 2**24, 2**33, 2**34, 2**40, 2**53 - 1, 2**53, 2**62, 2**63 - 1, 2**64, 10**18, 10**19, 10**30)
ODD_NUMBERS: tuple[Any, ...] = (*HUGE, 10**400, -1, 0, 1, 2, 1e308, 1e999, -0.0, 0.1, True, False, None)
ODD_TEXTS = (
    "", " ", "0", "1", "-1", "1/0", "0/1", "1e999999999", "1e-999999999", "1e308", "1e999", "inf", "nan", "-inf",
    "0x10", "1_000", " 1", "1 ", "+1", "١٢٣", "³", "１", "½", "\ud800", "\u202e1", "\x1b[2J", "\x00", "é" * 40,
    "a\nb", "9" * 18, "9" * 19, "9" * 400, "9" * 1500, "1/" + "9" * 1400, "9" * 5000, "9" * 100_000,
    "1/" + "7" * 100_000, "0 1000000000000", "0 1", "0 1 9223372036854775807", "0 1 99999999999999999999", "0 2 1",
    "1 " * 300, "0 " * 300, str(2**62), str(2**61), "average absolute loss", "worst squared loss",
    "worst power 999/1 loss", "average off by more than 9 loss", "average power 1/999 loss", "mean absolute loss",
    "count", "mean", "extreme", "ordinal", "interval", "category",
)  # fmt: skip
DEPTHS = (10, 31, 40, 300, 900, 992, 3000)


def odd_value(rng: random.Random) -> Any:
    kind = rng.randrange(6)
    if kind < 2:
        return rng.choice(ODD_NUMBERS)
    if kind < 4:
        return rng.choice(ODD_TEXTS)
    if kind == 4:
        return rng.choice(([], {}, [[]], [1], ["1"], {"size": 3}, {"everyone": True}, {"reach": rng.choice(HUGE)}))
    return {"start": rng.choice(("0", "1/3", "9" * 300)), "unit": rng.choice(("1", "1/7")), "size": rng.choice(HUGE)}


# --- passports and what holds them ------------------------------------------------------------------------


def honest_mechanisms() -> list[Mechanism]:
    geometric = ib.catalog.truncated_geometric
    query = ib.mean(3, 0, 2)
    law = make_geometric_noise(query, ib.epsilon_from_alpha("1/2"))
    coarse = Noise(law.core, law.floor, law.end, law.size, np.array([0, 0, 0, 0, 1, 1, 1]))
    long, flat = ib.count(10**6), with_neighbours(ib.count(2**20), ib.Reach(2**10))
    even = Noise(np.array([2**62 - 2 * (2**20 - 1) - 2**41]), 1, 2**40, 2**20)
    designed = geometric(ib.count(2), 1)
    proved = Optimality("average absolute loss", designed.loss(), 0.1)
    return [
        geometric(ib.count(1), 1),
        geometric(ib.count(3), "1/2"),
        geometric(ib.interval(0, 6, 2, 6, holes=[(1, 3)]), 1),
        geometric(ib.ordinal(0, 4, unit="3/2"), 1),
        geometric(ib.count(5, outputs=ib.cells(-3, 8, 4)), 1),
        ib.catalog.randomized_response(ib.category(["a", "b"]), 1),
        Mechanism(query, ib.epsilon_from_alpha("1/2"), law, Origin("by hand")),
        Mechanism(ib.mean(3, 0, 2, outputs=2), ib.epsilon_from_alpha("1/2"), coarse, Origin("by hand")),
        geometric(long, 5),
        Mechanism(flat, 64, even, Origin("by hand")),
        Mechanism(designed.query, designed.epsilon, designed.law, designed.origin, proved),
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def with_lies(content: Any, rng: random.Random, kind: str) -> Any:
    """One to three fields replaced, repeated, or left out; sizes that belong together changed together."""
    lie = json.loads(json.dumps(content))
    if kind == "passport" and rng.random() < 0.3:
        resize(lie, rng)
    for _ in range(rng.randint(0 if rng.random() < 0.3 else 1, 3)):
        path = rng.choice([place for place in places(lie) if place])
        spot = lie
        for key in path[:-1]:
            spot = spot[key]
        if rng.random() < 0.1 and isinstance(spot, dict):
            del spot[path[-1]]
        else:
            spot[path[-1]] = odd_value(rng)
    return lie


def resize(passport: Any, rng: random.Random) -> None:
    """Answers, reach and noise table in agreement about a large size."""
    size = rng.choice(HUGE) + rng.choice((-1, 0, 1))
    query, law = passport["content"]["query"], passport["content"]["law"]
    query["answers"] = {"start": "0", "unit": rng.choice(("1", "1/3", "1/" + "9" * 300)), "size": size}
    query["neighbours"] = rng.choice(
        ({"reach": max(1, size // 2)}, {"reach": 1}, {"everyone": True}, {"metric": "1/9"})
    )
    if rng.random() < 0.3:
        edge = {"start": "-1/2", "unit": "1", "size": rng.choice((size, 8192, 8193, 2**16, 2))}
        query["outputs"] = {"lowers": edge, "uppers": {**edge, "start": "1/2"}, "values": {**edge, "start": "0"}}
    if rng.random() < 0.5:
        query["rounds"] = True
    if "noise" in law or rng.random() < 0.5:
        floor, end, steps = 1, rng.choice((1, 2**40)), size - 1
        core = 2**62 - 2 * (steps - 1) * floor - 2 * end
        law.clear()
        law["noise"] = {"core": str(core), "floor": str(floor), "end": str(end), "size": str(steps), "remap": None}
        if rng.random() < 0.2:
            law["noise"]["remap"] = " ".join("01"[k % 2] for k in range(400))


def signed(content: Any, kind: str) -> Any:
    if not isinstance(content, dict):
        return content
    held = content.get("content") if isinstance(content.get("content"), dict) else {}
    if "first" in held:
        held["first"] = signed(held["first"], "passport")
    for member in held.get("members", ()) if isinstance(held.get("members"), list) else ():
        if isinstance(member, dict):
            signed(member.get("passport"), "passport")
            member["sha256"] = member["passport"].get("sha256") if isinstance(member.get("passport"), dict) else "0"
    if kind == "release":
        held["plan_sha256"] = sha256_hex(canonical_json(held.get("plan")))
    content["sha256"] = digest_of(content)
    return content


def json_bases(folder: Path) -> list[tuple[str, Any, dict[str, bytes]]]:
    made = honest_mechanisms()
    bases: list[tuple[str, Any, dict[str, bytes]]] = [
        ("passport", passports.to_passport(m).to_json(), {}) for m in made
    ]
    bases += [("quantile", passports.to_passport(m).to_json(), {}) for m in honest_quantiles()]
    bases.append(
        ("record", CompositionRecord.from_composition(ib.compose(made[0], 3), "1/1000").to_document().to_json(), {})
    )
    bases.append(("chain", ib.make_chain(ib.count(2), [1, "1/2"]).to_document().to_json(), {}))
    collector = Collector(ib.catalog.truncated_geometric(ib.count(3), 1))
    collector.add([0, 1, 3])
    collector.save(folder / "collection.json")
    bases.append(("collection", json.loads((folder / "collection.json").read_text()), {}))
    table = folder / "out.csv"
    plan = {"groups": {"size": 3}, "statistics": [{"count": "true", "budget_share": "1/2"}], "privacy": {"epsilon": 1}}
    release(plan, pa.table({"a": [1, 2, 3]})).write(table)
    bases.append(("release", json.loads(record_path(table).read_text()), {"out.csv": table.read_bytes()}))
    return bases


def honest_quantiles() -> list[Mechanism]:
    median = ib.median(0, 2, size=5)
    oblivious = CentralRecords.from_answers(median, ib.optimal(median.as_range_query, 1).weights)
    return [
        ib.design_permute_flip(ib.median(0, 1, size=5), 1),
        ib.design_permute_flip(ib.quantile("9/10", 0, 20, maximum=30, records=2, step="1/2"), "1/2"),
        ib.design_sided(ib.quantile(1, 0, 3, size=4), 1),
        ib.design_central(median, 1, length=3),
        ib.design_joint(ib.quantiles([0, "1/3", 1], 0, 3, size=4, records=2), 1),
        Mechanism(median, 1, oblivious, Origin("by hand")),
    ]


def heavy_quantiles() -> Iterator[Hostile]:
    """Passports of quantiles whose check would take long if its cost grew faster than the file."""
    honest = passports.to_passport(honest_quantiles()[0]).to_json()
    first, half = 2**62, 2**61
    tables: list[tuple[Any, ...]] = [
        ([first] + [3 * half // 2] * 1000, 1, [0] * 1000, 2),
        ([first] + [1] * 4000, 1, [0] * 4000, 2),
        ([first] + [1] * 4000, 4000, range(4000), 2),
        ([first] + [1] * 4000, 4000, range(32), 256),
        ([first, first - 1], 1, [1, 1], 4096),
        ([first, 1], 1, [0] * 20_000, 8192),
    ]
    for table, stride, deeper, values in tables:
        own = json.loads(json.dumps(honest))
        own["content"]["epsilon"], own["content"]["query"]["values"]["size"] = "64", values
        numbers = {"table": table, "stride": [stride], "deeper": deeper}
        own["content"]["law"] = {"scores": {key: " ".join(map(str, part)) for key, part in numbers.items()}}
        yield Hostile("quantile", "file.json", json.dumps(signed(own, "quantile")).encode(), {})
    for length, values, columns in ((1200, 2, 1201), (1, 70, 70), (2**40, 2, 5), (2**39, 8192, 5)):
        own = json.loads(json.dumps(honest))
        query = own["content"]["query"]
        query["values"]["size"], query["size"] = values, str(length)
        rest = first - (values - 1) * (first // values)
        rows = [" ".join([str(rest if k == 0 else first // values)] * columns) for k in range(min(values, 70))]
        own["content"]["law"] = {"central": {"first": "1", "length": str(length), "matrix": rows}}
        yield Hostile("quantile", "file.json", json.dumps(signed(own, "quantile")).encode(), {})


def json_file(base: tuple[str, Any, dict[str, bytes]], rng: random.Random) -> Hostile:
    kind, honest, beside = base
    try:
        content = signed(with_lies(honest, rng, kind), kind)
        text = json.dumps(content)
    except (TypeError, ValueError, AttributeError, RecursionError):  # a lie that cannot even be signed
        text = json.dumps(with_lies(honest, rng, kind))
    if rng.random() < 0.15:
        text = torn(text, rng)
    name = "out.csv.release.json" if kind == "release" else "file.json"
    return Hostile(kind, name, text.encode("utf-8", "surrogatepass"), beside)


def torn(text: str, rng: random.Random) -> str:
    depth, at = rng.choice(DEPTHS), rng.randrange(len(text))
    nests = ["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth, '{"a":' * depth]
    raw = ["9" * 5000, "9" * 100_000, "1e999999999", "-1e-999999999", "NaN", "Infinity", '"\\ud800"', "\x00", "\ufeff"]
    if rng.random() < 0.3:
        return text[:at]
    colon = text.rfind(": ", 0, at) + 2
    return text[: colon or at] + rng.choice([*nests, *raw]) + text[at:]


# --- plans and registers ----------------------------------------------------------------------------------

PLANS = (
    [
        ("", "[source]"), ("path", '"data.csv"'), ("", "[groups]"), ("by", '["school"]'), ("keys", '["a", "b"]'),
        ("size", "25"), ("", "[columns.score]"), ("low", "0"), ("high", "10"), ("step", "0.5"),
        ("", "[columns.answer]"), ("labels", '["yes", "no"]'), ("other", '"no"'), ("", "[privacy]"),
        ("epsilon", "1"), ("", "[[statistics]]"), ("mean", '"score"'), ("budget_share", "0.5"), ("", "[[statistics]]"),
        ("count", "\"score >= 5 and answer = 'yes'\""), ("loss", '"off-by-more-than-2"'),
        ("prior", "{ normal = [5, 2] }"),
    ],
    [
        ("", "[groups]"), ("by", '["school", "class"]'), ("keys", '"keys.csv"'), ("max_size", '"pupils"'),
        ("", "[columns.n]"), ("low", "0"), ("high", "100"), ("", "[privacy]"), ("epsilon", "1"),
        ("", "[[statistics]]"), ("sum", '"n"'), ("", "[source]"), ("path", '"data.csv"'), ("", "[output]"),
        ("credible_level", "0.9"),
    ],
    [
        ("", "[source]"), ("path", '"data.csv"'), ("", "[groups]"), ("by", '["a", "b"]'), ("size", "10"),
        ("keys", '{ a = ["x", "y"], b = [1, 2, 3] }'), ("", "[privacy]"), ("epsilon", "1"), ("", "[[statistics]]"),
        ("count", '"true"'), ("properties", '["fair"]'),
    ],
)  # fmt: skip
WORDS = (
    "0", "-1", "1e999999999", "1e-999999999", "inf", "nan", "9" * 4000, "9" * 100_000, "0x" + "f" * 30_000,
    "0." + "3" * 5000, "true", "2024-01-01", "07:32:00", '""', '"\\u0000"', '"\\u202e"', '"1e999999999"', '"1/0"',
    '"' + "9" * 100_000 + '"', '"power-1e400"', '"power-1e-400"', '"off-by-more-than-1e400"', '"column_ratio(0)"',
    "[]", "{}", "[[]]", "[{}]", "[1, [2]]", "{ a = 1 }", "9007199254740993", "9223372036854775808", "1e400", "1e17",
    '"keys.csv"', '"keys.txt"', '"../keys.csv"', '"' + "(" * 150 + "score = 1" + ")" * 150 + '"',
    '"' + "not " * 900 + "score = 1" + '"', "'''x'''", '"""x"""', '{ binomial = 1e400 }',
    "{ beta = [1e999999999, 2] }", '["fair", "fair", 3]', '"column_ratio(1e9)"',
    '"' + " or ".join(["score = 1"] * 80) + '"', "[" + ", ".join(str(k) for k in range(200)) + "]",
)  # fmt: skip


def plan_file(rng: random.Random) -> Hostile:
    lines = list(rng.choice(PLANS))
    for _ in range(rng.randint(0, 3)):
        k = rng.randrange(len(lines))
        key = lines[k][0]
        what = rng.randrange(8)
        if what < 4 and key:
            lines[k] = (key, rng.choice(WORDS) if what < 3 else deep(rng))
        elif what == 4:
            lines.insert(
                k, (rng.choice(("size", "keys", "by", "zzz", "é", "a." * rng.choice(DEPTHS) + "b")), rng.choice(WORDS))
            )
        elif what == 5:
            lines.insert(
                k, ("", rng.choice(("[" + "a." * 400 + "b]", "[[statistics]]", "[groups]", "[[[]]]", "[columns]")))
            )
        elif what == 6:
            columns = [chr(97 + c) for c in range(rng.choice((2, 5, 20)))]
            listed = ", ".join(f"{c} = {[*range(rng.choice((2, 10, 40)))]}" for c in columns)
            lines = [pair for pair in lines if pair[0] not in ("by", "keys")]
            lines.insert(1, ("keys", "{ " + listed + " }"))
            lines.insert(1, ("by", json.dumps(columns)))
        else:
            del lines[k]
    text = "\n".join(f"{key} = {value}" if key else value for key, value in lines) + "\n"
    return Hostile("plan", "plan.toml", text.encode("utf-8", "surrogatepass"), registers(rng))


def deep(rng: random.Random) -> str:
    depth = rng.choice(DEPTHS)
    return rng.choice(("[" * depth + "]" * depth, "{ a = " * depth + "1" + " }" * depth, "[" * depth, '["""[' * depth))


def registers(rng: random.Random) -> dict[str, bytes]:
    rows = ["school,class,pupils", "North,1,25", "South,2,30", "West,3,1"]
    fields = (
        "",
        "9" * 400,
        "9" * 100_000,
        "1e9",
        "1_0",
        "-1",
        "0",
        "\x00",
        '"',
        '"a\n"',
        "a" * 140_000,
        "é",
        "\u202e",
        "=1+1",
        ",",
    )
    for _ in range(rng.randint(0, 3)):
        k = rng.randrange(len(rows))
        row = rows[k].split(",")
        row[rng.randrange(len(row))] = rng.choice(fields)
        rows[k] = ",".join(row)
    content = "\n".join(rows).encode("utf-8")
    if rng.random() < 0.1:
        content = rng.choice((b"\xff\xfe", b"", b"\x00" * 100, b"PAR1" + b"\x00" * 50 + b"PAR1")) + content
    return {"keys.csv": content, "keys.txt": content}


def hostile_files(number: int, seed: int, folder: Path) -> Iterator[Hostile]:
    """`number` files, the same for the same seed."""
    rng, bases = random.Random(seed), json_bases(folder)
    for _ in range(number):
        yield plan_file(rng) if rng.random() < 0.35 else json_file(rng.choice(bases), rng)
