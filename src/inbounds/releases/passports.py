"""The mechanisms of a release as files, and back from its record: what a reader needs to calculate with the table.

A mechanism holds nothing about the data, so its passport may be published beside the table.
"""

import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.errors import InboundsError, PassportError
from inbounds.files import read_json_file
from inbounds.mechanism.codec import parse_fraction, query_from_json
from inbounds.mechanism.load import mechanism_from_json as read_passport
from inbounds.mechanism.passport import QUANTILE_PASSPORT
from inbounds.mechanism.quantiles.load import quantile_mechanism_from_json, quantile_query_from_json
from inbounds.releases.totals import includes_size
from inbounds.releases.verify import load_record as read_record
from inbounds.releases.workload import Mechanisms
from inbounds.schema.record_types import MechanismRecord, ReleaseRecord
from inbounds.statistics import KINDS
from inbounds.statistics.designs import ADDING, AnyMechanism, DesignOptions, design_request

# --- to files ---------------------------------------------------------------------------------------------


def write_passports(mechanisms: Mechanisms, folder: str | PathLike[str]) -> list[Path]:
    """One passport per statistic and size, `<statistic>-<size>.json`; sizes that share one are named first..last.

    A file of another mechanism is not replaced: an earlier release may need it.
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise ValueError(f"mechanisms must be a folder, got {place}")
    targets = {place / f"{name}.json": made for name, made in _name_files(mechanisms)}
    for target, made in targets.items():
        if target.exists() and not _is_passport_of(made, target):
            raise ValueError(f"{target} exists and is not this mechanism's passport; give another folder")
    place.mkdir(parents=True, exist_ok=True)
    for target, made in targets.items():
        made.save(target)
    return list(targets)


def _is_passport_of(made: AnyMechanism, file: Path) -> bool:
    try:
        return bool(read_json_file(file, "passport")["sha256"] == made.sha256)
    except (InboundsError, LookupError, TypeError):
        return False


def _name_files(mechanisms: Mechanisms) -> Iterator[tuple[str, AnyMechanism]]:
    taken = set()
    for statistic, size, made in _share_mechanisms(mechanisms):
        stem, more = _stem(statistic, size), 1
        while (name := stem if more == 1 else f"{stem}-{more}").casefold() in taken:
            more += 1  # two names that differ only in what file names cannot hold
        taken.add(name.casefold())
        yield name, made


def _share_mechanisms(mechanisms: Mechanisms) -> Iterator[tuple[str, str, AnyMechanism]]:
    """Every mechanism of a statistic once, with its sizes as the record writes them."""
    sizes: dict[tuple[str, int], list[int]] = {}
    for (statistic, size), made in mechanisms.items():
        sizes.setdefault((statistic, id(made)), []).append(size)
    for (statistic, _), own in sizes.items():
        spoken = str(own[0]) if len(own) == 1 else f"{own[0]}..{own[-1]}"
        yield statistic, spoken, mechanisms[statistic, own[0]]


def _stem(statistic: str, size: str) -> str:
    """A file name from a statistic's name: letters, digits, dots and dashes, no hidden file, no other folder."""
    plain = re.sub(r"[^\w.-]+", "_", statistic).lstrip(".")[:100]
    return f"{plain or 'statistic'}-{size}"


# --- from a record ----------------------------------------------------------------------------------------


def find_mechanism(
    record: str | PathLike[str] | ReleaseRecord,
    statistic: str | None = None,
    size: int | None = None,
    folder: str | PathLike[str] | None = None,
    layer: str | None = None,
) -> AnyMechanism:
    """The mechanism that answered a statistic for groups of a size, found by the digest in the release record.

    record: the file, or its content. statistic, size: which one; not needed where the record has only one. folder:
    passports that the publisher gave (any names); without it the mechanism is designed again from the query and the
    wishes in the record, which gives the same integers. Either way the digest decides: a `PassportError` if no
    mechanism has it. layer: a level or margin of a statistic that adds up; by default its own numbers.
    """
    content = record if isinstance(record, Mapping) else read_record(record)
    try:
        line = find_mechanism_record(content, statistic, size, layer)
        found = _designed_again(content, line) if folder is None else _among(Path(folder), line["sha256"])
    except (LookupError, TypeError, AttributeError):
        raise PassportError("the record does not say which mechanisms were used") from None
    if found is not None:
        return found
    if folder is not None:
        raise PassportError(f"no passport in {folder} has the digest that the record states for {_owner(line)}")
    raise PassportError(
        f"the mechanism of {_owner(line)} cannot be designed again here with the digest that the record states; "
        "ask the publisher for the passports (inbounds release --passports FOLDER) and give their folder"
    )


def find_mechanism_record(
    content: ReleaseRecord, statistic: str | None, size: int | None, layer: str | None = None
) -> MechanismRecord:
    """The record's line about a statistic and a size, and a layer of one that adds up: by default its own numbers."""
    lines = content["mechanisms"]
    names = list(dict.fromkeys(line["statistic"] for line in lines))
    if statistic not in names and (statistic is not None or len(names) > 1):
        raise ValueError(f"statistic must be one of {', '.join(names)}{_format_given(statistic)}")
    own = [line for line in lines if line["statistic"] == (statistic or names[0])]
    layers = list(dict.fromkeys(line["layer"] for line in own if "layer" in line))
    if layer is not None and layer not in layers:
        raise ValueError(f"layer must be one of {', '.join(layers) or 'none: it does not add up'}, got {layer!r}")
    if layers:
        own = [line for line in own if line["layer"] == (layers[0] if layer is None else layer)]
    fitting = own if size is None else [line for line in own if includes_size(line["size"], size)]
    if len(fitting) != 1:
        sizes = ", ".join(str(line["size"]) for line in own)
        raise ValueError(f"size must be one of the group sizes {sizes}{_format_given(size)}")
    return fitting[0]


def _format_given(given: object) -> str:
    return "" if given is None else f", got {given!r}"


def _among(folder: Path, sha256: str) -> AnyMechanism | None:
    """The passport with this digest; reading certifies it anew."""
    for file in sorted(folder.glob("*.json")):
        try:
            content = read_json_file(file, "passport")
            if isinstance(content, dict) and content.get("sha256") == sha256:
                known = content.get("format") == QUANTILE_PASSPORT.format
                return quantile_mechanism_from_json(content) if known else read_passport(content)
        except InboundsError:
            continue  # no passport, or one that was changed
    return None


def _designed_again(content: ReleaseRecord, line: MechanismRecord) -> AnyMechanism | None:
    plan = content["plan"]
    (own,) = [s for s in plan["statistics"] if s["name"] == line["statistic"]]
    try:
        query = quantile_query_from_json(line["quantile"]) if "quantile" in line else query_from_json(line["query"])
        epsilon = parse_fraction(line["epsilon"])
        wishes = KINDS[own["kind"]].wishes(wishes_in(own.get("wishes", plan["wishes"])))
        wishes = ADDING if "layer" in line else wishes
        found = design_request(query, epsilon, wishes)
        return found if found.sha256 == line["sha256"] else None
    except (ValueError, ArithmeticError):  # a record may say anything
        return None


def wishes_in(said: Mapping[str, Any]) -> DesignOptions:
    """The wishes that a plan in a record states."""
    prior = said.get("prior")
    fields = {name: said[name] for name in ("loss", "aim", "mechanism") if name in said}
    numbers = None if prior is None else (prior[0], *map(parse_fraction, prior[1:]))
    properties, limits = (tuple(said.get(name, ())) for name in ("properties", "limits"))
    return DesignOptions(**fields, properties=properties, prior=numbers, limits=limits)


def _owner(line: MechanismRecord) -> str:
    return f"{line['statistic']} in groups of {line['size']}"
