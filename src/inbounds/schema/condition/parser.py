"""Parser of conditions: text to tokens to a `tree`, or an error that points at the character.

    condition  = either, { "or", either }
    either     = negation, { "and", negation }
    negation   = "not", negation | "(", condition, ")" | test
    test       = operand, ("=" | "!=" | "<>" | "<" | "<=" | ">" | ">="), operand
               | operand, ["not"], "in", "(", literal, { ",", literal }, ")"
               | operand, ["not"], "between", literal, "and", literal
               | operand, "is", ["not"], "null"
               | boolean column
    operand    = column | literal
    literal    = 'text' (two quotes for one) | number | true | false

A column is a plain name, or any name in double quotes. Keywords may be written in any case.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from inbounds.schema.condition.tree import (
    And,
    ColumnRef,
    Compare,
    Condition,
    In,
    IsNull,
    IsTrue,
    Literal,
    Not,
    Operand,
    Or,
)

QUOTED_NAMES = "a name with other signs than letters, digits and _ stands in double quotes"
"""Hint for a name such as first-seen."""

WORDS = ("and", "or", "not", "in", "between", "is", "null", "true", "false")
DRAFTED = "'…'"
"""The placeholder of `inbounds init` for a text to fill in; as a text it would match no record."""

DEEPEST = 100
"""Largest depth of nested parentheses and negations."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+")
    | (?P<number>-?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?(?![\w.]))
    | (?P<word>[^\W\d]\w*)
    | (?P<sign><=|>=|<>|!=|==|=|<|>|\(|\)|,)
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    value: str
    start: int


def parse(text: str) -> Condition:
    """Parse a condition; raise ValueError with the position of the first character that is not in the language.

    >>> parse("answer = 'yes' and not age < 18")  # doctest: +ELLIPSIS
    And(parts=(Compare(sign='=', ...), Not(inner=Compare(sign='<', ...))))
    """
    if not isinstance(text, str):
        raise ValueError(f"must be a condition in quotes, got {type(text).__name__}; 'true' counts all records")
    return _parse(text)


@lru_cache(maxsize=256)
def _parse(text: str) -> Condition:
    """Parse a condition; cached, because every part of a plan that uses the condition parses it."""
    reader = _Reader(text, _tokens(text))
    condition = reader.condition(0)
    reader.expect("end")
    return condition


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(text, place)
        if match is None:
            start = len(text) - len(text[place:].lstrip())
            wanted = "the quotation mark is not closed" if text[start] in "'\"" else f"no such sign; {QUOTED_NAMES}"
            raise _outside(text, start, wanted)
        kind = str(match.lastgroup)
        value = match[kind].lower() if kind == "word" and match[kind].lower() in WORDS else match[kind]
        if kind == "word" and value in WORDS:
            kind = value
        tokens.append(_Token(kind if kind != "sign" else value, value, match.start(str(match.lastgroup))))
        place = match.end()
    return tokens


def _outside(text: str, start: int, wanted: str) -> ValueError:
    """Build the error for text that is not part of the language."""
    near = text[start : start + 12].strip() or "the end"
    return ValueError(
        f"is not in the language of conditions at character {start + 1} ({near!r}): {wanted}; "
        "conditions compare declared columns with =, !=, <, <=, >, >=, in, between, is null, and, or, not"
    )


class _Reader:
    """A recursive-descent parser; `place` is the position of the next token."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text, self.tokens, self.place = text, tokens, 0

    def take(self, *kinds: str) -> _Token | None:
        """Consume and return the next token if it is of one of these kinds, else return None."""
        token = self.tokens[self.place]
        if token.kind not in kinds:
            return None
        self.place += token.kind != "end"
        return token

    def expect(self, *kinds: str, wanted: str = "") -> _Token:
        """Consume and return the next token; raise ValueError if it is of another kind."""
        token = self.take(*kinds)
        if token is None:
            names = wanted or " or ".join("the end" if kind == "end" else kind for kind in kinds)
            raise _outside(self.text, self.tokens[self.place].start, f"expected {names}{self._quoted_name()}")
        return token

    def _quoted_name(self) -> str:
        """Return a hint for two names in a row, which may be one name without double quotes."""
        previous, current = self.tokens[max(0, self.place - 1)], self.tokens[self.place]
        if previous is current or not previous.kind == current.kind == "word":
            return ""
        both = self.text[previous.start : current.start + len(current.value)].replace("\n", " ")
        return f'; if "{both[:40]}" is one name, write it in double quotes, a text in single ones'

    def condition(self, depth: int) -> Condition:
        parts = [self.either(depth)]
        while self.take("or"):
            parts.append(self.either(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def either(self, depth: int) -> Condition:
        parts = [self.negation(depth)]
        while self.take("and"):
            parts.append(self.negation(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def negation(self, depth: int) -> Condition:
        if depth > DEEPEST:
            raise _outside(self.text, self.tokens[self.place].start, f"nested more than {DEEPEST} deep")
        if self.take("not"):
            return Not(self.negation(depth + 1))
        if self.take("("):
            inner = self.condition(depth + 1)
            self.expect(")")
            return inner
        return self.test()

    def test(self) -> Condition:
        left = self.operand()
        if sign := self.take("=", "==", "!=", "<>", "<", "<=", ">", ">="):
            plain = {"==": "=", "<>": "!="}.get(sign.value, sign.value)
            return Compare(plain, left, self.operand())
        if self.take("is"):
            negated = self.take("not")
            self.expect("null")
            return Not(IsNull(left)) if negated else IsNull(left)
        negated = self.take("not")
        if negated or self.tokens[self.place].kind in ("in", "between"):
            condition = self.range_or_list(left)
            return Not(condition) if negated else condition
        return IsTrue(left)

    def range_or_list(self, left: Operand) -> Condition:
        if self.expect("in", "between").kind == "between":
            low = self.literal()
            self.expect("and")
            return And((Compare(">=", left, low), Compare("<=", left, self.literal())))
        self.expect("(")
        values = [self.literal()]
        while self.take(","):
            values.append(self.literal())
        self.expect(")")
        return In(left, tuple(values))

    def operand(self) -> Operand:
        if name := self.take("word"):
            return ColumnRef(name.value)
        if name := self.take("quoted"):
            return ColumnRef(name.value[1:-1].replace('""', '"'))
        return self.literal("a column or a value")

    def literal(self, wanted: str = "a value") -> Literal:
        token = self.expect("text", "number", "true", "false", wanted=wanted)
        if token.value == DRAFTED:
            raise ValueError(f"must be completed: {DRAFTED} in a draft stands for a text of yours, such as 'yes'")
        if token.kind == "text":
            return Literal(token.value[1:-1].replace("''", "'"))
        return Literal(Fraction(token.value)) if token.kind == "number" else Literal(token.kind == "true")
