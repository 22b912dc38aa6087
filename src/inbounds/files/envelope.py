"""The envelope of our JSON files: what kind a file is of, which version, its content, and a digest of all of that.

A digest is the sha256 of the canonical JSON of every field but itself. Fields may be added to a kind, never
redefined; a change of meaning is a new version.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inbounds.errors import InboundsError, PassportError, UnknownVersion
from inbounds.files.atomic import write_atomically
from inbounds.files.bounded import parse_json, read_text
from inbounds.trusted.limits import DEEPEST

Json = dict[str, Any]

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: Any) -> str:
    """The one way to write plain values as JSON: keys in order, no spaces, ASCII."""
    return _CANONICAL.encode(value)


def sha256_hex(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def content_digest(content: Json) -> str:
    """sha256 of the canonical JSON of all fields but the digest itself."""
    return sha256_hex(canonical_json({key: value for key, value in content.items() if key != "sha256"}))


RELEASE = "inbounds release"
"""The format of a release record: rooms that do without tables must know one when they see it."""


@dataclass(frozen=True)
class FileFormat:
    """A kind of file. name: what people call it; format: what the file calls itself; versions: those that are read."""

    name: str
    format: str
    versions: tuple[int, ...] = (1,)

    def wrap(self, content: Json, version: int | None = None) -> Json:
        """The content in its envelope, of the latest version unless another is given."""
        named = {"format": self.format, "version": version or self.versions[-1], **content}
        return {**named, "sha256": content_digest(named)}

    def unwrap(self, content: Any) -> Json:
        """The content of an envelope that was not changed; a `PassportError` otherwise."""
        if not isinstance(content, dict) or content.get("format") != self.format:
            raise PassportError(f"a {self.name} must be a JSON object with the format {self.format!r}")
        version = content.get("version")
        if type(version) is not int or version not in self.versions:
            known = " or ".join(map(str, self.versions))
            raise UnknownVersion(f"{self.name} version must be {known}, got {str(version)[:20]!r}")
        found = _digest_or_none(content)
        if found is None or content.get("sha256") != found:
            raise PassportError("the digest does not match: the file was changed after it was written")
        return content

    def load(self, path: str | os.PathLike[str]) -> Json:
        """The content of a file of this kind."""
        return self.unwrap(read_json_file(path, self.name))

    def save(self, content: Json, path: str | os.PathLike[str]) -> None:
        """The content in its envelope under `path`; what is there is replaced only if it is of the same kind."""
        write_json_file(self.wrap(content), path)


def _digest_or_none(content: Json) -> str | None:
    """The digest; None where a number is infinite or none, which we never write."""
    try:
        return content_digest(content)
    except ValueError:
        return None


@contextmanager
def as_passport_error(malformed: str, refused: str = "") -> Iterator[None]:
    """Whatever is wrong with a file's content is a `PassportError` that begins with one of these words.

    malformed: for values that cannot be read. refused: for what they say, if one of our own checks refuses it.
    """
    try:
        yield
    except PassportError:
        raise
    except InboundsError as reason:
        raise PassportError(f"{refused or malformed}: {reason}") from reason
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
        raise PassportError(f"{malformed}: {reason}") from reason


def read_json_file(path: str | os.PathLike[str], what: str) -> Any:
    """The JSON values of a file, none of them named twice; `what` names the kind of file in the error."""
    try:
        return parse_json(read_text(os.fspath(path)), _no_repeats)
    except ValueError as reason:
        why = f"it is not JSON text, or not nested at most {DEEPEST} deep"
        raise PassportError(f"{path} is not a {what}: {why}") from reason


def detect_format(path: str | os.PathLike[str]) -> str | None:
    """What a file says it is; None if it is no JSON object with a format."""
    try:
        found = parse_json(read_text(path))["format"]
    except (ValueError, LookupError, TypeError):
        return None
    return found if isinstance(found, str) else None


def write_json_file(content: Json, path: str | os.PathLike[str]) -> None:
    """JSON text under `path`, whole or not at all; what is there is replaced only if it is of the same format.

    A mistyped name must not cost anybody a survey, or the record of a release.
    """
    target = Path(path)
    if target.exists() and detect_format(target) != content["format"]:
        raise ValueError(f"{target} exists and is no file of the format {content['format']!r}; give another name")
    write_atomically(target, (json.dumps(content, indent=1) + "\n").encode("utf-8"))


def _no_repeats(pairs: list[tuple[str, Any]]) -> Json:
    if len({key for key, _ in pairs}) < len(pairs):
        raise PassportError("a passport must not repeat a field")
    return dict(pairs)
