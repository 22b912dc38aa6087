"""What names of columns say: words, and whether they tell persons apart. Guesses, for an author to confirm."""

import re

PERSONS = (
    "person", "pupil", "student", "patient", "user", "client", "customer", "respondent", "employee", "member",
    "participant", "citizen", "child", "teacher", "subscriber", "account", "ssn",
)  # fmt: skip
"""Words for persons in names of columns."""

IDENTIFIERS = ("id", "uuid", "no", "nr", "num", "number", "key", "code", "identifier")
"""Words that make a column of them one that tells persons apart."""


def split_words(name: str) -> set[str]:
    """Split a name into words: studentId, student_id and Student ID have the words student and id."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return set(re.findall(r"[^\W_]+", apart.lower()))


def names_persons(name: str) -> bool:
    """Return whether a column's name says that it tells persons apart: patient_id, and not id or patients."""
    words = split_words(name)
    return bool(words & {*PERSONS}) and (bool(words & {*IDENTIFIERS}) or len(words) == 1)
