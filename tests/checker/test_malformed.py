"""Malformed records and passports: a verdict or an error of ours for each, whatever stands in whatever place."""

import json
import shutil
from fractions import Fraction

import pytest

import inbounds as ib
from checker.forgeries import _refit
from checker.mutations import some_mutations
from checker.plans import cases, plan_of
from checker.released import publish, sign
from envelopes import seal
from inbounds.checker import check_cells, check_record, read_table
from inbounds.errors import PassportError
from inbounds.files import sha256_hex

NAMES = ("one group", "a grand total", "dates", "intervals")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_mutated_record_is_refused_or_says_nothing_else(published, name, tmp_path):
    """By the rules alone. What passes them differs in texts that the release's own code compares, or in nothing."""
    (case,) = [case for case in cases() if case.name == name]
    found = published(case)
    record = json.loads(found.record.read_text())["content"]
    numbers = ("mechanisms", "account", "epsilon", "groups", "draws", "statement", "table", "reports")
    for label, mutated in some_mutations(record, seed=1, count=100):
        try:
            checked = check_record(signed(mutated))
            if checked.table is None:
                continue
            check_cells(checked, read_table(found.table, checked.table.sha256))
        except PassportError:
            continue
        assert says(mutated, numbers) == says(record, numbers) or label.startswith(("('table", "('reports")), label


TEXTS = ("reason", "answers", "neighbours", "origin", "law", "expected_error", "constant_error", "sha256")
"""Of lines, what the rules do not judge."""


def says(record, names):
    """The fields of these names, without texts that are compared later."""

    def plain(value):
        if isinstance(value, dict):
            return {name: plain(part) for name, part in value.items() if name not in TEXTS}
        return [plain(part) for part in value] if isinstance(value, list) else value

    return {name: plain(record.get(name)) for name in names}


def signed(content):
    try:
        return sign(content)
    except (LookupError, TypeError, ValueError):
        return content


def test_a_mutated_record_never_stops_verify(published, tmp_path):
    (case,) = [case for case in cases() if case.name == "one group"]
    found = published(case)
    shutil.copy(found.table, tmp_path)
    record, file = json.loads(found.record.read_text())["content"], tmp_path / found.record.name
    for label, mutated in some_mutations(record, seed=2, count=100):
        file.write_text(json.dumps(signed(mutated)))
        verdict = ib.verify(file)
        str(verdict).encode()
        if verdict.is_valid:
            assert says(mutated, ("account", "mechanisms", "draws", "groups", "statement")) == says(
                record, ("account", "mechanisms", "draws", "groups", "statement")
            ), label


@pytest.mark.long
@pytest.mark.parametrize("kind", ["matrix", "noise", "prior"])
def test_a_mutated_passport_never_stops_verify(kind, tmp_path):
    if kind == "noise":
        ib.catalog.truncated_geometric(ib.total(3, 0, 4), 1).save(tmp_path / "m.json")
    else:
        prior = [0.1, 0.2, 0.3, 0.4] if kind == "prior" else None
        ib.optimal(ib.count(3), 0.5, loss="squared", prior=prior).save(tmp_path / "m.json")
    content, file = json.loads((tmp_path / "m.json").read_text()), tmp_path / "lie.json"
    for _, mutated in some_mutations(content, seed=3, count=250):
        if isinstance(mutated, dict):
            mutated = seal(mutated)
        file.write_text(json.dumps(mutated))
        str(ib.verify(file)).encode()


@pytest.mark.parametrize(
    "place", [(), ("query",), ("query", "answers"), ("law",), ("origin",), ("claims",), ("optimality",)]
)
def test_a_passport_with_a_field_that_nobody_reads_is_refused(place, tmp_path):
    ib.optimal(ib.count(3), 0.5).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    part = content["content"]
    for name in place:
        part = part[name]
    part["certified"] = "by everybody"
    (tmp_path / "m.json").write_text(json.dumps(seal(content)))
    assert not ib.verify(tmp_path / "m.json").is_valid


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("query", "kind"), "a proof"),
        (("query", "answers", "unit"), "2/2"),
        (("optimality", "objective"), "average power 0 loss"),
        (("optimality", "objective"), "average power 0/7 loss"),
        (("optimality", "objective"), "worst absolute loss"),
        (("optimality", "objective"), "average squared loss subject to nothing"),
        (("optimality", "value"), "0.01"),
        (("optimality", "bound"), "9.0"),
        (("origin", "name"), "\ud800"),
    ],
)
def test_words_of_a_passport_that_mean_nothing_or_another_loss_are_refused(path, value, tmp_path):
    ib.optimal(ib.count(3), 0.5).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    *above, last = path
    part = content["content"]
    for name in above:
        part = part[name]
    part[last] = value
    (tmp_path / "m.json").write_text(json.dumps(seal(content)))
    assert not ib.verify(tmp_path / "m.json").is_valid


LONG = {"count": {"count": "c = 'p'"}, "sum": {"sum": "x"}, "mean": {"mean": "x"}, "median": {"median": "x"}}


@pytest.mark.long
@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("size", [10**7, 10**12, 2**53 - 1])
def test_a_record_of_huge_groups_is_refused_before_anything_is_made_of_that_size(kind, size, tmp_path, designs):
    """Everything fits but the digests, so that each mechanism would have to be designed again."""
    found = publish(tmp_path, plan_of([LONG[kind]], "at most"), cache=designs)
    record = json.loads(found.record.read_text())["content"]
    record["groups"]["sizes"] = " ".join([str(size)] * 4)
    keys = list(zip(*(record["groups"]["keys"][name] for name in record["plan"]["by"]), strict=True))
    record["plan"]["keys_sha256"] = sha256_hex(json.dumps([keys, [size] * 4]))
    record["mechanisms"] = record["mechanisms"][:1]
    try:
        _refit(record)
    except PassportError:
        return
    head, *rows = found.table.read_text().splitlines()
    place = head.split(",").index("group_maximum")
    table = "\n".join(",".join(c for k, c in enumerate(row.split(",")) if k != place) for row in [head, *rows]) + "\n"
    found.table.write_text(table)
    found.record.write_text(json.dumps(sign(record, table.encode())))
    assert not ib.verify(found.record).is_valid


def test_an_exact_number_has_one_spelling(published):
    (case,) = [case for case in cases() if case.name == "one group"]
    record = json.loads(published(case).record.read_text())["content"]
    for text in ("01/3", "2/6", "+1/3"):
        lie = {**record, "epsilon": {**record["epsilon"], "spent": text}}
        with pytest.raises(PassportError):
            check_record(sign(lie))
    assert Fraction(record["epsilon"]["spent"]) == Fraction(1, 3)


def test_a_quantile_whose_values_need_more_than_64_bits_is_sampled(tmp_path):
    """A passport may declare any unit; its values are then Python's whole numbers."""
    ib.design_sided(ib.quantile(1, 0, 3, size=4), 1).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content["content"]["query"]["values"]["unit"] = str(1 << 62)
    (tmp_path / "m.json").write_text(json.dumps(seal(content)))
    loaded = ib.load(tmp_path / "m.json")
    assert loaded.sample([0, 1 << 62]) % (1 << 62) == 0
