"""Files: passports and records, written whole or not at all, read without belief."""

from inbounds.files.passports import (
    FORMAT,
    VERSIONS,
    average_loss,
    claims,
    content_of,
    digest,
    load,
    objective_value,
    passport,
    read,
    same_file,
    save,
    settle,
    version_of,
    write,
)

__all__ = [
    "FORMAT",
    "VERSIONS",
    "average_loss",
    "claims",
    "content_of",
    "digest",
    "load",
    "objective_value",
    "passport",
    "read",
    "same_file",
    "save",
    "settle",
    "version_of",
    "write",
]
