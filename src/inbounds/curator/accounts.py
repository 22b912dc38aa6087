"""Accounts in the curator's database: the digest of a random token, and for each dataset a cap and a level."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from inbounds.curator.errors import CapExceeded, RowLimitExceeded, UnknownToken
from inbounds.exact import Number, format_all_digits, to_fraction
from inbounds.files import sha256_hex
from inbounds.ledger.population import validate_name
from inbounds.ledger.store import Run
from inbounds.ledger.units import budget_units, charge_units, units_to_amount

Role = Literal["analyst", "owner"]

PREFIX = "ib_"
"""The start of every token, so that people and scanners recognize one."""

LONGEST_TOKEN = 200


@dataclass(frozen=True)
class Grant:
    """The right of an account to ask about a dataset.

    cap: the epsilon that it may spend in all; None for no cap. spent: the epsilon it has spent. level: the level it
    sees.
    """

    dataset: str
    cap: Fraction | None = None
    spent: Fraction = Fraction(0)
    level: str | None = None

    @property
    def remaining(self) -> Fraction | None:
        return None if self.cap is None else self.cap - self.spent

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; amounts as exact decimals in text."""
        amounts = {"cap": self.cap, "spent": self.spent, "left": self.remaining}
        texts = {name: None if value is None else format_all_digits(value) for name, value in amounts.items()}
        return {"dataset": self.dataset, **texts, "level": self.level}


@dataclass(frozen=True)
class Account:
    """An account that asks questions. An owner may ask everything and sees what was spent.

    rows: how many rows of answers and keys it holds.
    """

    name: str
    role: Role
    grants: Mapping[str, Grant] = field(default_factory=dict)
    made: str = ""
    revoked: str | None = None
    rows: int = 0

    def to_json(self) -> dict[str, Any]:
        datasets = [grant.to_json() for grant in self.grants.values()]
        facts = {"name": self.name, "role": self.role, "made": self.made, "revoked": self.revoked, "rows": self.rows}
        return {**facts, "datasets": datasets}


def new_token() -> str:
    """Return a random token of 256 bits from the operating system."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the digest of a token, which is all that is stored. A token of 256 random bits cannot be found by
    search.
    """
    return sha256_hex(token[:LONGEST_TOKEN])


def add_account(run: Run, name: str, role: Role, grants: Mapping[str, Grant], token: str, now: str) -> None:
    """Add an account. A name is never used twice, so the list of issued answers stays unambiguous."""
    validate_name(name, "account")
    if run("SELECT 1 FROM accounts WHERE name = ?", name):
        raise ValueError(f"account must be a new name, got {name!r}; names of revoked accounts cannot be used again")
    run("INSERT INTO accounts VALUES (?, ?, ?, ?, NULL, 0)", name, role, hash_token(token), now)
    for grant in grants.values():
        cap = None if grant.cap is None else budget_units("sum", grant.cap, None)
        run("INSERT INTO grants VALUES (?, ?, ?, 0, ?)", name, grant.dataset, cap, grant.level)


def revoke(run: Run, name: str, now: str) -> None:
    """Revoke an account: its token is unknown from now on."""
    if not run("SELECT 1 FROM accounts WHERE name = ? AND revoked IS NULL", name):
        raise ValueError(f"account must be one that exists and is not revoked, got {name!r}")
    run("UPDATE accounts SET revoked = ? WHERE name = ?", now, name)


def find_account_by_token(run: Run, token: str) -> Account:
    """Find the account with this token."""
    rows = run(
        "SELECT name, role, made, held, revoked, dataset, cap, spent, level FROM accounts "
        "LEFT JOIN grants ON account = name WHERE token = ? ORDER BY dataset",
        hash_token(token),
    )
    if not rows or rows[0][4] is not None:
        raise UnknownToken("the token must be that of an account; ask the owner for one")
    name, role, made, held = rows[0][:4]
    return Account(name, role, {row[5]: _grant(*row[5:]) for row in rows if row[5] is not None}, made, rows=held)


def list_grants(run: Run, account: str) -> dict[str, Grant]:
    rows = run("SELECT dataset, cap, spent, level FROM grants WHERE account = ? ORDER BY dataset", account)
    return {row[0]: _grant(*row) for row in rows}


def _grant(dataset: str, cap: int | None, spent: int, level: str | None) -> Grant:
    return Grant(dataset, _epsilon(cap), units_to_amount("sum", spent), level)


def all_accounts(run: Run) -> list[Account]:
    rows = run("SELECT name, role, made, revoked, held FROM accounts ORDER BY name")
    return [Account(name, role, list_grants(run, name), *facts) for name, role, *facts in rows]


class AccountRow(NamedTuple):
    """An account while it asks, as the tables hold it.

    held: rows that it holds. dataset, cap, spent, level: its grant, None without one. digest, answer_id: the request it
    made under this key before, and the answer that it got.
    """

    held: int
    dataset: str | None
    cap: int | None
    spent: int | None
    level: str | None
    digest: str | None
    answer_id: str | None

    def grant(self, dataset: str, units: int) -> Grant:
        """Return its grant for a dataset after it has spent so many more units."""
        if self.spent is None:
            return Grant(dataset)  # an owner has no cap
        return _grant(dataset, self.cap, self.spent + units, self.level)


def load_account_row(run: Run, account: str, dataset: str, key: str | None) -> AccountRow:
    """Load everything about an account that a question needs, in one statement."""
    (row,) = run(
        "SELECT held, dataset, cap, spent, level, digest, given FROM accounts "
        "LEFT JOIN grants ON grants.account = name AND dataset = ? "
        "LEFT JOIN requests ON requests.account = name AND requests.key = ? WHERE name = ?",
        *(dataset, key, account),
    )
    return AccountRow(*row)


def charge_cap(
    run: Run, account: str, account_row: AccountRow, dataset: str, epsilon: Fraction, *, stored: bool = False
) -> int:
    """Charge an account's cap inside a write transaction and return the units. The database checks the cap again.

    stored: the epsilon is that of a stored answer, not the one that was asked for.
    """
    units, cap, spent = charge_units("sum", (epsilon,)), account_row.cap, account_row.spent
    if spent is None:
        return units  # an owner has no cap
    if cap is not None and units > cap - spent:
        raise CapExceeded(account, epsilon, units_to_amount("sum", cap - spent), stored=stored)
    run("UPDATE grants SET spent = spent + ? WHERE account = ? AND dataset = ?", units, account, dataset)
    return units


def add_rows(run: Run, account: str, rows: int) -> None:
    """Change the number of rows that an account holds."""
    run("UPDATE accounts SET held = held + ? WHERE name = ?", rows, account)


def check_rows(account: str, held: int, most: int) -> None:
    """Raise `RowLimitExceeded` if an account would hold more rows than allowed; the caller rolls the
    transaction back.
    """
    if held > most:
        raise RowLimitExceeded(account, held, most)


def parse_cap(cap: Number | None) -> Fraction | None:
    amount = None if cap is None else to_fraction(cap, "cap")
    if amount is not None and not amount > 0:
        raise ValueError(f"cap must be positive, got {cap}; leave it out for none")
    return amount


def _epsilon(units: int | None) -> Fraction | None:
    return None if units is None else units_to_amount("sum", units)
