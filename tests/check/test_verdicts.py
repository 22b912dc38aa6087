"""Verdicts of the browser's checker and of Python's: equal on honest, nudged and hostile files of every kind."""

import copy
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import flint
import pytest

import inbounds as ib
from check.chromium import BrowserChecker, in_bytes
from checker.plans import cases as cases_of_releases
from checker.released import publish
from envelopes import seal, wrap
from hostile.files import heavy_quantiles, odd_value, places
from inbounds.errors import InboundsError, PassportError
from inbounds.files import LEDGER, canonical_json, sha256_hex
from inbounds.ledger import verify
from inbounds.ledger.entries import START
from inbounds.ledger.verify import export_entries as export_of
from inbounds.ledger.verify import load_export
from inbounds.mechanism import load
from inbounds.mechanism.passport import to_passport
from inbounds.releases.verify import load_record as read_record
from inbounds.trusted.bounds import exp_lower_bound
from mechanism.test_optimality_claims import DESIGNS, forged
from proof import cases

pytestmark = pytest.mark.browser


def accepts(read: Callable[[Path], object], file: Path) -> bool:
    try:
        read(file)
    except (InboundsError, UnicodeDecodeError):
        return False
    return True


def promised(file: Path) -> object:
    return load.certify_law_only(file)


def compared(
    checker: BrowserChecker,
    folder: Path,
    contents: Iterable[Any],
    read: Callable[[Path], object],
    *,
    whole: bool = True,
) -> tuple[list[str], int]:
    """What the two do not agree on, and how many files Python accepts. whole: not only query, epsilon and law."""
    made = [in_bytes(content) for content in contents]
    ours, file = [], folder / "file.json"
    for content in made:
        file.write_bytes(content)
        ours.append(accepts(read, file))
    theirs = checker.judged(made)
    apart = []
    for k, (mine, (verdict, private, reason)) in enumerate(zip(ours, theirs, strict=True)):
        if mine != (verdict in ("proved", "partly") if whole else private):
            apart.append(f"{k}: {mine} against {verdict} {reason}")
            (folder / f"apart-{k}.json").write_bytes(made[k])
    return apart, sum(ours)


# --- passports --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (cases.matrix_passports, 60),
        (cases.noise_passports, 60),
        (cases.response_passports, 60),
        (cases.label_passports, 60),
        pytest.param(cases.matrix_passports, 2500, marks=pytest.mark.slow),
        pytest.param(cases.noise_passports, 1500, marks=pytest.mark.slow),
        pytest.param(cases.response_passports, 1500, marks=pytest.mark.slow),
        pytest.param(cases.label_passports, 1500, marks=pytest.mark.slow),
    ],
)
def test_passports_at_the_boundary_and_one_unit_beyond_get_equal_verdicts(make, number, checker, tmp_path):
    apart, private = compared(checker, tmp_path, make(number, seed=number), promised, whole=False)
    assert not apart
    assert number / 6 < private < number * 5 / 6


@pytest.mark.parametrize("number", [60, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make", [cases.quantile_passports, cases.sided_passports, cases.answer_passports, cases.central_passports]
)
def test_passports_of_quantiles_get_equal_verdicts(make, number, checker, tmp_path):
    apart, private = compared(checker, tmp_path, make(number, seed=number), load.load)
    assert not apart
    assert 0 < private < number


@pytest.mark.parametrize("number", [80, pytest.param(2500, marks=pytest.mark.slow)])
def test_hostile_passports_get_equal_verdicts(number, checker, tmp_path):
    texts = list(cases.hostile_texts(number, seed=number))
    apart, private = compared(checker, tmp_path, texts, promised, whole=False)
    assert not apart
    assert 0 < private < number / 2


def test_passports_whose_check_could_take_long_get_equal_verdicts_at_once(checker, tmp_path):
    apart, private = compared(checker, tmp_path, [file.content for file in heavy_quantiles()], load.load)
    assert not apart
    assert private > 3


def test_a_line_of_megabytes_gets_an_equal_verdict(checker, tmp_path):
    content = json.loads(next(heavy_quantiles()).content)
    content["content"]["law"]["scores"] |= {"table": " ".join([str(2**62)] + [str(2**61)] * 400_000), "deeper": "0"}
    content["sha256"] = sha256_hex(canonical_json({key: part for key, part in content.items() if key != "sha256"}))
    apart, private = compared(checker, tmp_path, [json.dumps(content).encode()], load.load)
    assert not apart
    assert private == 1


def claimed_otherwise(number: int, seed: int) -> Iterator[Any]:
    """Honest passports, and the same with one claim, text or number changed and signed again."""
    rng = random.Random(seed)
    contents = [*cases.honest_passports(), *cases.honest_quantiles()]
    for _ in range(number):
        lie = copy.deepcopy(rng.choice(contents))
        parts = [part for part in ("claims", "optimality", "origin") if lie["content"].get(part) is not None]
        paths = [path for path in places(lie) if len(path) > 1 and path[1] in parts]
        path = rng.choice(paths)
        spot = lie
        for key in path[:-1]:
            spot = spot[key]
        spot[path[-1]] = _near(spot[path[-1]], rng)
        if "Infinity" not in json.dumps(lie):  # which has no digest
            lie["sha256"] = cases.digest_of(lie)
        yield lie


def _near(value: Any, rng: random.Random) -> Any:
    """The same number in other words, one that is close, or something else altogether."""
    if isinstance(value, str) and rng.random() < 0.6:
        try:
            number = float(value)
        except ValueError:
            return value + rng.choice(("", " ", "\n", "é", "\u200b"))
        moved = number + rng.choice((0, 0, 1e-11, -1e-8, 1e-6)) * max(1.0, abs(number))
        return rng.choice((f"{moved:.12g}", f"{moved!r}", f" {moved!r}"))
    return odd_value(rng)


def loaded(file: Path) -> object:
    return load.PASSPORT.read(file)


@pytest.mark.parametrize("number", [60, pytest.param(1500, marks=pytest.mark.slow)])
def test_claims_that_do_not_follow_are_refused_by_both(number, checker, tmp_path):
    apart, valid = compared(checker, tmp_path, claimed_otherwise(number, seed=number), loaded)
    assert not apart
    assert number / 20 < valid < number


def test_values_of_objectives_with_loss_tables_and_priors_get_equal_verdicts(checker, tmp_path):
    contents = []
    for design in DESIGNS.values():
        honest = to_passport(design()).content
        best = honest["optimality"]
        lies = [{**best, "value": "1.0", "bound": "1.0"}, *(lie for _, lie in forged(copy.deepcopy(honest)))]
        contents += [honest, *({**honest, "optimality": lie} for lie in lies)]
    made = [wrap("inbounds/mechanism", content) for content in contents]
    apart, valid = compared(checker, tmp_path, made, load.load)
    assert not apart
    assert len(DESIGNS) <= valid < len(contents)


def test_passports_of_every_kind_are_proved(checker):
    made = [*cases.honest_passports(), *cases.honest_quantiles()]
    assert {verdict for verdict, _, _ in checker.judged(made)} == {"proved"}


def test_the_page_gives_no_verdict_on_a_law_without_a_rule(checker):
    found = checker.judged(cases.beyond_other_checkers())
    assert len(found) == 3
    assert {(verdict, promise) for verdict, promise, _ in found} == {("unjudged", False)}
    assert all("no verdict" in reason for _, _, reason in found)


@pytest.mark.parametrize("number", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_ratio_allowed_is_the_true_one_and_that_of_python_is_hardly_below(number, checker):
    rng = random.Random(number)
    drawn = [Fraction(rng.randrange(1, most), rng.randrange(1, most)) for most in (50, 10**9, 10**60) * number]
    tried = [str(x) for x in [Fraction(64), Fraction(1, 10**9), *drawn] if x <= 64]
    found = checker.evaluate("all => all.map(x => String(inboundsCheck.ratioAllowed(x)))", tried)
    for x, allowed in zip(tried, map(int, found), strict=True):
        below = exp_lower_bound(Fraction(x))
        assert below <= allowed <= below + (below >> 120)
        assert allowed == below or Fraction(x) > 1
        flint.ctx.prec = 600
        true = (flint.arb(flint.fmpq(*Fraction(x).as_integer_ratio())).exp() * 2**128).floor().unique_fmpz()
        assert allowed == int(true)


def test_sha256_is_sha256(checker):
    texts = ["", "a", "ü" * 27, "b" * 55, "c" * 56, "d" * 63, "e" * 64, "f" * 1000]
    found = checker.evaluate("all => all.map(text => inboundsCheck.sha256(new TextEncoder().encode(text)))", texts)
    assert found == [hashlib.sha256(text.encode()).hexdigest() for text in texts]


# --- release records --------------------------------------------------------------------------------------


def signed_record(record: Any) -> Any:
    """A record with the digests of its plan and of itself."""
    content = record["content"]
    if isinstance(content, dict):
        content["plan_sha256"] = sha256_hex(canonical_json(content.get("plan")))
    return seal(record)


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> list[Any]:
    """Records of every kind of statistic and relation."""
    found = []
    for case in cases_of_releases():
        folder = tmp_path_factory.mktemp("released")
        made = publish(folder, case.plan, f"released{case.suffix}") if case.quick else None
        found += [] if made is None else [json.loads(made.record.read_bytes())]
    return found


def lied_records(contents: list[Any], number: int, seed: int) -> Iterator[Any]:
    rng = random.Random(seed)
    for _ in range(number):
        lie = copy.deepcopy(rng.choice(contents))
        path = rng.choice([path for path in places(lie) if path and path[0] != "version"])
        spot = lie
        for key in path[:-1]:
            spot = spot[key]
        spot[path[-1]] = _other(spot[path[-1]], rng)
        yield signed_record(lie) if rng.random() < 0.9 else lie


def _other(value: Any, rng: random.Random) -> Any:
    """Another value of the same kind, or something else altogether."""
    if rng.random() < 0.3:
        odd = odd_value(rng)
        return None if odd == 1e999 else odd
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice((-1, 0, 1, 0.5))
    if isinstance(value, str):
        return rng.choice((value, value + " ", "1", "1/2", "count", "public", "maximum", "change one record", ""))
    return value


def read_alone(file: Path) -> None:
    """A record whose table is not there: all but the table's digest."""
    if "table" not in read_record(file):
        raise PassportError("the record names no table")


@pytest.mark.parametrize("number", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_release_records_get_equal_verdicts(number, records, checker, tmp_path):
    apart, valid = compared(checker, tmp_path, lied_records(records, number, seed=number), read_alone)
    assert not apart
    assert number / 20 < valid < number


# --- ledgers ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Any:
    with ib.Ledger.open(tmp_path_factory.mktemp("ledger") / "budget.db") as ledger:
        ledger.add_population("pupils", epsilon=2)
        ledger.add_population("staff — ü", epsilon="1/3")
        ledger.add_population("nobody's", epsilon=None)
        ledger.add_population("patients", epsilon=3, rule="zcdp", delta="1/1000000")
        ledger.add_population("others", epsilon="1/10", rule="zcdp", delta="0.05")
        for k, who in enumerate(("pupils", "patients", "staff — ü", "others", "nobody's", "patients")):
            ledger.charge(who, "1/30", key=f"key {k}", purpose="to be tested")
        ledger.charge("patients", "0.75", key="key 7", parts=["1/4", "1/2"])
        ledger.stored_answers("pupils", "1/7", lambda charge: b"four", key="key 8")
        ledger.store_draw(ledger.charge("pupils", "1/9", key="key 9", source="a.csv", edition="1"), b"drawn")
        ledger.raise_budget("pupils", epsilon="5/2")
        ledger.add_population("yearly", epsilon="1/2", every="year", period="2026")
        ledger.charge("yearly", "1/2", key="key 10", edition="2026-11")
        ledger.renew("yearly", "2027")
        ledger.charge("yearly", "1/4", key="key 11", edition="2027")
        ledger.add_population("monthly", epsilon=1, rule="zcdp", delta="1e-5", every="month", period="2026-11")
        ledger.renew("monthly", "2026-12")
        return export_of(ledger.head(), ledger.entries(), ledger.people()).content


def chained(content: Any) -> Any:
    """The entries with the digests that they should have, and the head of the last."""
    last = START
    for entry in content["entries"]:
        entry["previous"] = last
        rest = {key: value for key, value in entry.items() if key != "sha256"}
        entry["sha256"] = last = sha256_hex(canonical_json(rest))
    content["head"] |= {"entry_sha256": last, "entries": len(content["entries"])}
    return content


def lied_ledgers(honest: Any, number: int, seed: int) -> Iterator[Any]:
    rng = random.Random(seed)
    for _ in range(number):
        lie = copy.deepcopy(honest)
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            path = rng.choice([path for path in places(lie) if len(path) > 1])
            spot = lie
            for key in path[:-1]:
                spot = spot[key]
            spot[path[-1]] = _amount(spot[path[-1]], rng)
        if rng.random() < 0.2:
            del lie["entries"][rng.randrange(1, len(lie["entries"]))]
        yield wrap(LEDGER, _chained_if_whole(lie) if rng.random() < 0.8 else lie)


def _amount(value: Any, rng: random.Random) -> Any:
    if isinstance(value, str) and value.isdecimal() and rng.random() < 0.7:
        return str(int(value) + rng.choice((-1, 0, 1)))
    return rng.choice((value, None, "1", "1/30", "0.1", "sum", "zcdp", "pupils", "key 1", "charge", "0" * 64))


def _chained_if_whole(lie: Any) -> Any:
    try:
        return chained(lie)
    except (KeyError, TypeError, AttributeError):
        return lie


@pytest.mark.parametrize("number", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_exported_ledgers_get_equal_verdicts(number, exported, checker, tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "budget_units", lru_cache(verify.budget_units))  # a zCDP budget takes its time
    apart, valid = compared(checker, tmp_path, lied_ledgers(exported, number, seed=number), load_export)
    assert not apart
    assert number / 20 < valid < number


# --- JSON -------------------------------------------------------------------------------------------------


def test_json_that_python_refuses_is_refused(checker):
    whole = json.dumps(cases.honest_passports()[0])
    texts = [
        whole[:-1] + ', "epsilon": "1/2"}', whole[:-1] + ', "__proto__": {"x": 1}}', whole + " x", "\ufeff" + whole,
        whole[:-1] + f', "deep": {"[" * 32}{"]" * 32}}}', whole[:-1] + ', "a": 01}', whole[:-1] + ', "a": "\t"}',
        whole[:-1] + ', "a": NaN}', whole[:-1] + ', "a": 1e999}', "[" * 100_000, '"' + "\\" * 9, "", "null", "{}", "[]",
    ]  # fmt: skip
    assert {verdict for verdict, _, _ in checker.judged(text.encode() for text in texts)} == {"refused"}
    assert (
        checker.judged([b"\xff\xfe{}", whole.encode("utf-16")])
        == [("refused", False, "the file is not UTF-8 text")] * 2
    )


@pytest.mark.parametrize("level", [(), ("content",), ("content", "query"), ("content", "origin")])
def test_fields_that_pollute_prototypes_are_refused_like_others(level, checker):
    made = []
    for name in ("__proto__", "constructor", "toString"):
        envelope = copy.deepcopy(cases.honest_passports()[0])
        spot = envelope
        for key in level:
            spot = spot[key]
        spot[name] = {"valid": True}
        made.append(seal(envelope))
    assert {verdict for verdict, _, _ in checker.judged(made)} == {"refused"}
    assert checker.evaluate("() => [({}).valid, Object.prototype.x]") == [None, None]


def test_a_passport_error_is_a_verdict_and_no_exception(tmp_path):
    file = tmp_path / "file.json"
    file.write_bytes(b"{}")
    assert not accepts(promised, file)
    with pytest.raises(PassportError):
        promised(file)
