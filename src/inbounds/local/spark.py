"""Spark (extra `spark`): values are randomized on the executors that hold them, in one job, and the reports are kept.

A Spark frame is a recipe. It runs again for every action, for both sides of a join with itself, and for partitions that
were lost, cached ones included: each time a function in it would draw again, and a person would have several reports.
A frame of reports is therefore made at once and cut off from its recipe (a checkpoint):

- The function stands in `mapInArrow`, which gets every row of a batch: nothing is folded, merged or moved past it.
- A task that fails and is tried again draws again, but what the failed attempt drew is dropped unseen.
- Afterwards Spark reads what was kept. If that is lost, a query of it fails; nothing is drawn again.

With a checkpoint directory each partition is a file there, and of two attempts at one partition the first to finish
keeps its name; the file system must refuse to rename a file over another, as HDFS does. Without one, local mode keeps
the partitions in its only executor. On a cluster a partition may be kept by two executors after two attempts, which
drew apart, so there a directory is needed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from inbounds.optional import import_optional


def map_batches_once(frame: Any, kinds: Mapping[str, str], change: Callable[[Any], Any]) -> Any:
    """Return the DataFrame with `change` applied to its Arrow batches, once: the job runs now, and its results are
    kept.

    kinds: what the columns hold that change, as in `inbounds.local.frames`. The mechanism travels to each executor once
    per task and is checked again when it arrives.
    """
    if frame.isStreaming:
        raise ValueError("table must not be a stream, which may run a batch twice; write it to a table first")
    materialise = _choose_checkpoint(frame)
    types = import_optional("pyspark.sql.types", "spark")
    changed = {"i": types.LongType(), "f": types.DoubleType(), "O": types.StringType()}
    fields = [
        types.StructField(field.name, changed[kinds[field.name]]) if field.name in kinds else field
        for field in frame.schema.fields
    ]

    def private(batches: Iterator[Any]) -> Iterator[Any]:
        return map(change, batches)

    return materialise(frame.mapInArrow(private, types.StructType(fields)))


def _choose_checkpoint(frame: Any) -> Callable[[Any], Any]:
    """Choose how reports are kept; refused, before anything is drawn, where they could not be."""
    context = getattr(
        frame.sparkSession, "sparkContext", None
    )  # None for Spark Connect, whose server has the directory
    if context is not None and context.getCheckpointDir() is None:
        if not re.fullmatch(r"local(\[.*\])?", context.master):
            raise ValueError(
                "Spark must have a checkpoint directory, where reports are kept so that none is drawn twice; call "
                "spark.sparkContext.setCheckpointDir with a directory that all executors reach"
            )
        return lambda reports: reports.localCheckpoint(eager=True)
    return lambda reports: reports.checkpoint(eager=True)
