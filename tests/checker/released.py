"""A small release as people publish it: a table, its record, and the passports of its mechanisms."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import inbounds as ib
from checker.plans import FRAME, plan_of
from envelopes import wrap
from inbounds.files import RELEASE, canonical_json, sha256_hex
from inbounds.ledger import Ledger


@dataclass(frozen=True)
class Published:
    """Where the files of a release are."""

    record: Path
    table: Path
    passports: list[Path]


def publish(
    folder: Path, plan: dict[str, Any] | None = None, name: str = "released.csv", cache: Path | None = None
) -> Published:
    """Release a plan into a folder; by default two statistics that the browser can recompute to the last cell."""
    plain: list[dict[str, Any]] = [{"count": "c = 'p'", "name": "yes"}, {"histogram": "c", "sum_to_size": True}]
    asked = plan_of(plain, "public") if plan is None else plan
    mechanisms = folder / "mechanisms"
    if "delta" in asked["privacy"]:
        with Ledger.open(folder / "inbounds.ledger") as ledger:
            ledger.add_population("the given table", delta=asked["privacy"]["delta"])
    ib.release(asked, FRAME, output=folder / name, mechanisms=mechanisms, cache=cache, allow_useless=True)
    return Published(folder / f"{name}.release.json", folder / name, sorted(mechanisms.iterdir()))


def sign(record: dict[str, Any], table: bytes | None = None) -> dict[str, Any]:
    """The content of a record in its envelope, with all digests that a forger can compute: of plan, table and file."""
    signed = {**record, "plan_sha256": sha256_hex(canonical_json(record["plan"]))}
    if table is not None:
        signed["table"] = {**record["table"], "sha256": sha256_hex(table)}
    return wrap(RELEASE, signed)
