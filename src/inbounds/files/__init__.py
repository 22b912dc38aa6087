"""Files: one envelope, one canonical JSON, written whole or not at all, read without belief.

What is inside belongs to the rooms above: a passport to the mechanism, a release record to the tables.
"""

from inbounds.files.envelope import (
    RELEASE,
    Json,
    Kind,
    canonical,
    content_of,
    digest,
    format_of,
    refusing,
    sha256,
    write,
)
from inbounds.files.whole import (
    SQLITE_MAGIC,
    appearing,
    naming,
    on_disk,
    refuse_database,
    same_file,
    settle,
    write_text,
    write_whole,
)

__all__ = [
    "RELEASE",
    "SQLITE_MAGIC",
    "Json",
    "Kind",
    "appearing",
    "canonical",
    "content_of",
    "digest",
    "format_of",
    "naming",
    "on_disk",
    "refuse_database",
    "refusing",
    "same_file",
    "settle",
    "sha256",
    "write",
    "write_text",
    "write_whole",
]
