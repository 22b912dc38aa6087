"""The envelope of every JSON file that inbounds writes: format, version, content, and a digest of all three.

    {"format": "inbounds/mechanism", "version": 1, "content": {…}, "sha256": "…"}

The digest is the SHA-256 of the canonical JSON of the other three fields. A file is read once: `LoadedFile` keeps
its bytes, and `Document` is an envelope whose digest was checked. Later steps take one of these instead of a path.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from inbounds.errors import InboundsError, PassportError, UnknownVersion
from inbounds.files.atomic import SQLITE_MAGIC, write_atomically
from inbounds.files.bounded import parse_json
from inbounds.files.open_files import iter_chunks
from inbounds.trusted.limits import DEEPEST, LONGEST

Json = dict[str, Any]
Known = Mapping[str, Any] | list[Any] | None
"""The allowed fields: a mapping from names to the fields of the value, [fields] for a list of objects, None for any."""

T = TypeVar("T")

VERSION: Final = 1
"""The version of every format."""

MECHANISM: Final = "inbounds/mechanism"
RELEASE: Final = "inbounds/release"
COMPOSITION: Final = "inbounds/composition"
CHAIN: Final = "inbounds/chain"
LEDGER: Final = "inbounds/ledger"
LEDGER_HEAD: Final = "inbounds/ledger-head"
DRAW: Final = "inbounds/draw"
COLLECTION: Final = "inbounds/collection"
PERMANENT_REPORTS: Final = "inbounds/permanent-reports"

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of plain values: sorted keys, no spaces, ASCII. Digests are taken of this text."""
    return _CANONICAL.encode(value)


_LINE = json.JSONEncoder(ensure_ascii=False)


def format_json(value: Any, margin: str = "") -> str:
    """Return JSON text for people: a line for each field and item; a list without lists and objects is one line."""
    inner = margin + " "
    if isinstance(value, dict) and value:
        lines = [f"{_LINE.encode(name)}: {format_json(part, inner)}" for name, part in value.items()]
        first, last = "{", "}"
    elif isinstance(value, list | tuple) and not _CONTAINERS.isdisjoint(map(type, value)):
        lines = [format_json(item, inner) for item in value]
        first, last = "[", "]"
    else:
        return _LINE.encode(value)
    return f"{first}\n" + ",\n".join(f"{inner}{line}" for line in lines) + f"\n{margin}{last}"


_CONTAINERS = frozenset({dict, list, tuple})


def sha256_hex(content: str | bytes) -> str:
    """Return the SHA-256 of bytes, or of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


@dataclass(frozen=True)
class Document:
    """An envelope whose digest is right. path: the file it was read from, if any."""

    format: str
    version: int
    content: Json = field(repr=False)
    sha256: str
    path: Path | None = field(default=None, compare=False)

    @classmethod
    def wrap(cls, format: str, content: Json) -> "Document":  # noqa: A002 - the name of the field
        """Put content into an envelope with its digest.

        >>> Document.wrap("inbounds/mechanism", {}).sha256[:8]
        'a51a1c4b'
        """
        return cls(format, VERSION, content, _digest(format, VERSION, content))

    def to_json(self) -> Json:
        """Return the envelope as plain JSON values."""
        return {"format": self.format, "version": self.version, "content": self.content, "sha256": self.sha256}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically. An existing file is replaced only if it has the same format.

        Raises `ValueError` otherwise, so that a mistyped name does not destroy data or the record of a release.
        """
        target = Path(path)
        if target.exists() and detect_format(target) != self.format:
            raise ValueError(f"{target} exists and is no file of the format {self.format!r}; give another name")
        write_atomically(target, (json.dumps(self.to_json(), indent=1) + "\n").encode("utf-8"))


def _digest(format: str, version: Any, content: Any) -> str:  # noqa: A002
    return sha256_hex(canonical_json({"format": format, "version": version, "content": content}))


@dataclass(frozen=True)
class LoadedFile:
    """A file that was read: its path and its bytes (only the first bytes of an SQLite database)."""

    path: Path
    data: bytes = field(repr=False)

    @classmethod
    def load(cls, path: "str | os.PathLike[str] | LoadedFile") -> "LoadedFile":
        """Read a file; return a `LoadedFile` as it is. Raises `PassportError` if it is longer than LONGEST bytes."""
        if isinstance(path, LoadedFile):
            return path
        content = bytearray()
        with closing(iter_chunks(path)) as chunks:
            for chunk in chunks:  # count while reading: a pipe has no length, and a file may grow
                content += chunk
                if content.startswith(SQLITE_MAGIC):
                    break
                if len(content) > LONGEST:
                    raise PassportError(f"{os.fspath(path)} is longer than {LONGEST} bytes")
        return cls(Path(path), bytes(content))

    @property
    def is_database(self) -> bool:
        """Whether the file is an SQLite database."""
        return self.data.startswith(SQLITE_MAGIC)

    @cached_property
    def values(self) -> Any:
        """The JSON values of the file. Raises `PassportError` if it is not JSON or repeats a field."""
        try:
            return parse_json(self.data.decode("utf-8"), _refuse_repeats)
        except ValueError as reason:
            raise PassportError(f"{self.path} is not JSON text, or not nested at most {DEEPEST} deep") from reason

    @property
    def format(self) -> str | None:
        """The value of the field `format`, not checked any further; None if there is none."""
        try:
            name = self.values["format"]
        except (PassportError, LookupError, TypeError):
            return None
        return name if isinstance(name, str) else None

    @cached_property
    def document(self) -> Document:
        """The envelope in the file. Raises `PassportError` if it is malformed or its digest does not match."""
        return replace(parse_document(self.values), path=self.path)


FileLike = str | os.PathLike[str] | LoadedFile | Document
"""A path, or a file that was read already."""


def parse_document(values: Any, error: type[InboundsError] = PassportError) -> Document:
    """Return the envelope of plain JSON values, of any format, after checking its digest.

    Raises `UnknownVersion` for another version, and `error` if the values are malformed or were changed.
    """
    if not isinstance(values, dict) or not isinstance(values.get("format"), str):
        raise error("a file of inbounds must be a JSON object with a format")
    version = values.get("version")
    if type(version) is not int or version != VERSION:
        raise UnknownVersion(f"this file has version {str(version)[:20]}; inbounds reads version {VERSION}")
    refuse_unknown_fields(values, dict.fromkeys(("format", "version", "content", "sha256")), "the file", error)
    content = values.get("content")
    if not isinstance(content, dict):
        raise error("the content of a file must be a JSON object")
    try:
        digest = _digest(values["format"], version, content)
    except ValueError:  # an infinite number or NaN, which is never written
        digest = ""
    if not digest or values.get("sha256") != digest:
        raise error("the digest does not match: the file was changed after it was written")
    return Document(values["format"], version, content, digest)


@dataclass(frozen=True)
class FileFormat(Generic[T]):
    """A kind of file and how to read it.

    name: the value of the field `format`. title: the name for people. reader: turns a document into a checked value.
    error: the exception for an envelope or content that is wrong.
    """

    name: str
    title: str
    reader: Callable[[Document], T] = field(repr=False)
    error: type[InboundsError] = PassportError

    def parse(self, values: Any) -> Document:
        """Return the envelope of plain JSON values. Raises `error` if it has another format or is wrong."""
        format_name = values.get("format") if isinstance(values, dict) else None
        if format_name != self.name:
            raise self.error(f"a {self.title} must be a JSON object with the format {self.name!r}")
        return parse_document(values, self.error)

    def load(self, file: FileLike) -> Document:
        """Return the document in a file of this format. Only a path is read; a loaded file is not read again."""
        if isinstance(file, Document):
            if file.format != self.name:
                raise self.error(f"a {self.title} must have the format {self.name!r}, got {file.format[:60]!r}")
            return file
        loaded = LoadedFile.load(file)
        try:
            return replace(self.parse(loaded.values), path=loaded.path)
        except PassportError as reason:
            if issubclass(self.error, PassportError) or isinstance(reason, UnknownVersion):
                raise
            raise self.error(str(reason)) from reason

    def read(self, file: FileLike) -> T:
        """Read a file of this format and return its value, with everything in it checked."""
        return self.reader(self.load(file))


def refuse_unknown_fields(
    content: Any, known: Known, place: str = "the content", error: type[InboundsError] = PassportError
) -> None:
    """Raise `error` for an unknown field, which readers might take for one that was checked.

    A value whose fields are known must be an object or null, and one with known items a list or null.
    """
    if known is None or content is None:
        return
    if isinstance(known, list):
        if not isinstance(content, list):
            raise error(f"{place} must be a list")
        for item in content:
            refuse_unknown_fields(item, known[0], place, error)
        return
    if not isinstance(content, dict):
        raise error(f"{place} must be an object")
    for name, part in content.items():
        if name not in known:
            raise error(f"{place} has a field that no rule knows: {name[:40]!r}")
        refuse_unknown_fields(part, known[name], f"the field {name!r}", error)


@contextmanager
def as_passport_error(malformed: str, refused: str = "") -> Iterator[None]:
    """Turn every exception about a file's content into a `PassportError`.

    malformed: how the message begins for values that cannot be read. refused: how it begins if a check of this package
    refuses the values; by default the same.
    """
    try:
        yield
    except PassportError:
        raise
    except InboundsError as reason:
        raise PassportError(f"{refused or malformed}: {reason}") from reason
    except KeyError as reason:
        raise PassportError(f"{malformed}: the field {reason} is missing") from reason
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
        raise PassportError(f"{malformed}: {reason}") from reason


def detect_format(path: str | os.PathLike[str]) -> str | None:
    """Read a file and return the value of its field `format`; None if it is no JSON object with a format."""
    try:
        return LoadedFile.load(path).format
    except PassportError:
        return None


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> Json:
    if len({key for key, _ in pairs}) < len(pairs):
        raise PassportError("a file must not repeat a field")
    return dict(pairs)
