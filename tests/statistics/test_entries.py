"""Statistics as people write them."""

from inbounds.statistics.designs import DEFAULT_OPTIONS
from inbounds.statistics.entries import parse_statistic


def test_fields_may_stand_beside_the_kind_or_in_one_table() -> None:
    beside = parse_statistic({"quantile": "score", "at": [0.5, 0.9], "epsilon": 1}, DEFAULT_OPTIONS)
    table = parse_statistic({"quantile": {"of": "score", "at": [0.5, 0.9]}, "epsilon": 1}, DEFAULT_OPTIONS)
    assert beside == table
    assert len(table.to_json()["at"]) == 2
