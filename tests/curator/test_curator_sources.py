"""Files stay open between questions, until they are replaced or something fails."""

import pytest

from curator.pupils import declared, write_pupils
from inbounds.curator import settings_from
from inbounds.curator.sources import Sources


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
