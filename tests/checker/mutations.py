"""Malformed files, made systematically: one place of a JSON value changed in every way that a forger might try."""

import copy
import random
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]


def deep(levels: int) -> Any:
    """Lists within lists."""
    found: Any = []
    for _ in range(levels):
        found = [found]
    return found


OTHERS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 0.5, 1e308, 10**12, 2**53 - 1, 2**63, 10**400, -(10**400)),
    *("", " ", "0", "1", "-1", "1/0", "0/5", "nan", "NaN", "inf", "1e9", "01", "+1", "1.0", "1_0", "٣", "\ud800", "\0"),
    *("1000000000000", str(2**53 - 1), "9" * 400, "9" * 5000, "1/" + "9" * 400, "x", "0 0", "../x", "true"),
    *([], [[]], {}, {"": None}, {"x": 1}, [None], ["x"], [1], ["x", "x"]),
)
"""What stands in another's place: another type, huge, negative, empty, a text that a reader may take for a number."""

DEEP = deep(40)


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place in a JSON value, from the top down."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield from places(part, (*place, name))


def value_at(value: Any, place: Place) -> Any:
    for name in place:
        value = value[name]
    return value


def replaced(content: Any, place: Place, other: Any) -> Any:
    """A copy with another value in one place."""
    if not place:
        return other
    found = copy.deepcopy(content)
    value_at(found, place[:-1])[place[-1]] = other
    return found


def changes(content: Any, place: Place) -> Iterator[tuple[str, tuple[Place, Any]]]:
    """One place changed: taken away, given twice, joined by a field, and put in the place of others."""
    own = value_at(content, place)
    for other in OTHERS:
        if type(other) is not type(own) or other != own:
            yield f"{place}: {str(other)[:30]!r}", (place, other)
    yield f"{place}: deep", (place, DEEP)
    if type(own) is int:
        for more in (-1, 1, 10**9):
            yield f"{place}: {own} and {more}", (place, own + more)
    if type(own) is str:
        for other in (own + " ", " " + own, own + own, own[1:], own.upper(), own + "/1", own + ".0", "0" + own):
            if other != own:
                yield f"{place}: {other[:30]!r}", (place, other)
    if type(own) is list and own:
        yield f"{place}: one twice", (place, [*own, own[-1]])
        yield f"{place}: one less", (place, own[:-1])
        yield f"{place}: the first twice", (place, [own[0]] * len(own) if len(own) > 1 else own * 2)
        if own != own[::-1]:
            yield f"{place}: turned", (place, own[::-1])
    if type(own) is dict:
        yield f"{place}: a field more", (place, {**own, "more": 1})
        if own:
            first = next(iter(own))
            yield f"{place}: {first!r} renamed", (place, {"renamed": own[first], **own})
    if place and isinstance(value_at(content, place[:-1]), dict):
        parent = {name: part for name, part in value_at(content, place[:-1]).items() if name != place[-1]}
        yield f"{place}: left out", (place[:-1], parent)


def mutations(content: Any, place: Place) -> Iterator[tuple[str, Any]]:
    """The content with each of these changes."""
    for name, change in changes(content, place):
        yield name, replaced(content, *change)


def some_mutations(content: Any, seed: int, count: int) -> list[tuple[str, Any]]:
    """So many of them, by chance; the same ones for a seed. Places of long lists are as likely as short ones'."""
    chance, everywhere = random.Random(seed), list(places(content))
    kinds: dict[Place, list[Place]] = {}
    for place in everywhere:
        kinds.setdefault(tuple("" if isinstance(name, int) else name for name in place), []).append(place)
    shapes, found = list(kinds.values()), list[tuple[str, Any]]()
    while len(found) < count:
        place = chance.choice(chance.choice(shapes))
        name, change = chance.choice(list(changes(content, place)))
        found.append((name, replaced(content, *change)))
    return found
