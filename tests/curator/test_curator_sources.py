"""Files are attached once: their canonical records stay in memory."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from curator.pupils import declared, write_pupils
from inbounds.curator import parse_settings
from inbounds.curator.open_sources import Sources
from inbounds.releases.pipeline import SourceError, open_plan_source
from inbounds.sources.open import Source


@pytest.fixture
def dataset(folder):
    write_pupils(folder / "pupils.parquet")
    return parse_settings(declared(folder), folder).datasets["pupils"]


def test_a_file_is_read_once_and_its_records_stay(dataset, folder):
    sources = Sources()
    found = positions(sources, dataset)
    write_pupils(folder / "pupils.parquet", likes=["no"] * 40)
    assert positions(sources, dataset) == found
    assert positions(Sources(), dataset) != found


def positions(sources, dataset):
    with closing(sources.open(dataset, dataset.check_plan())) as source:
        return [own.tolist() for own in source.aggregate().positions]


@pytest.mark.parametrize("kind", ["parquet", "csv", "sqlite"])
def test_more_records_than_declared_are_refused_when_the_dataset_is_attached(dataset, folder, kind):
    source = in_another_file(folder, kind)
    few, enough = (replace(dataset, source=source, max_rows=rows) for rows in (39, 40))
    Sources().attach(enough)
    with pytest.raises(SourceError):
        Sources().attach(few)


def in_another_file(folder, kind):
    import pandas

    pupils = pandas.read_parquet(folder / "pupils.parquet")
    if kind == "csv":
        pupils.to_csv(folder / "pupils.csv", index=False)
    if kind == "sqlite":
        with closing(sqlite3.connect(folder / "pupils.sqlite")) as file:
            pupils.to_sql("pupils", file, index=False)
    return Source(path=str(folder / f"pupils.{kind}"), table="pupils" if kind == "sqlite" else "")


def test_records_that_are_attached_stay_when_one_question_is_done(dataset):
    sources, plan = Sources(), dataset.check_plan()
    found = [sources.open(dataset, plan) for _ in range(2)]
    found[0].close()
    assert [own.tolist() for own in found[1].aggregate().positions] == [
        own.tolist() for own in open_plan_source(plan).aggregate().positions
    ]
    sources.close()
