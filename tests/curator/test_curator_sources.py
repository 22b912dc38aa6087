"""Files stay open between questions, until they are replaced or something fails."""

import pytest

from curator.pupils import declared, write_pupils
from inbounds.curator import settings_from
from inbounds.curator.sources import Sources
from inbounds.tables import as_plan, open_source


@pytest.fixture
def plan(folder):
    write_pupils(folder / "pupils.parquet")
    return settings_from(declared(folder), folder).datasets["pupils"].everything()


def test_a_file_stays_open_until_it_is_replaced(plan, folder):
    sources = Sources()
    first, again = sources.open(plan), sources.open(plan)
    assert first.table is again.table
    assert first.statements is again.statements
    write_pupils(folder / "pupils.parquet", likes=["no"] * 40)
    assert sources.open(plan).table is not first.table
    sources.close()


def test_whoever_fails_leaves_nothing_open(plan):
    sources = Sources()
    first = sources.open(plan)
    with pytest.raises(RuntimeError, match="engine"), sources:
        raise RuntimeError("the engine broke")
    assert sources.open(plan).table is not first.table
    sources.close()


def test_a_table_that_is_kept_is_not_closed_by_one_who_asked(plan):
    sources = Sources()
    sources.open(plan).close()
    assert sources.open(plan).table.to_pyarrow().num_rows == 40
    sources.close()


def test_how_numbers_are_written_in_a_file_is_part_of_what_is_kept(tmp_path):
    (tmp_path / "towns.csv").write_text("town;x\na;1,5\na;2,5\na;3.5\na;4\na;5\n")
    points, commas = (towns(tmp_path, decimal) for decimal in (".", ","))
    for asked in ((points, commas), (commas, points)):
        sources = Sources()
        found = [sources.open(plan).aggregate().positions[0].tolist() for plan in asked]
        assert found == [open_source(plan).aggregate().positions[0].tolist() for plan in asked]
        assert found[0] != found[1]
        sources.close()


def towns(folder, decimal):
    """How many numbers of a file are at least 1, where decimals are written like this."""
    return as_plan(
        {
            "source": {"path": str(folder / "towns.csv"), "delimiter": ";", "decimal": decimal},
            "groups": {"by": ["town"], "keys": ["a"], "size": 5},
            "columns": {"x": {"type": "number"}},
            "statistics": [{"count": "x >= 1"}],
            "privacy": {"epsilon": 1},
        }
    )
