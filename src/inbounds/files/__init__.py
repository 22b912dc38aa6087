"""Files: one envelope, one canonical JSON, written whole or not at all, read without belief.

What is inside belongs to the rooms above: a passport to the mechanism, a release record to the tables.
"""

from inbounds.files.atomic import (
    SQLITE_MAGIC,
    atomic_writer,
    is_same_file,
    refuse_database,
    sync_directory,
    synced_file,
    with_file_name,
    write_atomically,
    write_text,
)
from inbounds.files.envelope import (
    RELEASE,
    FileFormat,
    Json,
    as_passport_error,
    canonical_json,
    content_digest,
    detect_format,
    read_json_file,
    sha256_hex,
    write_json_file,
)

__all__ = [
    "RELEASE",
    "SQLITE_MAGIC",
    "FileFormat",
    "Json",
    "as_passport_error",
    "atomic_writer",
    "canonical_json",
    "content_digest",
    "detect_format",
    "is_same_file",
    "read_json_file",
    "refuse_database",
    "sha256_hex",
    "sync_directory",
    "synced_file",
    "with_file_name",
    "write_atomically",
    "write_json_file",
    "write_text",
]
