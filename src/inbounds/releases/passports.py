"""The mechanisms of a release: write their passports, and find them again from the record.

A mechanism holds nothing about the data, so its passport may be published beside the table.
"""

import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

from inbounds.errors import InboundsError, PassportError
from inbounds.files import FileLike
from inbounds.mechanism import AnyMechanism
from inbounds.mechanism.codec import query_from_json
from inbounds.mechanism.json_values import parse_fraction
from inbounds.mechanism.load import PASSPORT
from inbounds.releases.totals import includes_size
from inbounds.releases.verify import load_record
from inbounds.releases.workload import Mechanisms
from inbounds.schema.record_types import MechanismRecord, ReleaseRecord
from inbounds.statistics.designs import ADDING, DesignOptions, design_request
from inbounds.statistics.entries import statistic_from_json

# --- to files ---------------------------------------------------------------------------------------------


def write_passports(mechanisms: Mechanisms, folder: str | PathLike[str]) -> list[Path]:
    """Write one passport per statistic and size, `<statistic>-<size>.json`; shared ones are named first..last.

    Raises ValueError if a file holds another mechanism: an earlier release may need it.
    """
    directory = Path(folder)
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"mechanisms must be a folder, got {directory}")
    targets = {directory / f"{name}.json": mechanism for name, mechanism in _name_files(mechanisms)}
    for target, mechanism in targets.items():
        if target.exists() and not _is_passport_of(mechanism, target):
            raise ValueError(f"{target} exists and is not this mechanism's passport; give another folder")
    directory.mkdir(parents=True, exist_ok=True)
    for target, mechanism in targets.items():
        mechanism.save(target)
    return list(targets)


def _is_passport_of(mechanism: AnyMechanism, file: Path) -> bool:
    try:
        return PASSPORT.load(file).sha256 == mechanism.sha256
    except InboundsError:
        return False


def _name_files(mechanisms: Mechanisms) -> Iterator[tuple[str, AnyMechanism]]:
    used_names = set()
    for statistic, size, mechanism in _share_mechanisms(mechanisms):
        stem, number = _stem(statistic, size), 1
        while (name := stem if number == 1 else f"{stem}-{number}").casefold() in used_names:
            number += 1  # two names that differ only in what file names cannot hold
        used_names.add(name.casefold())
        yield name, mechanism


def _share_mechanisms(mechanisms: Mechanisms) -> Iterator[tuple[str, str, AnyMechanism]]:
    """Yield every mechanism of a statistic once, with its sizes as the record writes them."""
    sizes: dict[tuple[str, int], list[int]] = {}
    for (statistic, size), mechanism in mechanisms.items():
        sizes.setdefault((statistic, id(mechanism)), []).append(size)
    for (statistic, _), statistic_sizes in sizes.items():
        size_text = (
            str(statistic_sizes[0]) if len(statistic_sizes) == 1 else f"{statistic_sizes[0]}..{statistic_sizes[-1]}"
        )
        yield statistic, size_text, mechanisms[statistic, statistic_sizes[0]]


def _stem(statistic: str, size: str) -> str:
    """Make a file name from a statistic's name: letters, digits, dots and dashes, no hidden file, no other folder."""
    plain = re.sub(r"[^\w.-]+", "_", statistic).lstrip(".")[:100]
    return f"{plain or 'statistic'}-{size}"


# --- from a record ----------------------------------------------------------------------------------------


def find_mechanism(
    record: FileLike | ReleaseRecord,
    statistic: str | None = None,
    size: int | None = None,
    folder: str | PathLike[str] | None = None,
    layer: str | None = None,
) -> AnyMechanism:
    """Find the mechanism that answered a statistic for groups of a size, by the digest in the release record.

    record: the file, or its content. statistic, size: not needed if the record has only one.
    folder: passports that the publisher gave, under any names; without it the mechanism is designed again from the
    query and the options in the record, which gives the same integers.
    layer: a level or margin of a statistic that adds up; by default its own numbers.

    Raises PassportError if no mechanism has the digest.
    """
    content = record if isinstance(record, Mapping) else load_record(record)
    try:
        line = find_mechanism_record(content, statistic, size, layer)
        mechanism = _design_again(content, line) if folder is None else _find_in_folder(Path(folder), line["sha256"])
    except (LookupError, TypeError, AttributeError):
        raise PassportError("the record does not say which mechanisms were used") from None
    if mechanism is not None:
        return mechanism
    if folder is not None:
        raise PassportError(f"no passport in {folder} has the digest that the record states for {_owner(line)}")
    raise PassportError(
        f"the mechanism of {_owner(line)} cannot be designed again here with the digest that the record states; "
        "ask the publisher for the passports (inbounds release --passports FOLDER) and give their folder"
    )


def find_mechanism_record(
    content: ReleaseRecord, statistic: str | None, size: int | None, layer: str | None = None
) -> MechanismRecord:
    """Find the record's line about a statistic, a size and a layer; by default the statistic's own numbers."""
    lines = content["mechanisms"]
    names = list(dict.fromkeys(line["statistic"] for line in lines))
    if statistic not in names and (statistic is not None or len(names) > 1):
        raise ValueError(f"statistic must be one of {', '.join(names)}{_format_got(statistic)}")
    candidates = [line for line in lines if line["statistic"] == (statistic or names[0])]
    layers = list(dict.fromkeys(line["layer"] for line in candidates if "layer" in line))
    if layer is not None and layer not in layers:
        raise ValueError(f"layer must be one of {', '.join(layers) or 'none: it does not add up'}, got {layer!r}")
    if layers:
        candidates = [line for line in candidates if line["layer"] == (layers[0] if layer is None else layer)]
    fitting = candidates if size is None else [line for line in candidates if includes_size(line["size"], size)]
    if len(fitting) != 1:
        sizes = ", ".join(str(line["size"]) for line in candidates)
        raise ValueError(f"size must be one of the group sizes {sizes}{_format_got(size)}")
    return fitting[0]


def _format_got(value: object) -> str:
    return "" if value is None else f", got {value!r}"


def _find_in_folder(folder: Path, sha256: str) -> AnyMechanism | None:
    """Find the passport with this digest in a folder; loading certifies it again."""
    for file in sorted(folder.glob("*.json")):
        try:
            passport = PASSPORT.load(file)
            if passport.sha256 == sha256:
                return PASSPORT.read(passport)
        except InboundsError:
            continue  # no passport, or a changed one
    return None


def _design_again(content: ReleaseRecord, line: MechanismRecord) -> AnyMechanism | None:
    """Design the mechanism again from the record; None if its digest differs."""
    plan = content["plan"]
    (statistic,) = [s for s in plan["statistics"] if s["name"] == line["statistic"]]
    try:
        query, epsilon = query_from_json(line["query"]), parse_fraction(line["epsilon"])
        stated = DesignOptions(**statistic.get("design", plan["design"]))
        options = statistic_from_json(statistic).adjust_options(stated)
        options = ADDING if "layer" in line else options
        mechanism = design_request(query, epsilon, options)
        return mechanism if mechanism.sha256 == line["sha256"] else None
    except (ValueError, ArithmeticError):  # a record may contain anything
        return None


def _owner(line: MechanismRecord) -> str:
    return f"{line['statistic']} in groups of {line['size']}"
