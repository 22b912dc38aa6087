"""From a question to the answer that an account is given, in the order that keeps the promise.

    found or new → reserved (the account's cap) → charged (the people's budget) → drawn → stored → given

What is charged is durable before data is read, and what is given out was stored before.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from inbounds.curator import accounts, continuity, given, repeats
from inbounds.curator.access import Access, level_seen
from inbounds.curator.accounts import Account, Grant
from inbounds.curator.answers import AnswerCost, GivenAnswer, viewed
from inbounds.curator.database import Connections
from inbounds.curator.dataset import Dataset
from inbounds.curator.designing import Designer
from inbounds.curator.errors import NotFound, Unavailable
from inbounds.curator.given import Given
from inbounds.curator.question import question_from
from inbounds.curator.repeats import AskedQuestion
from inbounds.curator.sources import Sources
from inbounds.errors import OverBudget
from inbounds.ledger.amounts import amount, cost
from inbounds.ledger.charges import Charge
from inbounds.tables import Settled, drawn
from inbounds.tables.booking import Booking, KeptTable, read
from inbounds.tables.errors import SourceError


@dataclass(frozen=True)
class Answering:
    """What answers questions. most_rows: that an account may hold, of answers and keys together."""

    connections: Connections
    sources: Sources
    designer: Designer
    access: Access
    most_rows: int
    clock: Callable[[], str]

    # --- before anything is charged -----------------------------------------------------------------------

    def found(self, asked: AskedQuestion) -> repeats.FoundAnswer:
        """The stored answer that a question would be given now, or the question itself."""
        with self.connections.store.reading() as run:
            return repeats.found(run, self.connections.ledger, asked)

    def ready(self, asked: AskedQuestion, *, anyway: bool) -> Settled:
        """Everything that a question is drawn by; a `PlanError` if it cannot be drawn, before anything is charged."""
        ready = self.designer.settled(asked.plan, anyway=anyway)
        self.designer.leveled(asked.dataset, ready)
        return ready

    def prepare(self, asked: AskedQuestion) -> None:
        """Make all that a new question is drawn by, which may take long."""
        if self.found(asked).how == "new":
            self._check_budget(asked)
            self.ready(asked, anyway=asked.question.anyway)

    def _check_budget(self, asked: AskedQuestion) -> None:
        """Refuse early what the ledger would refuse; the ledger decides."""
        who = self.connections.ledger.about(asked.dataset.people.name)
        units = cost(who.rule, asked.plan.epsilons)
        if who.budget_units is not None and who.spent_units + units > who.budget_units:
            assert who.budget is not None
            assert who.left is not None
            raise OverBudget(who.name, amount(who.rule, units), who.left, who.budget, who.unit)

    # --- the answer ---------------------------------------------------------------------------------------

    def answered(self, account: Account, asked: AskedQuestion, key: str | None) -> GivenAnswer:
        """The answer to a question that was prepared, as this account may see it."""
        mine = self._reserved(account, asked, key)
        ledger = self.connections.ledger
        before = ledger.find(mine.key)
        try:
            kept = self._kept(asked, mine, before)
        except OverBudget:
            with self.connections.store.writing() as run:
                given.withdraw(run, mine)
            raise
        except Exception as reason:
            if ledger.find(mine.key) is None and not isinstance(reason, SourceError):
                raise  # nothing was charged, so nothing was read
            raise Unavailable from None  # what is wrong with a source is for the operator, not for strangers
        if not self._is_noted(mine, charged=before is None):
            mine = self._reserved(account, asked, key)
        return self._given(account, mine, kept, before)

    def _reserved(self, account: Account, asked: AskedQuestion, key: str | None) -> Given:
        """One transaction: the key, which answer is given, the account's cap and its rows."""
        digest, level = given.request_digest(asked), level_seen(account, asked.dataset)
        with self.connections.store.writing() as run:
            before = None if key is None else given.earlier(run, account.name, key, digest)
            if before is not None:
                return before
            found = repeats.found(run, self.connections.ledger, asked)
            mine = given.reserve(run, account, found, asked, level, self.clock())
            if key is not None:
                given.note_request(run, account.name, key, digest, mine)
            accounts.check_rows(run, account.name, max(self.most_rows, account.rows))
            return mine

    def _kept(self, asked: AskedQuestion, mine: Given, before: Charge | None) -> KeptTable:
        """The stored table of the question that an answer follows from; drawn under its charge if there is none."""
        stored = asked if asked.key == mine.key else self._stored(asked.dataset, mine.key)
        booking = Booking.of(stored.plan, None, self.connections.ledger, mine.key)
        kept = None if before is None else booking.found()
        if kept is not None:
            return kept
        ready = self.ready(stored, anyway=True)
        leveled = self.designer.leveled(stored.dataset, ready)
        self.designer.publish(ready, leveled)
        drawing = None if leveled is None else leveled.drawn
        with self.sources:
            return drawn(booking, lambda: ready, drawing=drawing, opening=self.sources.open).kept

    def _stored(self, dataset: Dataset, key: str) -> AskedQuestion:
        """The question with this key, as it is declared now."""
        with self.connections.store.reading() as run:
            ((text,),) = run("SELECT question FROM questions WHERE key = ?", key)
        found = AskedQuestion.of(dataset, question_from(json.loads(text), dataset))
        if found.key != key:
            raise NotFound("the answer must be about the dataset as it is declared now; ask again")
        return found

    def _is_noted(self, mine: Given, *, charged: bool) -> bool:
        """Whether what is given is noted; not if a request that the ledger refused withdrew it, just before the ledger
        had room for this one. charged: by this call, so that the ledger stands elsewhere."""
        if not charged:
            with self.connections.store.reading() as run:
                return given.is_noted(run, mine)
        head = self.connections.ledger.head()
        with self.connections.store.writing() as run:
            continuity.note_head(run, head)
            return given.is_noted(run, mine)

    def _given(self, account: Account, mine: Given, kept: KeptTable, before: Charge | None) -> GivenAnswer:
        """before: the charge that was there already, if there was one."""
        with self.connections.store.reading() as run:
            grant = accounts.grants_of(run, account.name).get(mine.dataset, Grant(mine.dataset))
        charge = before or self.connections.ledger.find(mine.key)
        assert charge is not None  # the table was kept under it
        paid = AnswerCost.of(charge.amount, mine, grant, charge.people, charged=before is None)
        return viewed(mine, kept, self.access.known(mine.dataset), paid)

    def again(self, account: Account, name: str) -> GivenAnswer:
        """An answer that an account was given before, by its id."""
        with self.connections.store.reading() as run:
            mine = given.given_by_id(run, name)
        if mine is None or mine.account != account.name:
            raise NotFound(f"answer must be one that this account was given, got {name!r}")
        self.access.dataset(account, mine.dataset)
        charge = self.connections.ledger.find(mine.key)
        if charge is None or charge.answer is None:
            raise NotFound("the answer was not drawn yet; ask the question again, which is charged only once")
        kept = KeptTable(*read(charge.answer), drawn=False)
        return self._given(account, replace(mine, charged=False), kept, charge)
