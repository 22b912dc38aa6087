"""Conditions as trees: how a plan writes them, and what they mean in plain Python.

    ("compare", sign, operand, operand)   ("among", operand, [constants])   ("null", operand)   ("true", operand)
    ("not", tree)                         ("and", [trees])                  ("or", [trees])

An operand is ("column", name), ("number", digits), ("text", letters) or ("truth", boolean).
"""

import operator
import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Tree = tuple[Any, ...]

SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

POWERS = [*(2**k for k in (31, 53, 63, 64, 127)), *(10**k for k in (9, 17, 18, 19, 20, 37, 38))]
HARD = [
    "0.00010000000000000002", "1e18", "1e-18", "1e99", "-1e99", "1e-99", "-0.0", "0.1", "4.5", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "9223372036854775807.5", "9007199254740992.5",
    "1234567890123456789012345678901234567890", "0.1234567890123456789012345678901234567891",
    "9999999999999999999999999999999999999999e99",
]  # fmt: skip
NUMBERS = [*HARD, *["0", "1", "0.5", "1e-40"], *(str(s * (p + d)) for p in POWERS for s in (1, -1) for d in (-1, 0, 1))]
"""Constants as they are written."""

DATES = ["2024-01-31", "0001-01-01", "9999-12-31", "1677-09-21", "2262-04-11", "1970-01-01"]
TEXTS = [
    "a",
    "b",
    "x" * 5000,
    "é",
    "e\u0301",
    "\u202e",
    "true",
    "TRUE",
    "1",
    "1.0",
    "",
    " ",
    "'",
    "2024-01-31",
    "\0",
    "%",
]


def text_of(tree: Tree) -> str:
    """The condition as a plan has it."""
    match tree:
        case ("column", name):
            return f'"{name}"'
        case ("number", digits):
            return str(digits)
        case ("text", letters):
            return "'{}'".format(letters.replace("'", "''"))
        case ("truth", value):
            return str(value).lower()
        case ("compare", sign, left, right):
            return f"{text_of(left)} {sign} {text_of(right)}"
        case ("among", subject, constants):
            return f"{text_of(subject)} in ({', '.join(map(text_of, constants))})"
        case ("null", subject):
            return f"{text_of(subject)} is null"
        case ("true", subject):
            return text_of(subject)
        case ("not", inner):
            return f"not ({text_of(inner)})"
        case (word, parts):
            return f" {word} ".join(f"({text_of(part)})" for part in parts)
    raise AssertionError(tree)


# --- at random --------------------------------------------------------------------------------------------


def constants_for(kind: str) -> list[Tree]:
    """What a column of a declared type may be compared with."""
    if kind == "number":
        return [("number", digits) for digits in NUMBERS]
    return [("truth", True), ("truth", False)] if kind == "boolean" else [("text", text) for text in (*TEXTS, *DATES)]


def tests_of(name: str, kind: str, constants: Sequence[Tree]) -> list[Tree]:
    """Each constant by one sign, all of them in turn; lists of constants, negations, and whether there is a value."""
    column, signs = ("column", name), list(SIGNS) if kind == "number" else ["=", "!="]
    found: list[Tree] = [("compare", signs[k % len(signs)], column, own) for k, own in enumerate(constants)]
    found += [("compare", signs[k % len(signs)], own, column) for k, own in enumerate(constants[:2])]
    found += [("among", column, list(constants[k : k + 4])) for k in range(0, len(constants), 4)]
    found += [("null", column), ("not", ("null", column))]
    return [*found, ("true", column), ("not", ("true", column))] if kind == "boolean" else found


def random_test(rng: random.Random, columns: Mapping[str, str]) -> Tree:
    """One test of a column, by a constant or by another column of its type."""
    name, kind = rng.choice(sorted(columns.items()))
    column, constants = ("column", name), constants_for(kind)
    same = [("column", other) for other, own in columns.items() if own == kind]
    signs = list(SIGNS) if kind == "number" else ["=", "!="]
    tests: list[Callable[[], Tree]] = [
        lambda: ("compare", rng.choice(signs), column, rng.choice(constants)),
        lambda: ("compare", rng.choice(signs), rng.choice(same), rng.choice(same)),
        lambda: ("among", column, rng.choices(constants, k=rng.randint(1, 4))),
        lambda: ("null", column),
    ]
    if kind == "boolean":
        tests.append(lambda: ("true", column))
    if kind == "text":
        tests.append(lambda: ("compare", rng.choice(list(SIGNS)), column, ("text", rng.choice(DATES))))
    return rng.choice(tests)()


def random_condition(rng: random.Random, columns: Mapping[str, str], depth: int = 3) -> Tree:
    """A condition of declared columns (name: number, text or boolean), nested up to `depth`."""
    if depth == 0 or rng.random() < 0.3:
        return random_test(rng, columns)
    if rng.random() < 0.3:
        return "not", random_condition(rng, columns, depth - 1)
    parts = [random_condition(rng, columns, depth - 1) for _ in range(rng.randint(2, 3))]
    return rng.choice(("and", "or")), parts


# --- in plain Python --------------------------------------------------------------------------------------


class Unclear(Exception):
    """The meaning is not said exactly: floats may round, texts may have several forms."""


def holds(tree: Tree, record: Mapping[str, Any]) -> bool | None:
    """Whether a record meets a condition; None where that can be neither said nor denied, for lack of a value.

    A number is a Fraction, or a float where its column holds floats; a value may be `Unclear` itself.
    """

    def value(operand: Tree) -> Any:
        kind, held = operand
        found = record[held] if kind == "column" else Fraction(held) if kind == "number" else held
        if found is Unclear:
            raise Unclear
        return fold(found) if isinstance(found, str) else found

    def compare(sign: str, left: Tree, right: Tree) -> bool | None:
        return compared(sign, value(left), value(right), rounded=left[0] == right[0] == "column")

    match tree:
        case ("compare", sign, left, right):
            return compare(sign, left, right)
        case ("among", subject, constants):
            return either([compare("=", subject, constant) for constant in constants])
        case ("null", subject):
            return value(subject) is None
        case ("true", subject):
            truth: bool | None = value(subject)
            return truth
        case ("not", inner):
            return opposite(holds(inner, record))
        case ("or", parts):
            return either([holds(part, record) for part in parts])
        case ("and", parts):
            return opposite(either([opposite(holds(part, record)) for part in parts]))
    raise AssertionError(tree)


def either(parts: Sequence[bool | None]) -> bool | None:
    return True if True in parts else None if None in parts else False


def opposite(part: bool | None) -> bool | None:
    return None if part is None else not part


def fold(text: str) -> str:
    """The one form of texts that match each other: TRUE and true, 3.0 and 3."""
    if text.lower() in ("true", "false"):
        return text.lower()
    return text.removesuffix(".0") if re.fullmatch(r"-?[0-9]+\.0", text) else text


def compared(sign: str, left: Any, right: Any, *, rounded: bool) -> bool | None:
    """A comparison; `Unclear` where floats decide it otherwise. rounded: exact numbers may be compared as floats."""
    if left is None or right is None:
        return None
    if isinstance(left, str) and sign not in ("=", "!="):
        days = all(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) for text in (left, right))
        return SIGNS[sign](left, right) if days else None
    if isinstance(left, str | bool):
        return SIGNS[sign](left, right)
    exactly = SIGNS[sign](Fraction(left), Fraction(right))
    if rounded or float in (type(left), type(right)):
        with np.errstate(over="ignore"):
            near = [SIGNS[sign](make(float(left)), make(float(right))) for make in (float, np.float32)]
        if not all(own == exactly for own in near):
            raise Unclear
    return exactly
