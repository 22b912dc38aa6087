"""Every format of a file: written, read back equal, and refused where anything in it is not what its reader knows."""

import builtins
import copy
import json
import os

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from envelopes import seal
from inbounds import files
from inbounds.errors import InboundsError, UnknownVersion
from inbounds.files import Document, LoadedFile
from inbounds.ledger.verify import export_entries
from inbounds.releases.drawing import STORED_DRAW, Draw
from inbounds.verdict import file_formats

FORMATS = file_formats()
PLAN = {"groups": {"size": 3}, "statistics": [{"count": "true"}, {"median": "x"}], "privacy": {"epsilon": 1}}
PLAN["columns"] = {"x": {"low": 0, "high": 4}}


def mechanism():
    return ib.optimal(ib.count(3), 1)


def save_ledger(folder, save):
    with ib.Ledger.open(folder / "budget.db") as ledger:
        ledger.add_population("pupils", epsilon=2)
        ledger.charge("pupils", "1/2", key="first", purpose="a test")
        save(ledger)


def save_draw(folder):
    draw = Draw("0" * 64, (np.arange(3), np.arange(2)), {"g": "text"})
    (folder / "file.json").write_bytes(draw.to_bytes().partition(b"\n")[0])


def save_release(folder):
    ib.release(PLAN, pa.table({"x": [1, 2, 3]}), output=folder / "file.csv", cache=folder / "cache", allow_useless=True)
    (folder / "file.csv.release.json").rename(folder / "file.json")


def save_permanent(folder):
    client = ib.local.make_randomizer(ib.catalog.randomized_response(ib.category(["no", "yes"]), 1))
    ib.local.make_permanent(client, folder / "file.json")("yes")


SAVE = {
    files.MECHANISM: lambda folder: mechanism().save(folder / "file.json"),
    files.RELEASE: save_release,
    files.COMPOSITION: lambda folder: ib.accounting.CompositionRecord.from_composition(
        ib.compose(mechanism(), 2), "1e-6"
    ).save(folder / "file.json"),
    files.CHAIN: lambda folder: ib.make_chain(ib.count(3), [1, "1/2"]).save(folder / "file.json"),
    files.LEDGER: lambda folder: save_ledger(
        folder,
        lambda ledger: export_entries(ledger.head(), ledger.entries(), ledger.people()).save(folder / "file.json"),
    ),
    files.LEDGER_HEAD: lambda folder: save_ledger(
        folder, lambda ledger: ledger.head().to_document().save(folder / "file.json")
    ),
    files.DRAW: save_draw,
    files.COLLECTION: lambda folder: ib.Collector(mechanism()).add([0, 1]).save(folder / "file.json"),
    files.PERMANENT_REPORTS: save_permanent,
}


@pytest.fixture(scope="module", params=list(FORMATS))
def written(request, tmp_path_factory):
    """A format, and the path of a file of it."""
    folder = tmp_path_factory.mktemp("formats")
    SAVE[request.param](folder)
    return FORMATS[request.param], folder / "file.json"


def refused(found, envelope, folder):
    path = folder / "changed.json"
    path.write_text(envelope if isinstance(envelope, str) else json.dumps(envelope))
    with pytest.raises(InboundsError) as error:
        found.read(path)
    return error.value


def objects(value, path=()):
    """The places of all objects whose names of fields are not data."""
    if isinstance(value, dict):
        if path[-1:] not in [(name,) for name in OPEN]:
            yield path
        for name, part in value.items():
            if name not in OPEN:
                yield from objects(part, (*path, name))
    if isinstance(value, list) and value:
        yield from objects(value[0], (*path, 0))


OPEN = {"periods", "parameters", "key_types", "versions", "keys", "types", "columns", "draws", "losses", "properties"}
"""Objects whose names are names of people, columns, packages or measures."""


def test_there_is_a_file_of_every_format():
    assert set(SAVE) == set(FORMATS)
    assert all(name.startswith("inbounds/") for name in FORMATS)


def test_what_is_written_is_read_back_equal(written, tmp_path):
    found, path = written
    document = found.load(path)
    assert (document.format, document.version) == (found.name, 1)
    assert document == Document.wrap(found.name, document.content)
    document.save(tmp_path / "again.json")
    assert found.load(tmp_path / "again.json") == document
    assert found.read(path) is not None
    assert found.load(LoadedFile.load(path)) == found.load(document) == document


def test_an_unknown_field_is_refused_at_every_level(written, tmp_path):
    found, path = written
    envelope = json.loads(path.read_text())
    places = list(objects(envelope))
    assert () in places
    assert ("content",) in places
    for place in places:
        changed = copy.deepcopy(envelope)
        part = changed
        for name in place:
            part = part[name]
        part["more"] = "1"
        reason = refused(found, seal(changed), tmp_path)
        assert isinstance(reason, (ib.PassportError, found.error)), place


def test_another_version_format_or_digest_is_refused(written, tmp_path):
    found, path = written
    envelope = json.loads(path.read_text())
    reason = refused(found, seal({**envelope, "version": 2}), tmp_path)
    assert isinstance(reason, UnknownVersion)
    assert str(reason) == "this file has version 2; inbounds reads version 1"
    assert isinstance(refused(found, seal({**envelope, "format": "inbounds/nothing"}), tmp_path), found.error)
    assert isinstance(refused(found, {**envelope, "sha256": "0" * 64}, tmp_path), found.error)
    for name in envelope:
        refused(found, {key: part for key, part in envelope.items() if key != name}, tmp_path)


def test_a_field_that_is_named_twice_is_refused(written, tmp_path):
    found, path = written
    text = path.read_text()
    assert isinstance(refused(found, text.replace("{", '{"version": 1, ', 1), tmp_path), found.error)


def test_the_rows_of_a_stored_draw_are_covered_by_its_digest():
    draw = Draw("0" * 64, (np.arange(3),), {})
    content = draw.to_bytes()
    header = STORED_DRAW.load(LoadedFile("draw", content.partition(b"\n")[0])).content
    assert header["outputs_sha256"] == files.sha256_hex(content.partition(b"\n")[2])


@pytest.fixture
def reads(monkeypatch):
    """How often each file was opened for reading, by its name."""
    counted = {}

    def counting(real):
        def opened(file, *args, **kwargs):
            if isinstance(file, str | bytes | os.PathLike):
                name = os.path.basename(os.fsdecode(file))
                counted[name] = counted.get(name, 0) + 1
            return real(file, *args, **kwargs)

        return opened

    monkeypatch.setattr(os, "open", counting(os.open))
    monkeypatch.setattr(builtins, "open", counting(builtins.open))
    return counted


def test_verify_reads_each_file_once(written, reads):
    _, path = written
    ib.verify(path)
    assert reads[path.name] == 1


def test_verify_reads_a_record_its_table_and_its_passports_once(tmp_path, reads):
    out = tmp_path / "out.csv"
    done = ib.release(PLAN, pa.table({"x": [1, 2, 3]}), output=out, cache=tmp_path / "cache", allow_useless=True)
    passports = done.write_mechanisms(tmp_path / "mechanisms")
    record = tmp_path / "out.csv.release.json"
    reads.clear()
    assert ib.verify(record, passports=passports).is_valid
    assert {name: reads[name] for name in (record.name, out.name, *(one.name for one in passports))} == dict.fromkeys(
        (record.name, out.name, *(one.name for one in passports)), 1
    )
