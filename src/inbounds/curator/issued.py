"""Answers issued to accounts: one row for each account and answer, and one for each key that an account used."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.curator.accounts import Account, AccountRow, add_rows, charge_cap, check_rows
from inbounds.curator.errors import KeyConflict, UnknownResource
from inbounds.curator.reuse import How, PricedQuestion, ReusableAnswer, SumRecipe, format_digits
from inbounds.files import canonical_json, sha256_hex
from inbounds.ledger.store import Run
from inbounds.ledger.units import units_to_amount

SELECT_ISSUED = "SELECT id, account, dataset, key, question, how, recipe, level, units, time, rows FROM given"


@dataclass(frozen=True)
class IssuedAnswer:
    """An answer that is issued to an account: the question as asked, and the key of the stored answer that it follows
    from.

    level: the epsilon of the account's level, if there are levels. rows: of its table. charged: this call charged the
    account's cap; the same answer again costs nothing. noted: it was not issued before.
    """

    id: str
    account: str
    dataset: str
    key: str
    question: Mapping[str, Any]
    how: How
    recipe: SumRecipe | None
    level: str | None
    units: int
    time: str
    rows: int
    charged: bool = False
    noted: bool = False

    @property
    def epsilon(self) -> Fraction:
        """What it costs the account's cap."""
        return units_to_amount("sum", self.units)


def reserve_answer(
    run: Run,
    account: Account,
    account_row: AccountRow,
    reusable: ReusableAnswer,
    request: PricedQuestion,
    level: Fraction | None,
    now: str,
) -> IssuedAnswer:
    """Note that an answer is issued to an account, and charge its cap unless it holds the answer already. Raises
    `CapExceeded`.

    level: the epsilon of the account's own level, where the dataset has levels.
    """
    question = request.values
    level_text = None if level is None else str(level)
    identity = {"account": account.name, "key": reusable.key, "question": question, "level": level_text}
    name = sha256_hex(canonical_json(identity))[:32]
    rows_before = run(f"{SELECT_ISSUED} WHERE account = ? AND key = ?", account.name, reusable.key)
    earlier_answers = [_issued_from_row(*row) for row in rows_before]
    earlier = next((one for one in earlier_answers if one.id == name), None)
    if earlier is not None:
        return earlier
    dataset = request.dataset
    epsilon = reusable.source.epsilon if level is None else level
    larger = level is None and epsilon > request.epsilon
    charged = all(one.level != level_text for one in earlier_answers)  # for whichever question it was issued
    units = charge_cap(run, account.name, account_row, dataset.name, epsilon, stored=larger) if charged else 0
    _note_question(run, reusable.source, now)
    recipe = None if reusable.recipe is None else canonical_json(reusable.recipe)
    account_name, rows = account.name, len(request.plan.groups)
    values = (
        account_name,
        dataset.name,
        reusable.key,
        canonical_json(question),
        reusable.how,
        recipe,
        level_text,
        units,
        now,
        rows,
    )
    run("INSERT INTO given VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", name, *values)
    facts = (
        name,
        account_name,
        dataset.name,
        reusable.key,
        question,
        reusable.how,
        reusable.recipe,
        level_text,
        units,
        now,
        rows,
    )
    return IssuedAnswer(*facts, charged, noted=True)


def _note_question(run: Run, request: PricedQuestion, now: str) -> None:
    identity, columns = request.identity, canonical_json(request.question.by)
    base = identity.base, identity.family, columns, len(request.plan.groups)
    run("INSERT INTO bases VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", *base)
    question = canonical_json({**request.values, **_epsilon(request)})
    epsilon = str(request.epsilon), format_digits(request.epsilon)
    values = request.dataset.name, identity.base, *epsilon, question, now
    run("INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", request.key, *values)


def _epsilon(request: PricedQuestion) -> dict[str, str]:
    return {} if request.dataset.levels else {"epsilon": str(request.epsilon)}


def note_mechanisms(run: Run, key: str, digests: Iterable[str]) -> None:
    """Note what draws the answer of a question, by the digests of its passports."""
    for digest in digests:
        run("INSERT INTO mechanisms VALUES (?, ?) ON CONFLICT DO NOTHING", key, digest)


def is_drawn_by(run: Run, account: str, digest: str) -> bool:
    """Return whether an account holds an answer that the mechanism with this digest drew.

    The search goes through the account's answers, so its time does not depend on the answers of others.
    """
    return bool(
        run(
            "SELECT 1 FROM given JOIN mechanisms ON mechanisms.key = given.key "
            "WHERE account = ? AND sha256 = ? LIMIT 1",
            *(account, digest),
        )
    )


def cancel_reservation(run: Run, answer: IssuedAnswer) -> None:
    """Delete an issued answer and the keys that it was asked under."""
    account_and_id = answer.account, answer.id
    ((keys,),) = run("SELECT count(*) FROM requests WHERE account = ? AND given = ?", *account_and_id)
    run("DELETE FROM requests WHERE account = ? AND given = ?", *account_and_id)
    run("DELETE FROM given WHERE id = ?", answer.id)
    add_rows(run, answer.account, -keys - answer.rows)


def find_issued(run: Run, name: str) -> IssuedAnswer | None:
    rows = run(f"{SELECT_ISSUED} WHERE id = ?", name)
    return _issued_from_row(*rows[0]) if rows else None


PAGE = 100
"""Answers of one page."""


def issued_to_account(run: Run, account: str, before: str | None = None) -> tuple[list[IssuedAnswer], str | None]:
    """Return a page of the answers issued to an account, the last first, and the id that the next page goes on from.

    before: the last id of the page before; None for the first page. The id is None after the last page.
    """
    where, values = "account = ?", [account]
    if before is not None:
        rows = run("SELECT time FROM given WHERE account = ? AND id = ?", account, before)
        if not rows:
            raise UnknownResource(f"before must be the id of an answer of this account, got {before[:64]!r}")
        where, values = "account = ? AND (time < ? OR (time = ? AND id < ?))", [account, rows[0][0], rows[0][0], before]
    found = run(f"{SELECT_ISSUED} WHERE {where} ORDER BY time DESC, id DESC LIMIT ?", *values, PAGE + 1)
    page = [_issued_from_row(*row) for row in found[:PAGE]]
    return page, page[-1].id if len(found) > PAGE else None


def list_issued(run: Run) -> list[IssuedAnswer]:
    """List all issued answers."""
    return [_issued_from_row(*row) for row in run(SELECT_ISSUED)]


def held_answers(run: Run, dataset: str) -> dict[str, dict[str, Fraction]]:
    """Return for each answer about a dataset the accounts that hold it, each with the largest epsilon of its own."""
    rows = run(
        "SELECT given.key, account, coalesce(level, epsilon) FROM given JOIN questions ON questions.key = given.key "
        "WHERE given.dataset = ?",
        dataset,
    )
    held: dict[str, dict[str, Fraction]] = {}
    epsilons = {text: Fraction(text) for text in {row[2] for row in rows}}
    for key, account, text in rows:
        holders, epsilon = held.setdefault(key, {}), epsilons[text]
        holders[account] = max(epsilon, holders.get(account, epsilon))
    return held


def last_questions(run: Run, dataset: str, most: int) -> dict[str, Any]:
    """Return the questions about a dataset whose answers were issued last, by key."""
    rows = run(
        "SELECT questions.key, questions.question FROM questions JOIN "
        "(SELECT key, max(time) AS last FROM given WHERE dataset = ? GROUP BY key) AS latest "
        "ON latest.key = questions.key ORDER BY last DESC, questions.key LIMIT ?",
        *(dataset, most),
    )
    return {key: json.loads(question) for key, question in rows}


def _issued_from_row(
    name: str, account: str, dataset: str, key: str, question: str, how: How, recipe: str | None, *rest: Any
) -> IssuedAnswer:
    sum_recipe = None if recipe is None else json.loads(recipe)
    return IssuedAnswer(name, account, dataset, key, json.loads(question), how, sum_recipe, *rest)


def request_digest(request: PricedQuestion) -> str:
    """Return the digest of what a key stands for: the question, its epsilon and whether it must be redrawn."""
    facts = {"key": request.key, "question": request.values, "redraw": request.question.redraw}
    return sha256_hex(canonical_json(facts))


def find_by_key(run: Run, account_row: AccountRow, key: str | None, digest: str) -> IssuedAnswer | None:
    """Find the answer that an account got under a key; `KeyConflict` if that was another question."""
    if account_row.answer_id is None:
        return None
    if account_row.digest != digest:
        raise KeyConflict(f"key must be new for another question, got {key!r} of an earlier one; give another key")
    return find_issued(run, account_row.answer_id)


def record_request(
    run: Run, account: Account, account_row: AccountRow, answer: IssuedAnswer, key: str | None, digest: str, most: int
) -> None:
    """Record which request a key of an account stands for, and the rows that the account holds from now on. most: the
    limit.
    """
    rows = answer.rows * answer.noted + (key is not None)
    check_rows(account.name, account_row.held + rows, most)
    if key is not None:
        run("INSERT INTO requests VALUES (?, ?, ?, ?)", account.name, key, digest, answer.id)
    if rows:
        add_rows(run, account.name, rows)
