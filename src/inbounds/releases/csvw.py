"""Metadata of a released CSV file, as W3C's "CSV on the Web" defines it: columns, epsilon, errors, digests.

Reference: Metadata Vocabulary for Tabular Data, W3C Recommendation of 17 December 2015.
"""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from inbounds.files import RELEASE, Document
from inbounds.releases.write import escape_formula, record_path
from inbounds.schema.record_types import ReleaseRecord

CONTEXT = "http://www.w3.org/ns/csvw"

DATATYPES = (("int", "integer"), ("double", "number"), ("float", "number"), ("bool", "boolean"))
"""Data types by the beginning of the Arrow type's name; everything else is a string."""


def metadata_path(target: Path) -> Path:
    """Return the file name that readers of CSV on the Web look for: the table's, with -metadata.json after it."""
    return target.with_name(target.name + "-metadata.json")


def build_metadata(record: ReleaseRecord, table: Any) -> dict[str, Any]:
    """Build the metadata from the record and the table."""
    written, plan = record["table"], record["plan"]
    columns = [_column(name, str(kind)) for name, kind in zip(table.column_names, table.schema.types, strict=True)]
    schema: dict[str, Any] = {"columns": columns}
    keys = [name for name in plan["by"] if name in table.column_names and table[name].null_count == 0]
    if keys and len(keys) == len(plan["by"]):
        schema["primaryKey"] = [_variable(name) for name in keys]
    errors = [
        {"statistic": line["statistic"], "size": line["size"], "expected_error": line["expected_error"]}
        for line in record["mechanisms"]
    ]
    privacy = {
        "epsilon": record["epsilon"]["spent"],
        **({"delta": record["epsilon"]["delta"]} if "delta" in record["epsilon"] else {}),
        "expected_errors": errors,
        "table_sha256": written["sha256"],
        "record": record_path(Path(written["file"])).name,
        "record_sha256": Document.wrap(RELEASE, {**record}).sha256,
    }
    return {
        "@context": CONTEXT,
        "url": quote(written["file"]),
        "dc:description": record["statement"],
        "dialect": {"header": True, "delimiter": ",", "encoding": "utf-8"},
        "tableSchema": schema,
        "notes": [privacy],
    }


def _column(name: str, kind: str) -> dict[str, str]:
    datatype = next((known for start, known in DATATYPES if kind.startswith(start)), "string")
    return {"name": _variable(name), "titles": str(escape_formula(name)), "datatype": datatype}


def _variable(name: str) -> str:
    """Encode a column's name as the vocabulary allows it; names must not begin with an underscore."""
    text = quote(name, safe="").replace("-", "%2D").replace("~", "%7E")
    return f"%5F{text[1:]}" if text.startswith("_") else text
