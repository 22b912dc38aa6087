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

from inbounds.curator import accounts, continuity, given, repeats
from inbounds.curator.accounts import Account, Grant, Role
from inbounds.curator.answers import AnswerCost, GivenAnswer, viewed
from inbounds.curator.database import Connections
from inbounds.curator.dataset import Dataset
from inbounds.curator.designing import Designer
from inbounds.curator.errors import NotAllowed, NotFound, Unavailable
from inbounds.curator.exposure import Exposure, exposed
from inbounds.curator.given import Given
from inbounds.curator.previews import AskedPreview, previewed
from inbounds.curator.question import Question, question_from
from inbounds.curator.repeats import AskedQuestion
from inbounds.curator.settings import ServiceLimits, Settings, read_settings
from inbounds.curator.sources import Sources
from inbounds.errors import OverBudget
from inbounds.ledger import People
from inbounds.ledger.amounts import amount, cost
from inbounds.mechanism import Mechanism
from inbounds.numbers import Number, decimal
from inbounds.tables import Settled, drawn
from inbounds.tables.answer import Designed
from inbounds.tables.booking import Booking, KeptTable, read
from inbounds.tables.designs import Wishes
from inbounds.tables.drawing import Drawing, NumberByNumber
from inbounds.tables.engine import open_source
from inbounds.tables.errors import PlanError, SourceError, at
from inbounds.tables.levels import GEOMETRIC


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Curator:
    """A curator of datasets; `Curator.open` for a file of settings. clock: for tests.

    Any thread may call; each has its own connections. Several processes may share one database and ledger.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], str] = now) -> None:
        self.settings, self._clock = settings, clock
        limits = settings.limits
        settings.designs.mkdir(parents=True, exist_ok=True)
        self.designer = Designer(settings.designs, limits.design_seconds, limits.design_bytes, limits.designs)
        self._connections, self._sources = Connections(settings.ledger, settings.database), Sources()
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
            with at("datasets", dataset.name):
                open_source(dataset.everything()).close()

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
        self._note_head()

    def other_budgets(self) -> list[str]:
        """In words, where the ledger has another budget than the settings declare; the ledger's holds."""
        datasets = self.settings.datasets.values()
        return [line for one in datasets if (line := one.budget.against(self.people(one), one.name))]

    def _note_head(self) -> None:
        """Remember where the ledger stands, so that an older one is not mistaken for it."""
        head = self._connections.ledger.head()
        with self._connections.store.writing() as run:
            continuity.note_head(run, head)

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
        grants = {}
        for dataset, cap in (datasets or {}).items():
            level = (levels or {}).get(dataset)
            grants[dataset] = Grant(dataset, accounts.as_cap(cap), level=self._level(self._known(dataset), level))
        token = accounts.fresh_token()
        with self._connections.store.writing() as run:
            accounts.add_account(run, name, role, grants, token, self._clock())
        return token

    def _level(self, dataset: Dataset, level: str | None) -> str | None:
        if not dataset.levels and level is None:
            return None
        chosen = list(dataset.levels)[-1] if level is None else level
        if chosen not in dataset.levels:
            known = ", ".join(dataset.levels) or "none"
            raise ValueError(f"level must be one of those of {dataset.name} ({known}), got {chosen!r}")
        return chosen

    def revoke_account(self, name: str) -> None:
        """From now on its token is unknown."""
        with self._connections.store.writing() as run:
            accounts.revoke(run, name, self._clock())

    def accounts(self) -> list[Account]:
        """All accounts, revoked ones too."""
        with self._connections.store.reading() as run:
            return accounts.all_accounts(run)

    def account_named(self, name: str) -> Account:
        """The account of this name, as it stands now."""
        return next(one for one in self.accounts() if one.name == name)

    def account(self, token: str) -> Account:
        """The account with this token; `NotKnown` if there is none."""
        with self._connections.store.reading() as run:
            return accounts.account_of(run, token)

    # --- what may be known of datasets --------------------------------------------------------------------

    def _known(self, name: str) -> Dataset:
        if name not in self.settings.datasets:
            raise NotFound(f"dataset must be one that this account may ask, got {name!r}")
        return self.settings.datasets[name]

    def dataset(self, account: Account, name: str) -> Dataset:
        """A dataset that this account may ask; others are not there for it."""
        if account.role != "owner" and name not in account.grants:
            raise NotFound(f"dataset must be one that this account may ask, got {name!r}")
        return self._known(name)

    def datasets(self, account: Account) -> list[Dataset]:
        """The datasets that an account may ask."""
        own = self.settings.datasets
        return [own[name] for name in own if account.role == "owner" or name in account.grants]

    def people(self, dataset: Dataset) -> People:
        """Where the people of a dataset stand."""
        return self._connections.ledger.about(dataset.people.name)

    # --- questions ----------------------------------------------------------------------------------------

    def asked(self, account: Account, name: str, question: Question | Mapping[str, Any]) -> AskedQuestion:
        """A question as it would be drawn; nothing is charged or read."""
        dataset = self.dataset(account, name)
        own = question if isinstance(question, Question) else question_from(question, dataset)
        if dataset.levels and own.epsilon not in (None, self._seen(account, dataset)):
            raise PlanError("must be left out, or that of the account's own level", ("epsilon",))
        if dataset.levels and own.wishes not in (Wishes(), GEOMETRIC):
            raise PlanError("must not be wished for: levels are one chain of geometric noise", ("design",))
        return AskedQuestion.of(dataset, replace(own, epsilon=None, wishes=GEOMETRIC) if dataset.levels else own)

    def _seen(self, account: Account, dataset: Dataset) -> Fraction | None:
        """The epsilon of the level that an account sees; an owner sees the highest."""
        if not dataset.levels:
            return None
        grant = account.grants.get(dataset.name)
        name = (grant.level if grant else next(iter(dataset.levels))) or ""
        if name not in dataset.levels:
            raise NotAllowed(f"this account must have one of the levels of {dataset.name}; ask the owner for one")
        return dataset.levels[name]

    def preview(self, account: Account, name: str, question: Question | Mapping[str, Any]) -> AskedPreview:
        """What a question would be answered with and cost; free, and reads no data."""
        asked = self.asked(account, name, question)
        ready = self._ready(asked, anyway=True)
        there = self._found(asked)
        level, leveled = self._seen(account, asked.dataset), self.designer.leveled(asked.dataset, ready)
        own = ready.designed if leveled is None or level is None else leveled.level(leveled.epsilons.index(level))
        epsilon = level or there.asked.epsilon
        return previewed(asked, there, ready, own, self.people(asked.dataset), decimal(epsilon))

    def ask(
        self, account: Account, name: str, question: Question | Mapping[str, Any], *, key: str | None = None
    ) -> GivenAnswer:
        """Answer a question: a stored answer where there is one, else charged, drawn and stored before it is given.

        key: of this account; the same key again is the same answer, and is refused for another question.

        Formal guarantee: all answers that all accounts were ever given about the same people are together as private
        as what their ledger was charged, whoever compares notes.
        """
        asked = self.prepared(account, name, question)
        return self._answered(account, asked, self._reserved(account, asked, key), key)

    def prepared(self, account: Account, name: str, question: Question | Mapping[str, Any]) -> AskedQuestion:
        """A question with all that it would be drawn by; the first part of `ask`, which may take long."""
        asked = self.asked(account, name, question)
        if self._found(asked).how == "new":
            self._check_budget(asked)
            self._ready(asked, anyway=asked.question.anyway)
        return asked

    def lacks_design(
        self, account: Account, name: str, question: Question | Mapping[str, Any], *, unless_stored: bool
    ) -> bool:
        """Whether a question waits for a design, which may take long; to find that out does not.

        unless_stored: what is answered from what is stored waits for none; a preview does, for its errors.
        """
        asked = self.asked(account, name, question)
        if unless_stored and self._found(asked).how != "new":
            return False
        return self.designer.lacks(asked.plan)

    def _found(self, asked: AskedQuestion) -> repeats.FoundAnswer:
        with self._connections.store.reading() as run:
            return repeats.found(run, self._connections.ledger, asked)

    def _ready(self, asked: AskedQuestion, *, anyway: bool) -> Settled:
        """Everything that a question is drawn by; a `PlanError` if it cannot be drawn, before anything is charged."""
        ready = self.designer.settled(asked.plan, anyway=anyway)
        self.designer.leveled(asked.dataset, ready)
        return ready

    def _check_budget(self, asked: AskedQuestion) -> None:
        """Refuse early what the ledger would refuse; the ledger decides."""
        who = self.people(asked.dataset)
        units = cost(who.rule, asked.plan.epsilons)
        if who.budget_units is not None and who.spent_units + units > who.budget_units:
            assert who.budget is not None
            assert who.left is not None
            raise OverBudget(who.name, amount(who.rule, units), who.left, who.budget, who.unit)

    def _reserved(self, account: Account, asked: AskedQuestion, key: str | None) -> Given:
        """One transaction: the key, which answer is given, and the account's cap."""
        digest, level = given.request_digest(asked), self._seen(account, asked.dataset)
        with self._connections.store.writing() as run:
            before = None if key is None else given.earlier(run, account.name, key, digest)
            if before is not None:
                return before
            found = repeats.found(run, self._connections.ledger, asked)
            mine = given.reserve(run, account, found, asked, level, self._clock())
            if key is not None:
                given.note_request(run, account.name, key, digest, mine)
            return mine

    def _answered(self, account: Account, asked: AskedQuestion, mine: Given, key: str | None) -> GivenAnswer:
        """The table that a reserved answer follows from, drawn now if need be, as this account may see it."""
        ledger = self._connections.ledger
        before = ledger.find(mine.key)
        try:
            kept = self._kept(asked, mine)
        except OverBudget:
            with self._connections.store.writing() as run:
                given.withdraw(run, mine)
            raise
        except Exception as reason:
            if ledger.find(mine.key) is None and not isinstance(reason, SourceError):
                raise  # nothing was charged, so nothing was read
            raise Unavailable from None  # what is wrong with a source is for the operator, not for strangers
        if before is None:
            self._note_head()
        with self._connections.store.reading() as run:
            noted = given.is_noted(run, mine)
        if not noted:  # withdrawn by a request that the ledger refused just before it had room for this one
            mine = self._reserved(account, asked, key)
        return self._given(account, mine, kept, charged=before is None)

    def _kept(self, asked: AskedQuestion, mine: Given) -> KeptTable:
        """The stored table of the question that an answer follows from; drawn under its charge if there is none."""
        stored = asked if asked.key == mine.key else self._stored(asked.dataset, mine.key)
        booking = Booking.of(stored.plan, None, self._connections.ledger, mine.key)
        kept = booking.found()
        if kept is not None:
            return kept
        ready = self._ready(stored, anyway=True)
        leveled = self.designer.leveled(stored.dataset, ready)
        self.designer.publish(ready, leveled)

        def drawing(designed: Designed) -> Drawing:
            return NumberByNumber(designed) if leveled is None else leveled

        with self._sources:
            return drawn(booking, lambda: ready, drawing=drawing, opening=self._sources.open).kept

    def _stored(self, dataset: Dataset, key: str) -> AskedQuestion:
        """The question with this key, as it is declared now."""
        with self._connections.store.reading() as run:
            ((text,),) = run("SELECT question FROM questions WHERE key = ?", key)
        found = AskedQuestion.of(dataset, question_from(json.loads(text), dataset))
        if found.key != key:
            raise NotFound("the answer must be about the dataset as it is declared now; ask again")
        return found

    def _given(self, account: Account, mine: Given, kept: KeptTable, *, charged: bool) -> GivenAnswer:
        dataset = self._known(mine.dataset)
        with self._connections.store.reading() as run:
            grant = accounts.grants_of(run, account.name).get(mine.dataset, Grant(mine.dataset))
        charge = self._connections.ledger.find(mine.key)
        paid = AnswerCost.of(
            charge.amount if charge else Fraction(0), mine, grant, self.people(dataset), charged=charged
        )
        return viewed(mine, kept, dataset, paid)

    def answer(self, account: Account, name: str) -> GivenAnswer:
        """An answer that this account was given before, by its id."""
        with self._connections.store.reading() as run:
            mine = given.given_by_id(run, name)
        if mine is None or mine.account != account.name:
            raise NotFound(f"answer must be one that this account was given, got {name!r}")
        self.dataset(account, mine.dataset)
        charge = self._connections.ledger.find(mine.key)
        if charge is None or charge.answer is None:
            raise NotFound("the answer was not drawn yet; ask the question again, which is charged only once")
        kept = KeptTable(*read(charge.answer), drawn=False)
        return self._given(account, replace(mine, charged=False), kept, charged=False)

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
        return exposed(dataset.name, self.people(dataset), held, asked, self._drew)

    def _drew(self, key: str, level: Fraction) -> list[Mechanism]:
        """What drew the numbers of a stored answer, at a level where it has levels."""
        charge = self._connections.ledger.find(key)
        if charge is None or charge.answer is None:
            return []
        record = read(charge.answer)[1]
        if "levels" in record:
            lines = [line for line in record["levels"] if line["level"] == str(level)]
            return [self.designer.level(line["sha256"], Fraction(line["epsilon"])) for line in lines]
        return self.designer.mechanisms(sorted({line["sha256"] for line in record["mechanisms"]}))


def _check_owner(account: Account) -> None:
    if account.role != "owner":
        raise NotAllowed("only an owner may see this")
