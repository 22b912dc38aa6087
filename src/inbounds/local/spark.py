"""Spark (extra `spark`): a vectorised UDF, so that values are randomized on the executors that hold them."""

from collections.abc import Iterator
from typing import Any

from inbounds.extras import library
from inbounds.local.client import Randomizer


def randomized(frame: Any, column: str, client: Randomizer) -> Any:
    """The DataFrame with `column` replaced by reports.

    The function is declared nondeterministic, so the optimizer neither repeats nor moves it; the mechanism
    travels to each executor once per task and is checked again when it arrives.
    """
    functions = library("pyspark.sql.functions", "spark")
    kinds = {"i": "bigint", "f": "double", "O": "string"}
    given = kinds[client.kind]

    def private(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield client(batch)

    function = functions.pandas_udf(private, given, functions.PandasUDFType.SCALAR_ITER).asNondeterministic()
    return frame.withColumn(column, function(functions.col(column)))
