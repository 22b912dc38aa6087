"""Connect passports to the record of a release: which passport drew which numbers, by its digest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inbounds.checker.fields import insist
from inbounds.checker.lines import StatedLine, check_query


@dataclass(frozen=True)
class Connection:
    """The passports that belong to a record.

    connected: names of passports, and the numbers that each drew. missing: numbers whose passport was not given.
    strays: names of passports that drew no number of the record.
    """

    connected: dict[str, tuple[str, ...]]
    missing: tuple[str, ...]
    strays: tuple[str, ...]


def connect(lines: Sequence[StatedLine], passports: Mapping[str, Any]) -> Connection:
    """Connect passports, the JSON values of their envelopes by name, to the lines of a record.

    Raises `PassportError` if a passport has a digest that the record states, but another query or epsilon than the
    line, or a delta of its own. Whether a passport is private, and its digest correct, is not checked here.
    """
    connected: dict[str, list[str]] = {}
    connected_digests = set()
    for name, envelope in passports.items():
        content = envelope["content"]
        for line in lines:
            if envelope["sha256"] != line.sha256:
                continue
            required = line.required
            check_query(content.get("query"), required)
            same = content.get("epsilon") == str(required.epsilon)
            insist(same, f"{name} has another epsilon than the record states for {required.owner}")
            law = content.get("law")
            insist(isinstance(law, dict), f"{name} has no law")
            deltas = [part["delta"] for part in law.values() if isinstance(part, dict) and "delta" in part]
            if required.delta:
                same = list(law) == ["threshold"] and deltas == [str(required.delta)]
                insist(same, f"{name} is not the threshold, at its delta, that the record states for {required.owner}")
            insist(bool(required.delta) or not deltas, f"{name} has a delta, which {required.owner} does not count")
            connected.setdefault(name, []).append(required.owner)
            connected_digests.add(line.sha256)
    missing = tuple(line.required.owner for line in lines if line.sha256 not in connected_digests)
    strays = tuple(name for name in passports if name not in connected)
    return Connection({name: tuple(owners) for name, owners in connected.items()}, missing, strays)
