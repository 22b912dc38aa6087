"""How arguments are refused: in one sentence of what they must be, what was got, and the way out.

`used_like` is put on whatever people call: arguments that are missing, unknown or too many end with an example, and one
of the wrong kind with what it must be, and the argument that it was swapped with. A call that fits pays for nothing but
the kinds: only one that raised a TypeError is looked at again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, Signature, signature
from numbers import Number
from os import PathLike
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

LONGEST = 80
"""Characters of a value that a sentence quotes; of a longer one it names the type."""


def meant(name: object, known: Iterable[str]) -> str:
    """A question to end a message with, where a name that nobody knows is nearly one that is known; else nothing.

    >>> meant("fiar", ["fair", "symmetric"]), meant("blue", ["fair", "symmetric"])
    ("; did you mean 'fair'?", '')
    """
    from difflib import get_close_matches

    close = get_close_matches(str(name).lower(), list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


@dataclass(frozen=True)
class MustBe:
    """What an argument must be, in types and in words.

    types: by the first it is known in another argument's place; the others serve as well. elsewhere: where another
    value belongs, or how the right one is made of it, by the name of its type. beside_data: people's values may stand
    in its place by mistake; they are not repeated.
    """

    types: tuple[type, ...]
    words: str
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    beside_data: bool = False

    def refusal(self, name: str, got: object, others: Mapping[str, object]) -> TypeError:
        """The error for an argument that is something else. others: arguments that may have changed places with it."""
        swapped = [other for other, value in others.items() if isinstance(value, self.types[0])]
        kind = type(got).__name__
        way_out = f"{swapped[0]} holds one, so the two are swapped" if swapped else self.elsewhere.get(kind, "")
        return TypeError(f"{name} must be {self.words}, got {self._told(got)}{way_out and '; '}{way_out}")

    def _told(self, got: object) -> str:
        """Values of ours, numbers and short texts as they are written; the type of what could hold people's data."""
        said = repr(got) if self._may_be_told(got) else ""
        return said if 0 < len(said) <= LONGEST else type(got).__name__

    def _may_be_told(self, got: object) -> bool:
        ours = got is None or type(got).__module__.startswith("inbounds.")
        return ours or (isinstance(got, Number | str) and not self.beside_data)


A_GENERATOR = MustBe((np.random.Generator,), "a generator such as np.random.default_rng(0)", beside_data=True)
A_LIST = MustBe((list, Iterable), "a list", beside_data=True)
A_PATH = MustBe((PathLike, str), "a path such as 'm.json'", {"Mechanism": "mechanism.save(path) writes one"})


def used_like(example: str, **kinds: MustBe) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Of a public function or method: arguments that do not fit are refused in one sentence that ends with an example.

    kinds: what arguments must be, by their names. The object before a method's dot is no argument to people: it is
    left out where it is called self, or as in the example, `mechanism.loss("squared")`.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        order = cast(FunctionType, function).__code__.co_varnames
        places = [(order.index(name), name, kind) for name, kind in kinds.items()]

        @wraps(function)
        def called(*args: P.args, **named: P.kwargs) -> R:
            for place, name, kind in places:
                got = args[place] if place < len(args) else named.get(name, places)  # no value is our own list
                if not isinstance(got, kind.types) and got is not places:
                    others = {**dict(zip(order, args, strict=False)), **named}
                    raise kind.refusal(name, got, {o: v for o, v in others.items() if kinds.get(o) is not kind})
            try:
                return function(*args, **named)
            except TypeError:
                takes = signature(function)
                if _fits(takes, args, named):  # it is the function's own
                    raise
            raise TypeError(_misuse(function, example, takes, args, named))

        return called

    return decorated


def _fits(takes: Signature, args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    try:
        takes.bind(*args, **named)
    except TypeError:
        return False
    return True


def _misuse(
    function: Callable[..., Any], example: str, takes: Signature, args: tuple[Any, ...], named: Mapping[str, Any]
) -> str:
    """The sentence for a call: by the name that people use, and without the object before a method's dot."""
    name, known = function.__name__, dict(takes.parameters)
    first = next(iter(known), "")
    if first == "self" or example.startswith(f"{first}."):
        del known[first]
        args = args[1:]
    if name == "__init__":
        name = function.__qualname__.split(".")[-2]
    misused = _misfit(name, known, args, named)
    return misused if misused.endswith("?") else f"{misused}; such as {example}"


def _misfit(name: str, known: Mapping[str, Parameter], args: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """What is wrong with a call: an unknown name, too many values, one given twice, or some that are missing."""
    ordered = [own for own, p in known.items() if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    unknown = [own for own in named if own not in known]
    if unknown and not any(p.kind is Parameter.VAR_KEYWORD for p in known.values()):
        alike = [own for own in known if own[0] == unknown[0][0]]  # else epsilon would be meant for person
        takes = ", ".join(known) or "no arguments"
        return f"{name} takes {takes}, got {unknown[0]!r}{meant(unknown[0], alike)}"
    if len(args) > len(ordered):
        rest = [own for own in known if own not in ordered]
        by_name = f", and {', '.join(rest)} by name" if rest else ""
        in_order = f"{len(ordered)} in order ({', '.join(ordered)})" if ordered else "none in order"
        return f"{name} takes {in_order}{by_name}, got {len(args)}"
    twice = [own for own in ordered[: len(args)] if own in named]
    if twice:
        return f"{name} takes {twice[0]} once, got it in order and by name"
    needed = [own for own, p in known.items() if p.default is Parameter.empty and p.kind in NEEDED]
    missing = [own for own in needed if own not in ordered[: len(args)] and own not in named]
    return f"{name} needs {' and '.join(missing)}"


NEEDED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
