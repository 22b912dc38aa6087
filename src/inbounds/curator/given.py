"""What was given to whom: one row for each account and answer, and one for each key that an account used."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.curator.accounts import Account, AskerRow, check_rows, hold_rows, spend
from inbounds.curator.errors import KeyTaken
from inbounds.curator.repeats import AskedQuestion, FoundAnswer, How, Recipe
from inbounds.files import canonical, sha256
from inbounds.ledger.amounts import amount
from inbounds.ledger.store import Run

EVERYTHING_GIVEN = "SELECT id, account, dataset, key, question, how, recipe, level, units, time, rows FROM given"


@dataclass(frozen=True)
class Given:
    """An answer that an account is given: the question as asked, and the key of the stored one that it follows from.

    level: the epsilon of the level that the account sees, where there are levels. rows: of its table. charged: its cap
    was charged for it by this call; the same answer again costs nothing. noted: it was not given before.
    """

    id: str
    account: str
    dataset: str
    key: str
    question: Mapping[str, Any]
    how: How
    recipe: Recipe | None
    level: str | None
    units: int
    time: str
    rows: int
    charged: bool = False
    noted: bool = False

    @property
    def epsilon(self) -> Fraction:
        """What it costs the account's cap."""
        return amount("sum", self.units)


def reserve(
    run: Run,
    account: Account,
    before: AskerRow,
    found: FoundAnswer,
    asked: AskedQuestion,
    level: Fraction | None,
    now: str,
) -> Given:
    """Note that an account is given an answer, and charge its cap unless it has it already; `OverCap` if it cannot.

    level: the epsilon of the account's own level, where the dataset has levels.
    """
    told = asked.question.plain()
    seen = None if level is None else str(level)
    own = {"account": account.name, "key": found.key, "question": told, "level": seen}
    name = sha256(canonical(own))[:32]
    before_under = run(f"{EVERYTHING_GIVEN} WHERE account = ? AND key = ?", account.name, found.key)
    earlier_ones = [_given(*row) for row in before_under]
    there = next((one for one in earlier_ones if one.id == name), None)
    if there is not None:
        return there
    dataset = asked.dataset
    epsilon = found.asked.epsilon if level is None else level
    larger = level is None and epsilon > asked.epsilon
    charged = all(one.level != seen for one in earlier_ones)  # whatever question it was given for
    units = spend(run, account.name, before, dataset.name, epsilon, stored=larger) if charged else 0
    _note_question(run, found.asked, now)
    recipe = None if found.recipe is None else canonical(found.recipe)
    who, rows = account.name, len(asked.plan.groups)
    values = who, dataset.name, found.key, canonical(told), found.how, recipe, seen, units, now, rows
    run("INSERT INTO given VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", name, *values)
    facts = name, who, dataset.name, found.key, told, found.how, found.recipe, seen, units, now, rows
    return Given(*facts, charged, noted=True)


def _note_question(run: Run, asked: AskedQuestion, now: str) -> None:
    own = asked.identity
    told = canonical({**asked.question.plain(), **_epsilon(asked)})
    values = asked.dataset.name, own.base, own.family, str(asked.epsilon), told, now
    run("INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", asked.key, *values)


def _epsilon(asked: AskedQuestion) -> dict[str, str]:
    return {} if asked.dataset.levels else {"epsilon": str(asked.epsilon)}


def note_mechanisms(run: Run, key: str, digests: Iterable[str]) -> None:
    """Note what draws the answer of a question, by the digests of its passports."""
    for digest in digests:
        run("INSERT INTO mechanisms VALUES (?, ?) ON CONFLICT DO NOTHING", key, digest)


def is_drawn_by(run: Run, account: str, digest: str) -> bool:
    """Whether an account was given an answer that the mechanism of this digest drew.

    Looked up through the account's own answers, so that what others were given takes no time.
    """
    return bool(
        run(
            "SELECT 1 FROM given JOIN mechanisms ON mechanisms.key = given.key "
            "WHERE account = ? AND sha256 = ? LIMIT 1",
            *(account, digest),
        )
    )


def forget(run: Run, given: Given) -> None:
    """Strike out that an answer was given, and the keys that it was asked under."""
    own = given.account, given.id
    ((keys,),) = run("SELECT count(*) FROM requests WHERE account = ? AND given = ?", *own)
    run("DELETE FROM requests WHERE account = ? AND given = ?", *own)
    run("DELETE FROM given WHERE id = ?", given.id)
    hold_rows(run, given.account, -keys - given.rows)


def given_by_id(run: Run, name: str) -> Given | None:
    rows = run(f"{EVERYTHING_GIVEN} WHERE id = ?", name)
    return _given(*rows[0]) if rows else None


def given_to(run: Run, account: str) -> list[Given]:
    """All that an account was given, the last first."""
    return [_given(*row) for row in run(f"{EVERYTHING_GIVEN} WHERE account = ? ORDER BY time DESC, id", account)]


def all_given(run: Run) -> list[Given]:
    """All that anybody was given."""
    return [_given(*row) for row in run(EVERYTHING_GIVEN)]


def given_of(run: Run, dataset: str) -> list[Given]:
    """All that anybody was given of a dataset."""
    return [_given(*row) for row in run(f"{EVERYTHING_GIVEN} WHERE dataset = ? ORDER BY time, id", dataset)]


def _given(
    name: str, account: str, dataset: str, key: str, question: str, how: How, recipe: str | None, *rest: Any
) -> Given:
    made = None if recipe is None else json.loads(recipe)
    return Given(name, account, dataset, key, json.loads(question), how, made, *rest)


def request_digest(asked: AskedQuestion) -> str:
    """What a key stands for: the question, its epsilon and how it was asked."""
    question = asked.question
    return sha256(canonical({"key": asked.key, "question": question.plain(), "anew": question.anew}))


def earlier(run: Run, before: AskerRow, key: str | None, digest: str) -> Given | None:
    """What an account was given under a key; `KeyTaken` if that was for another question."""
    if before.given is None:
        return None
    if before.digest != digest:
        raise KeyTaken(f"key must be new for another question, got {key!r} of an earlier one; give another key")
    return given_by_id(run, before.given)


def note(run: Run, account: Account, before: AskerRow, mine: Given, key: str | None, digest: str, most: int) -> None:
    """Note what a key of an account stands for, and the rows that it holds from now on, at most so many."""
    rows = mine.rows * mine.noted + (key is not None)
    check_rows(account.name, before.held + rows, most)
    if key is not None:
        run("INSERT INTO requests VALUES (?, ?, ?, ?)", account.name, key, digest, mine.id)
    if rows:
        hold_rows(run, account.name, rows)
