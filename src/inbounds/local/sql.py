"""A randomizer as a function of SQL in DuckDB: one report for each person, however often DuckDB evaluates it.

DuckDB runs a function again for every use of a view or of a common table expression, and once for a subquery that it
finds constant. It cannot be told otherwise, so the function takes the person's id beside the value and remembers: the
first call for an id draws, every other call repeats that report. Then the report is a function of the id alone, and no
folding, merging, repeating or moving of calls can change it, share it or draw it twice.
"""

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any, Literal

from inbounds.local import coordinates
from inbounds.local.client import Outside, Randomizer
from inbounds.local.collector import fingerprint
from inbounds.local.permanent import ReportMemory
from inbounds.local.reports import check_local_mechanism
from inbounds.mechanism import Mechanism
from inbounds.optional import import_optional
from inbounds.trusted.inputs import as_array

IdType = Literal["BIGINT", "VARCHAR"]
TYPES = {"i": "BIGINT", "f": "DOUBLE", "O": "VARCHAR"}


def register(
    connection: Any,
    name: str,
    mechanism: Mechanism,
    *,
    outside: Outside = "refuse",
    by_coordinates: bool = False,
    id_type: IdType = "BIGINT",
) -> None:
    """Put the randomizer into a DuckDB connection as the SQL function `name` of a person's id and value.

    The first call for an id draws; every other call, in any query, repeats that report and does not look at the value.
    Reports are remembered as long as the function is there, in some 100 bytes a person. The id must name a person and
    must not be computed from the value: people with the same id have the same report.

    id_type: the SQL type of ids, "BIGINT" or "VARCHAR". by_coordinates: of places, it takes one number for each
    coordinate after the id instead of the place's name; reports are names. outside: as for `ib.local.make_randomizer`.

    ib.local.register(connection, "private_age", mechanism)
    connection.execute("create table reports as select id, private_age(id, age) as age from people")
    """
    check_local_mechanism(mechanism)
    if id_type not in ("BIGINT", "VARCHAR"):
        raise ValueError(f"id_type must be 'BIGINT' or 'VARCHAR', got {id_type!r}")
    pyarrow, client = import_optional("pyarrow", "local"), Randomizer(mechanism, outside)
    types = _value_types(mechanism, by_coordinates)
    memory = ReportMemory(fingerprint(mechanism))
    reported = {"i": pyarrow.int64(), "f": pyarrow.float64(), "O": pyarrow.string()}[client.kind]

    def draw(values: Sequence[Any]) -> list[Any]:
        if by_coordinates:
            return coordinates.draw_names(client, [as_array("arrow", column) for column in values])
        return list(client.array(as_array("arrow", values[0])).tolist())

    def private(ids: Any, *values: Any) -> Any:
        if ids.null_count:
            raise ValueError("ids must not be missing; every person needs one")
        return pyarrow.array(
            memory.recall("", ids.to_pylist(), lambda places: draw([column.take(places) for column in values])),
            reported,
        )

    # DuckDB counts the parameters of a function by its signature.
    named = [Parameter(f"value_{k}", Parameter.POSITIONAL_ONLY) for k in range(1 + len(types))]
    private.__signature__ = Signature(named)  # type: ignore[attr-defined]
    # "special" passes missing values in, where they are refused: left to itself DuckDB would answer NULL for them.
    connection.create_function(
        name, private, [id_type, *types], TYPES[client.kind], type="arrow", null_handling="special", side_effects=True
    )


def _value_types(mechanism: Mechanism, by_coordinates: bool) -> list[str]:
    """Return the SQL types of the function's arguments beside the id."""
    query = mechanism.query
    if by_coordinates:
        axes = len(query.places[0]) if query.places else 0
        coordinates.need_axes(mechanism, [f"coordinate {k}" for k in range(axes)])
        return [TYPES[coordinates.kind(mechanism)]] * axes
    whole = not query.rounds and query.answers.start.denominator == query.answers.unit.denominator == 1
    return ["VARCHAR" if query.labels else TYPES["i" if whole else "f"]]
