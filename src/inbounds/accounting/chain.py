"""Multi-level releases as files: the first mechanism's passport, the epsilons, the remaps, and a digest.

Reading believes nothing: the passport is certified again, the remaps are checked to be distributions, and the law of
every level goes through the checker's inequality, as when the release was made.
"""

import os
from typing import Any

import numpy as np

from inbounds import files
from inbounds.accounting.multilevel import MultiLevel
from inbounds.errors import InboundsError, PassportError, UnknownVersion
from inbounds.files.spelling import Json, whole_numbers
from inbounds.numbers import Ints, as_epsilon

FORMAT = "inbounds multi-level release"
VERSION = 1


def content(release: MultiLevel) -> Json:
    """The release as plain JSON values, with the digest of everything else in it."""
    found: Json = {
        "format": FORMAT,
        "version": VERSION,
        "first": files.passport(release.first),
        "epsilons": [str(epsilon) for epsilon in release.epsilons],
        "remaps": [[" ".join(map(str, row)) for row in remap.tolist()] for remap in release.remaps],
    }
    return {**found, "sha256": files.digest(found)}


def save(release: MultiLevel, path: str | os.PathLike[str]) -> None:
    """Write the release; the file appears whole or not at all."""
    files.write(content(release), path)


def load(path: str | os.PathLike[str]) -> MultiLevel:
    """Read and re-certify a multi-level release; any doubt is a `PassportError` that says what is wrong."""
    return read(files.content_of(path, "multi-level release"))


def read(found: Any) -> MultiLevel:
    """A multi-level release from its JSON values, certified anew."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise PassportError(f"a multi-level release must be a JSON object with the format {FORMAT!r}")
    if found.get("version") != VERSION:
        raise UnknownVersion(f"release version must be {VERSION}, got {str(found.get('version'))[:20]!r}")
    if found.get("sha256") != files.digest(found):
        raise PassportError("the digest does not match: the file was changed after it was written")
    try:
        epsilons = tuple(as_epsilon(text) for text in found["epsilons"])
        remaps = tuple(_remap(rows) for rows in found["remaps"])
        return MultiLevel(files.read(found["first"]), epsilons, remaps)
    except PassportError:
        raise
    except InboundsError as reason:
        raise PassportError(f"the chain is not private: {reason}") from reason
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
        raise PassportError(f"the release is malformed: {reason}") from reason


def _remap(rows: Any) -> Ints:
    return np.array([whole_numbers(row) for row in rows], dtype=np.int64)
