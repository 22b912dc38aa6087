"""Envelopes for tests: content in one, and one that gets its digest again after it was changed."""

from inbounds.files import Document, Json, canonical_json, sha256_hex


def digest_of(envelope: Json) -> str:
    """The digest that an envelope with these fields must state."""
    return sha256_hex(canonical_json({name: part for name, part in envelope.items() if name != "sha256"}))


def seal(envelope: Json) -> Json:
    """The envelope with the digest of what it holds now."""
    return {**envelope, "sha256": digest_of(envelope)}


def wrap(format: str, content: Json) -> Json:  # noqa: A002 - the field's own name
    """Content in an envelope, as plain JSON values."""
    return Document.wrap(format, content).to_json()
