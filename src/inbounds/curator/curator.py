"""The curator: questions over time about the same people, answered in bounds and within their budget.

    question → canonical form → stored answer?                        the people pay nothing
                              → design → charge → draw → store → give   the ledger's protocol

Everything a service does is a call here.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from typing import Any

from inbounds.curator import continuity, given
from inbounds.curator.access import Access, level_seen
from inbounds.curator.accounts import Account, Role
from inbounds.curator.answering import Answering
from inbounds.curator.answers import GivenAnswer
from inbounds.curator.database import Connections
from inbounds.curator.dataset import Dataset
from inbounds.curator.designing import Designer
from inbounds.curator.errors import NotAllowed, NotFound
from inbounds.curator.exposure import Exposure, drew, exposed
from inbounds.curator.given import Given
from inbounds.curator.previews import AskedPreview, previewed
from inbounds.curator.question import Question, question_from
from inbounds.curator.repeats import AskedQuestion
from inbounds.curator.settings import ServiceLimits, Settings, read_settings
from inbounds.curator.sources import Sources
from inbounds.ledger import People
from inbounds.numbers import Number, decimal
from inbounds.tables.designs import USUAL
from inbounds.tables.engine import open_source
from inbounds.tables.errors import PlanError, at
from inbounds.tables.levels import GEOMETRIC

QuestionLike = Question | Mapping[str, Any]
"""A question, or its plain values."""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Curator:
    """A curator of datasets; `Curator.open` for a file of settings. clock: for tests.

    Any thread may call; each has its own connections. Several processes may share one database and ledger.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], str] = now) -> None:
        self.settings, limits = settings, settings.limits
        settings.designs.mkdir(parents=True, exist_ok=True)
        self.designer = Designer(settings.designs, limits.design_seconds, limits.design_bytes, limits.designs)
        self._connections, self._sources = Connections(settings.ledger, settings.database), Sources(limits.threads)
        self._access = Access(self._connections, settings.datasets, clock)
        self._answering = Answering(self._connections, self._sources, self.designer, self._access, limits.rows, clock)
        try:
            self._connections.begin()
            self._declare_people()
        except BaseException:
            self._connections.close()
            raise

    @staticmethod
    def open(path: str | PathLike[str]) -> "Curator":
        """The curator that a TOML file describes."""
        return Curator(read_settings(path))

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def leave(self) -> None:
        """End the connections of this thread, which will ask no more."""
        self._sources.close()
        self._connections.close()

    def close(self) -> None:
        """End this thread's connections, and the processes that design."""
        self.designer.close()
        self.leave()

    @property
    def limits(self) -> ServiceLimits:
        return self.settings.limits

    def check_sources(self) -> None:
        """A `SourceError` unless every source can be opened and has what is declared; no record is read."""
        for dataset in self.settings.datasets.values():
            try:
                with at("datasets", dataset.name):
                    open_source(dataset.everything()).close()
            except PlanError as error:
                raise error.placed(self.settings.lines.place(error.path)) from None

    def check(self) -> None:
        """An error unless ledger and database can be read."""
        self._connections.ledger.head()
        with self._connections.store.reading() as run:
            run("SELECT 1 FROM accounts LIMIT 1")

    def _declare_people(self) -> None:
        ledger = self._connections.ledger
        there = {who.name for who in ledger.people()}
        for dataset in self.settings.datasets.values():
            if dataset.people.name not in there:
                budget = dataset.budget
                ledger.create_people(dataset.people.name, budget.epsilon, budget.rule, budget.delta)  # type: ignore[arg-type]
        head = ledger.head()
        with self._connections.store.writing() as run:
            continuity.note_head(run, head)

    def other_budgets(self) -> list[str]:
        """In words, where the ledger has another budget than the settings declare; the ledger's holds."""
        datasets = self.settings.datasets.values()
        return [line for one in datasets if (line := one.budget.against(self.people(one), one.name))]

    # --- accounts -----------------------------------------------------------------------------------------

    def add_account(
        self,
        name: str,
        datasets: Mapping[str, Number | None] | None = None,
        *,
        role: Role = "analyst",
        levels: Mapping[str, str] | None = None,
    ) -> str:
        """A new account; its token, which is shown this once.

        datasets: what it may ask, with a cap in epsilon for each, or None for no cap but the people's. levels: at which
        level it sees a dataset that has levels; the lowest unless said.
        """
        return self._access.add(name, datasets or {}, role, levels or {})

    def revoke_account(self, name: str) -> None:
        """From now on its token is unknown."""
        self._access.revoke(name)

    def accounts(self) -> list[Account]:
        """All accounts, revoked ones too."""
        return self._access.all()

    def account_named(self, name: str) -> Account:
        """The account of this name, as it stands now."""
        return next(one for one in self.accounts() if one.name == name)

    def account(self, token: str) -> Account:
        """The account with this token; `NotKnown` if there is none."""
        return self._access.with_token(token)

    # --- what may be known of datasets --------------------------------------------------------------------

    def dataset(self, account: Account, name: str) -> Dataset:
        """A dataset that this account may ask; others are not there for it."""
        return self._access.dataset(account, name)

    def datasets(self, account: Account) -> list[Dataset]:
        """The datasets that an account may ask."""
        own = self.settings.datasets
        return [own[name] for name in own if account.role == "owner" or name in account.grants]

    def people(self, dataset: Dataset) -> People:
        """Where the people of a dataset stand."""
        return self._connections.ledger.about(dataset.people.name)

    # --- questions ----------------------------------------------------------------------------------------

    def asked(self, account: Account, name: str, question: QuestionLike) -> AskedQuestion:
        """A question as it would be drawn; nothing is charged or read."""
        dataset = self.dataset(account, name)
        own = question if isinstance(question, Question) else question_from(question, dataset)
        if dataset.levels and own.epsilon not in (None, level_seen(account, dataset)):
            raise PlanError("must be left out, or that of the account's own level", ("epsilon",))
        if dataset.levels and own.wishes not in (USUAL, GEOMETRIC):
            raise PlanError("must not be wished for: levels are one chain of geometric noise", ("design",))
        return AskedQuestion.of(dataset, replace(own, epsilon=None, wishes=GEOMETRIC) if dataset.levels else own)

    def preview(self, account: Account, name: str, question: QuestionLike) -> AskedPreview:
        """What a question would be answered with and cost; free, and reads no data."""
        asked = self.asked(account, name, question)
        ready = self._answering.ready(asked, anyway=True)
        there = self._answering.found(asked)
        level, leveled = level_seen(account, asked.dataset), self.designer.leveled(asked.dataset, ready)
        own = ready.designed if leveled is None or level is None else leveled.level(leveled.epsilons.index(level))
        epsilon = level or there.asked.epsilon
        return previewed(asked, there, ready, own, self.people(asked.dataset), decimal(epsilon))

    def ask(self, account: Account, name: str, question: QuestionLike, *, key: str | None = None) -> GivenAnswer:
        """Answer a question: a stored answer where there is one, else charged, drawn and stored before it is given.

        key: of this account; the same key again is the same answer, and is refused for another question.

        Formal guarantee: all answers that all accounts were ever given about the same people are together as private
        as what their ledger was charged, whoever compares notes.
        """
        return self._answering.answered(account, self.asked(account, name, question), key)

    def prepared(self, account: Account, name: str, question: QuestionLike) -> AskedQuestion:
        """A question with all that it would be drawn by; the first part of `ask`, which may take long."""
        asked = self.asked(account, name, question)
        self._answering.prepare(asked)
        return asked

    def ask_now(
        self, account: Account, name: str, question: QuestionLike, *, key: str | None = None
    ) -> GivenAnswer | None:
        """`ask` where that does not take long; None where a design is to be made before."""
        asked = self.asked(account, name, question)
        if self.designer.lacks(asked.numbers) and self._answering.found(asked).how == "new":
            return None
        return self._answering.answered(account, asked, key)

    def lacks_design(self, account: Account, name: str, question: QuestionLike) -> bool:
        """Whether the preview of a question waits for a design, which may take long; to find that out does not."""
        return self.designer.lacks(self.asked(account, name, question).numbers)

    def answer(self, account: Account, name: str) -> GivenAnswer:
        """An answer that this account was given before, by its id."""
        return self._answering.again(account, name)

    def answers(self, account: Account) -> list[Given]:
        """What an account was given, the last first."""
        with self._connections.store.reading() as run:
            return [one for one in given.given_to(run, account.name) if one.dataset in self.settings.datasets]

    def mechanism(self, digest: str) -> str:
        """The passport with this digest, as its JSON text; it holds nothing about the data."""
        found = self.designer.published(digest)
        if found is None:
            raise NotFound(f"mechanism must be the sha256 of one that drew an answer here, got {digest[:64]!r}")
        return found

    # --- for the owner ------------------------------------------------------------------------------------

    def ledger(self, account: Account) -> dict[str, Any]:
        """What was spent on whom, and the head of the ledger, to be kept elsewhere."""
        _check_owner(account)
        ledger = self._connections.ledger
        return {"head": ledger.head().plain(), "people": [who.plain() for who in ledger.people()]}

    def exposure(self, account: Account, name: str) -> Exposure:
        """What any accounts that compare notes could know by now about the people of a dataset."""
        _check_owner(account)
        dataset = self.dataset(account, name)
        with self._connections.store.reading() as run:
            held = given.given_of(run, dataset.name)
            rows = run("SELECT key, question, epsilon FROM questions WHERE dataset = ?", dataset.name)
        asked = {key: (json.loads(question), Fraction(epsilon)) for key, question, epsilon in rows}
        ledger, designer = self._connections.ledger, self.designer
        return exposed(
            dataset.name, self.people(dataset), held, asked, lambda key, level: drew(ledger, designer, key, level)
        )


def _check_owner(account: Account) -> None:
    if account.role != "owner":
        raise NotAllowed("only an owner may see this")
