"""Accounts of a curator: added, found by token, revoked. Each account sees a dataset at its level."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from inbounds.curator import accounts
from inbounds.curator.accounts import Account, Grant, Role
from inbounds.curator.database import ThreadConnections
from inbounds.curator.dataset import Dataset
from inbounds.curator.errors import Forbidden, UnknownResource
from inbounds.exact import Number


@dataclass(frozen=True)
class Access:
    """The accounts of a curator and the datasets that they may ask."""

    connections: ThreadConnections
    datasets: Mapping[str, Dataset]
    clock: Callable[[], str]

    def add(self, name: str, caps: Mapping[str, Number | None], role: Role, levels: Mapping[str, str]) -> str:
        """Add an account and return its token, which is shown only once."""
        grants = {}
        for dataset, cap in caps.items():
            if dataset not in self.datasets:
                raise UnknownResource(f"dataset must be one of {', '.join(self.datasets)}, got {dataset!r}")
            level = find_level(self.datasets[dataset], levels.get(dataset))
            grants[dataset] = Grant(dataset, accounts.parse_cap(cap), level=level)
        token = accounts.new_token()
        with self.connections.store.writing() as run:
            accounts.add_account(run, name, role, grants, token, self.clock())
        return token

    def revoke(self, name: str) -> None:
        """Revoke an account: its token is unknown from now on."""
        with self.connections.store.writing() as run:
            accounts.revoke(run, name, self.clock())

    def all(self) -> list[Account]:
        """Return all accounts, including revoked ones."""
        with self.connections.store.reading() as run:
            return accounts.all_accounts(run)

    def with_token(self, token: str) -> Account:
        """Return the account with this token; `UnknownToken` if there is none."""
        return accounts.find_account_by_token(self.connections.store.look, token)

    def is_known(self, name: str) -> Dataset:
        """Return a dataset of the curator; `UnknownResource` if there is none of this name."""
        if name not in self.datasets:
            raise UnknownResource(f"dataset must be one that this account may ask, got {name!r}")
        return self.datasets[name]

    def dataset(self, account: Account, name: str) -> Dataset:
        """Return a dataset that this account may ask; `UnknownResource` for any other."""
        if account.role != "owner" and name not in account.grants:
            raise UnknownResource(f"dataset must be one that this account may ask, got {name!r}")
        return self.is_known(name)


def find_level(dataset: Dataset, level: str | None) -> str | None:
    """Return the level of a new grant: the lowest one unless one is named."""
    if not dataset.levels and level is None:
        return None
    chosen = list(dataset.levels)[-1] if level is None else level
    if chosen not in dataset.levels:
        known = ", ".join(dataset.levels) or "none"
        raise ValueError(f"level must be one of those of {dataset.name} ({known}), got {chosen!r}")
    return chosen


def account_level(account: Account, dataset: Dataset) -> Fraction | None:
    """Return the epsilon of the level that an account sees; an owner sees the highest."""
    if not dataset.levels:
        return None
    grant = account.grants.get(dataset.name)
    name = (grant.level if grant else next(iter(dataset.levels))) or ""
    if name not in dataset.levels:
        raise Forbidden(f"this account must have one of the levels of {dataset.name}; ask the owner for one")
    return dataset.levels[name]
