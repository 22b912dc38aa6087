"""Files: passports and records, written whole or not at all, read without belief."""

from inbounds.files.passports import (
    FORMAT,
    VERSIONS,
    claims,
    content_of,
    digest,
    format_of,
    load,
    passport,
    read,
    same_file,
    save,
    summary,
    version_of,
    write,
)

__all__ = [
    "FORMAT",
    "VERSIONS",
    "claims",
    "content_of",
    "digest",
    "format_of",
    "load",
    "passport",
    "read",
    "same_file",
    "save",
    "summary",
    "version_of",
    "write",
]
