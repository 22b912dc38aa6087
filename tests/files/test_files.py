"""The passport: what is read back is what was written, or it is refused with the reason."""

import hashlib
import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import inbounds as ib
from envelopes import seal
from inbounds.files import MECHANISM, Document, format_json
from inbounds.mechanism import Mechanism, Optimality, Origin, load
from inbounds.mechanism import passport as passports
from inbounds.mechanism.laws import Noise
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.query import with_neighbours
from inbounds.trusted.bounds import TOTAL
from raising import rejects


def tables():
    query = ib.mean(3, 0, 2)
    law = make_geometric_noise(query, Fraction(1))
    plain = Mechanism(query, Fraction(1), law, Origin("by hand", {"note": "noise"}, "nowhere"))
    coarse = ib.mean(3, 0, 2, outputs=2)
    remapped = Noise(law.core, law.floor, law.end, law.size, np.array([0, 0, 0, 0, 1, 1, 1]))
    return plain, Mechanism(coarse, Fraction(1), remapped, Origin("by hand"))


def mechanisms():
    """One mechanism of every kind of query, with every law."""
    geometric, response = ib.catalog.truncated_geometric, ib.catalog.randomized_response
    yield geometric(ib.count(5), "1/3")
    yield geometric(ib.total(3, -2, 1), 1)
    yield geometric(ib.mean(4, 1, 3), 0.1)
    yield geometric(ib.extreme(1, 5), 2)
    yield geometric(ib.interval(-1, 2, "0.7", 6), 1)
    yield geometric(ib.interval(0, 6, 2, 6, holes=[(1, 3)]), 1)
    yield geometric(ib.ordinal(0, 4, unit="3/2"), 1)
    yield geometric(ib.count(5, outputs=ib.cells(-3, 8, 4)), 1)
    yield geometric(ib.count(5, outputs=[(-1, 2, 0), (2, "11/2", 4), (7, 9)]), 1)
    yield geometric(with_neighbours(ib.count(4), ib.AllPairs()), 1)
    yield response(ib.category(["a", "ü", 'with "quotes" and \\', "新"]), 1)
    yield ib.catalog.prerounded_geometric(ib.count(9), 1, [0, 3, 6, 10])
    proved = Optimality("average absolute", 0.5, 0.5 - 1e-13)
    uniform = ib.catalog.uniform(ib.count(2), 1)
    yield Mechanism(uniform.query, uniform.epsilon, uniform.law, uniform.origin, proved)
    yield from tables()


@pytest.fixture
def saved(tmp_path):
    def write(text: str | bytes) -> Path:
        path = tmp_path / "mechanism.json"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def signed(content):
    """The passport with the digest that an attacker would write."""
    return Document.wrap(MECHANISM, content)


def parse(envelope):
    """The mechanism of an envelope as a stranger sends it."""
    return load.load(load.PASSPORT.parse(envelope))


# --- round trips ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", list(mechanisms()), ids=lambda m: f"{m.origin.name} {m.query.kind}")
def test_what_is_saved_is_what_is_loaded(made, tmp_path):
    path = tmp_path / "m.json"
    made.save(path)
    back = ib.load(path)
    assert back == made
    assert hash(back) == hash(made)
    assert back.epsilon == made.epsilon
    assert back.optimality == made.optimality
    assert back.weights.tolist() == made.weights.tolist()
    again = tmp_path / "again.json"
    back.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_a_large_count_survives_the_round_trip(tmp_path):
    made = ib.catalog.truncated_geometric(ib.count(10**5), "1/2")
    made.save(tmp_path / "m.json")
    assert ib.load(tmp_path / "m.json") == made


def test_saving_replaces_a_file_whole_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "m.json"
    ib.catalog.uniform(ib.count(1), 1).save(path)
    made = ib.catalog.uniform(ib.count(2), 1)
    made.save(str(path))
    assert ib.load(str(path)) == made
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_at_every_moment_of_saving_a_file_is_the_old_one_or_the_new_one(tmp_path, every_moment):
    """Passports, records of several answers, multi-level releases and collections: never gone, never in parts."""
    old, new = (ib.catalog.truncated_geometric(ib.count(n), 1) for n in (3, 5))
    chains = [ib.make_chain(ib.count(n), [1, "1/2"]) for n in (3, 5)]
    records = [ib.accounting.CompositionRecord.from_composition(ib.compose(m, 2), "1e-6") for m in (old, new)]
    collections = [ib.Collector(old).add(reports) for reports in ([0, 3], [1, 2, 2])]
    for k, (first, then) in enumerate(((old, new), chains, records, collections)):
        path = tmp_path / f"{k}.json"
        first.save(path)
        before = path.read_bytes()
        then.save(tmp_path / "then.json")
        after = (tmp_path / "then.json").read_bytes()
        (tmp_path / "then.json").unlink()

        def look(folder, path=path, allowed=(before, after)):
            assert path.exists(), "the file is gone"
            assert path.read_bytes() in allowed

        with every_moment(tmp_path, {path.name}, look):
            then.save(path)
        assert path.read_bytes() == after


def test_a_passport_says_what_the_design_promises():
    envelope = passports.to_passport(ib.catalog.truncated_geometric(ib.count(4), "1/2")).to_json()
    assert (envelope["format"], envelope["version"]) == ("inbounds/mechanism", 1)
    assert set(envelope) == {"format", "version", "content", "sha256"}
    content = envelope["content"]
    assert content["epsilon"] == "1/2"
    assert set(content) == {"query", "epsilon", "law", "origin", "claims", "optimality"}
    assert set(content["claims"]["losses"]) == {"absolute", "squared", "zero-one"}
    assert content["claims"]["properties"]["symmetric"] == "0"
    text = json.dumps({k: v for k, v in envelope.items() if k != "sha256"}, sort_keys=True, separators=(",", ":"))
    assert envelope["sha256"] == hashlib.sha256(text.encode("ascii")).hexdigest()


def test_weights_are_written_as_text_so_that_no_reader_rounds_them():
    content = json.loads(json.dumps(passports.to_passport(ib.catalog.uniform(ib.count(2), 1)).content), parse_int=float)
    rows = [[int(word) for word in row.split(" ")] for row in content["law"]["matrix"]]
    assert [sum(column) for column in zip(*rows, strict=True)] == [TOTAL] * 3


# --- accidents and vandals --------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("edits", [500, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("which", ["matrix", "noise"])
def test_a_changed_character_anywhere_is_refused_or_harmless(judge, which, edits, saved):
    """Random edits: refused, or the very same mechanism with a matching digest."""
    rng = random.Random(which)
    made = ib.catalog.truncated_geometric(ib.count(4), "1/2") if which == "matrix" else tables()[0]
    original = json.dumps(passports.to_passport(made).to_json(), indent=1) + "\n"
    places = [k for k, character in enumerate(original) if character.isdigit()]
    accepted = 0
    for _ in range(edits):
        k = rng.choice(places) if rng.random() < 0.5 else rng.randrange(len(original))
        kind = rng.choice(["swap", "swap", "insert", "delete"])
        character = rng.choice("0123456789") if rng.random() < 0.6 else rng.choice(' \n"{}[]:,.-+eE/xé\\')
        tail = original[k:] if kind == "insert" else original[k + 1 :]
        text = original[:k] + ("" if kind == "delete" else character) + tail
        try:
            back = ib.load(saved(text))
        except ib.PassportError as reason:
            assert str(reason)  # noqa: PT017 - thousands of cases in one test
            continue
        accepted += 1
        assert back == made
        assert seal(json.loads(text)) == json.loads(text)
    assert judge.certifies(made)
    assert 0 < accepted < edits * 2 / 5  # blanks between fields may change; the test would be idle if nothing else did


@pytest.mark.long
@pytest.mark.parametrize("which", ["matrix", "noise"])
def test_a_changed_digit_under_a_fresh_digest_is_refused_or_still_exactly_private(judge, which):
    """The attacker signs the edit: only the checker and the recomputed claims stand in the way."""
    rng = random.Random(which)
    made = ib.catalog.truncated_geometric(ib.count(4), "1/2") if which == "matrix" else tables()[0]
    original = json.dumps(passports.to_passport(made).content)
    places = [k for k, character in enumerate(original) if character.isdigit()]
    for _ in range(600):
        k = rng.choice(places)
        text = original[:k] + rng.choice("0123456789") + original[k + 1 :]
        try:
            content = json.loads(text)
        except ValueError:
            continue
        try:
            back = load.load(signed(content))
        except ib.PassportError as reason:
            assert str(reason)  # noqa: PT017 - thousands of cases in one test
            continue
        assert judge.certifies(back)
        true, claimed = passports.to_passport(back).content["claims"], content["claims"]
        assert true["properties"] == claimed["properties"]
        for name, loss in true["losses"].items():
            assert float(claimed["losses"][name]) == pytest.approx(float(loss), rel=2e-9, abs=2e-9)


@pytest.mark.long
@pytest.mark.parametrize("made", [ib.catalog.truncated_geometric(ib.count(3), 1), tables()[0]])
def test_any_field_replaced_by_anything_is_refused_or_still_exactly_private(judge, made):
    """Every value of the passport in turn, replaced by odd values and signed."""
    original = passports.to_passport(made).to_json()
    odd = [None, True, 0, 1, -1, 10**30, 0.5, "", "0", "1", "-1", "1/0", "9" * 19, "0 0", "x", [], {}, [[]]]
    survived = 0

    def paths(value, path=()):
        yield path
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield from paths(value[key], (*path, key))

    for path in paths(original):
        for replacement in (*odd, "delete"):
            content = json.loads(json.dumps(original))
            spot = content
            for key in path[:-1]:
                spot = spot[key]
            if not path:
                content = replacement
            elif replacement == "delete":
                del spot[path[-1]]
            else:
                spot[path[-1]] = replacement
            try:
                back = parse(seal(content) if isinstance(content, dict) else content)
            except ib.PassportError as reason:
                assert "\n" not in str(reason)  # noqa: PT017 - hundreds of cases in one test
                continue
            survived += 1
            assert judge.certifies(back)
    assert survived > 0


def test_weights_that_are_not_private_are_refused_under_any_digest():
    content = passports.to_passport(ib.catalog.truncated_geometric(ib.count(1), 1)).content
    content["law"] = {"matrix": [f"{TOTAL} 0", f"0 {TOTAL}"]}
    with rejects(ib.PassportError, about="output 0"):
        load.load(signed(content))
    with rejects(ib.PassportError, about="digest"):
        parse({**signed(content).to_json(), "sha256": "0" * 64})


def test_a_smaller_epsilon_or_a_wider_neighbourhood_than_the_weights_keep_is_refused():
    content = passports.to_passport(ib.catalog.truncated_geometric(ib.count(3), 1)).content
    with rejects(ib.PassportError, about="weights"):
        load.load(signed({**content, "epsilon": "99/100"}))
    for wider in ({"everyone": True}, {"reach": 2}, {"metric": "2"}):
        query = {**content["query"], "neighbours": wider}
        with rejects(ib.PassportError, about="weights"):
            load.load(signed({**content, "query": query}))


@pytest.mark.parametrize(
    ("field", "lie"),
    [
        ("effective_epsilon", "0.1"),
        ("effective_epsilon", "nan"),
        ("effective_epsilon", "-1"),
        ("losses", {"absolute": "0.001", "squared": "0.001", "zero-one": "0.001"}),
        ("losses", {}),
        ("losses", None),
        ("properties", {}),
        ("properties", {"fair": "0"}),
        ("properties", None),
    ],
)
def test_a_claim_that_does_not_follow_from_the_weights_is_refused(field, lie):
    content = passports.to_passport(ib.catalog.truncated_geometric(ib.count(3), 1)).content
    claims = {**content["claims"], field: lie}
    with rejects(ib.PassportError, about="properties"):
        load.load(signed({**content, "claims": claims}))


@pytest.mark.parametrize("objective", ["average absolute loss", "average absolute loss under a prior", "anything"])
def test_a_bound_above_the_value_it_bounds_is_refused_whatever_the_objective(objective):
    made = ib.catalog.uniform(ib.count(2), 1)
    for excess, allowed in ((-1e-13, True), (0.0, True), (1e-13, False), (1.0, False)):
        best = {"objective": objective, "value": repr(made.loss()), "bound": repr(made.loss() + excess)}
        content = signed({**passports.to_passport(made).content, "optimality": best})
        if allowed:
            assert load.load(content).optimality.bound == made.loss() + excess
        else:
            with rejects(ib.PassportError, about="objective"):
                load.load(content)


@pytest.mark.parametrize(
    ("cells", "wrong"),
    [
        ({"lowers": "-1/2", "uppers": "-1/2"}, "a cell without width"),
        ({"uppers": "5/2"}, "cells that overlap"),
        ({"values": "3"}, "a value outside its cell"),
    ],
)
def test_odd_cells_in_a_passport_are_refused(cells, wrong):
    """Cells that overlap, or do not hold what is reported for them, would be nobody's idea of the outputs."""
    made = ib.catalog.uniform(ib.count(5, outputs=ib.cells("-1/2", "11/2", 3)), 1)
    content = json.loads(json.dumps(passports.to_passport(made).content))
    assert load.load(signed(content)) == made
    for name, start in cells.items():
        content["query"]["outputs"][name]["start"] = start
    with rejects(ib.PassportError, about="cell"):
        load.load(signed(content))


@pytest.mark.parametrize("name", ["absolute", "squared", "zero-one"])
def test_a_loss_that_is_a_little_too_good_is_refused(name):
    content = json.loads(json.dumps(passports.to_passport(ib.catalog.truncated_geometric(ib.count(3), 1)).content))
    losses = content["claims"]["losses"]
    losses[name] = repr(float(losses[name]) - 1e-6)
    with rejects(ib.PassportError, about="properties"):
        load.load(signed(content))


@pytest.mark.parametrize(("value", "bound"), [("nan", "0"), ("1", "inf"), ("-inf", "0"), ("x", "0"), ("1", None)])
def test_an_optimality_that_is_no_number_is_refused(value, bound):
    content = passports.to_passport(ib.catalog.uniform(ib.count(2), 1)).content
    claim = {"objective": "absolute", "value": value, "bound": bound}
    with rejects(ib.PassportError, about="malformed"):
        load.load(signed({**content, "optimality": claim}))


# --- not a passport ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 2, 99, "1", None, "2.0", True])
def test_an_unknown_version_is_refused_as_such(version):
    envelope = passports.to_passport(ib.catalog.uniform(ib.count(2), 1)).to_json()
    with rejects(ib.UnknownVersion, about=f"version {version};"):
        parse(seal({**envelope, "version": version}))


@pytest.mark.parametrize("envelope", [None, [], "text", 5, {}, {"format": "something else"}])
def test_json_of_another_format_is_refused(envelope):
    with rejects(ib.PassportError, about="object"):
        parse(envelope)


def test_a_file_cut_short_anywhere_is_refused(saved):
    text = json.dumps(passports.to_passport(ib.catalog.truncated_geometric(ib.count(2), 1)).to_json(), indent=1)
    for end in range(0, len(text), 7):
        with pytest.raises(ib.PassportError):
            ib.load(saved(text[:end]))


@pytest.mark.parametrize(
    "text",
    ["", "not json", "{", b"\xff\xfe\x00", b"\x00" * 100, "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "\ufeff{}"],
    ids=["empty", "words", "brace", "bytes", "zeros", "deep", "long number", "byte order mark"],
)
def test_what_is_not_json_is_refused(text, saved):
    with rejects(ib.PassportError, about="JSON"):
        ib.load(saved(text))


def test_a_repeated_field_is_refused(saved):
    text = json.dumps(passports.to_passport(ib.catalog.uniform(ib.count(2), 1)).to_json())
    doubled = text.replace('"epsilon"', '"epsilon": "1/2", "epsilon"', 1)
    with rejects(ib.PassportError, about="repeat"):
        ib.load(saved(doubled))


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ib.load(tmp_path / "nothing.json")


def test_a_query_that_makes_no_sense_is_refused_with_the_reason(golden):
    def load_with(part):
        content = passports.to_passport(ib.catalog.truncated_geometric(ib.count(3), 1)).content
        load.load(signed({**content, "query": {**content["query"], **part}}))

    golden.errors(
        "wrong_passports",
        [
            lambda: load_with({"neighbours": {"reach": 1, "everyone": True}}),
            lambda: load_with({"neighbours": {}}),
            lambda: load_with({"neighbours": {"reach": 0}}),
            lambda: load_with({"neighbours": {"metric": "0"}}),
            lambda: load_with({"answers": {"start": "0", "unit": "0", "size": 4}}),
            lambda: load_with({"answers": {"start": "0", "unit": "1", "ticks": "0 2 1 3"}}),
            lambda: load_with({"answers": {"start": "0", "unit": "1", "ticks": "1 2 3 4"}}),
            lambda: load_with({"labels": ["a", "a", "b", "c"]}),
            lambda: load_with({"labels": ["a", "b"]}),
            lambda: load_with({"rounds": 1}),
            lambda: load_with({"kind": "count\x1b[2Aproved"}),
            lambda: load_with({"kind": "interval", "answers": {"start": "0", "unit": "1/2", "ticks": "0 2 4 6"}}),
            lambda: load_with({"labels": ["a", "b", "c", "d"]}),
        ],
    )


def test_cells_that_overlap_or_do_not_match_are_refused():
    made = ib.catalog.truncated_geometric(ib.count(3, outputs=ib.cells(-1, 4, 2)), 1)
    for cells in (
        {"lowers": {"start": "-1", "unit": "1", "size": 2}},
        {"uppers": {"start": "9", "unit": "1", "size": 2}},
        {"values": {"start": "50", "unit": "1", "size": 2}},
        {"lowers": {"start": "-1", "unit": "5/2", "size": 3}},
    ):
        content = json.loads(json.dumps(passports.to_passport(made).content))
        content["query"]["outputs"].update(cells)
        with rejects(ib.PassportError, about="malformed"):
            load.load(signed(content))


def test_json_for_people_is_the_same_values_with_a_line_for_each_row():
    values = {
        "name": "é",
        "keys": [["North", "1"], ["South", "2"]],
        "sizes": [3, 4.5, None],
        "none": [],
        "nothing": {},
        "rows": [{"a": (1, 2)}, 5],
    }
    text = format_json(values)
    assert json.loads(text) == json.loads(json.dumps(values))
    assert text.splitlines()[:8] == [
        "{",
        ' "name": "é",',
        ' "keys": [',
        '  ["North", "1"],',
        '  ["South", "2"]',
        " ],",
        ' "sizes": [3, 4.5, null],',
        ' "none": [],',
    ]
