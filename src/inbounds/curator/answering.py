"""From a question to the answer that an account is given, in the order that keeps the promise.

    found or new → reserved (the account's cap) and charged (the people's budget) → drawn → stored → given

What is charged is durable before data is read, and what is given out was stored before.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass

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
from inbounds.ledger.checking import Head
from inbounds.ledger.store import Run
from inbounds.tables import Settled, drawn
from inbounds.tables.booking import Booking, KeptTable, read
from inbounds.tables.drawing import NumberByNumber
from inbounds.tables.engine import Opened
from inbounds.tables.errors import SourceError


@dataclass(frozen=True)
class ReservedAnswer:
    """What an account will be given, its grant after that, and the charge that it follows from."""

    given: Given
    grant: Grant
    charge: Charge


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

    def prepare(self, asked: AskedQuestion) -> Settled | None:
        """All that a new question is drawn by, which may take long to make; None for one that was answered."""
        if self.found(asked).how != "new":
            return None
        if self.designer.lacks(asked.plan):
            self._check_budget(asked)
        return self.ready(asked, anyway=asked.question.anyway)

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
        """The answer to a question, as this account may see it."""
        ready = self.prepare(asked)
        with self.sources, ExitStack() as stack:
            source = None if ready is None else stack.enter_context(closing(self._opened(asked)))
            mine = self._reserved(account, asked, key)
            try:
                kept = self._kept(asked, mine, ready, source)
            except Exception:  # whatever it is, it may have seen data
                raise Unavailable from None
        return self._given(mine, kept)

    def _opened(self, asked: AskedQuestion) -> Opened:
        """The source of a question, before anything is charged: what is wrong with it is for the operator alone."""
        try:
            return self.sources.open(asked.plan)
        except SourceError:
            raise Unavailable from None

    def _reserved(self, account: Account, asked: AskedQuestion, key: str | None) -> ReservedAnswer:
        """One transaction: the key, which answer is given, the account's cap and rows, and the charge of the people.

        What the ledger refuses is undone here. What it charged and a crash undid here is found there by its key when
        it is asked again, and nothing was given out.
        """
        digest, level = given.request_digest(asked), level_seen(account, asked.dataset)
        with self.connections.store.writing() as run:
            mine = None if key is None else given.earlier(run, account.name, key, digest)
            found = None
            if mine is None:
                found = repeats.found(run, self.connections.ledger, asked)
                mine = given.reserve(run, account, found, asked, level, self.clock())
                if key is not None:
                    given.note_request(run, account.name, key, digest, mine)
                accounts.check_rows(run, account.name, max(self.most_rows, account.rows))
            grant = accounts.grants_of(run, account.name).get(mine.dataset, Grant(mine.dataset))
            before = None if found is not None and found.how == "new" else self.connections.ledger.find(mine.key)
            if before is None and mine.key != asked.key:
                raise Unavailable  # nothing is drawn for it but what was charged
            charge = before or self._charge(run, asked)
            return ReservedAnswer(mine, grant, charge)

    def _charge(self, run: Run, asked: AskedQuestion) -> Charge:
        """Charge the people, and remember where their ledger stands then."""
        ledger = self.connections.ledger
        charge = Booking.of(asked.plan, None, ledger, asked.key).charge()
        assert charge is not None  # a curator has a ledger
        continuity.note_head(run, Head(ledger.id, charge.number, charge.sha256))
        return charge

    def _kept(
        self, asked: AskedQuestion, mine: ReservedAnswer, ready: Settled | None, source: Opened | None
    ) -> KeptTable:
        """The stored table of the question that an answer follows from; drawn under its charge if there is none.

        ready, source: of the asked question, if it was new before it was reserved.
        """
        if mine.charge.answer is not None:
            return KeptTable(*read(mine.charge.answer), drawn=False)
        if mine.charge.key != asked.key:
            asked, ready, source = self._stored(asked.dataset, mine.charge.key), None, None
        settled = ready or self.ready(asked, anyway=True)
        leveled = self.designer.leveled(asked.dataset, settled)
        self.designer.publish(settled, leveled)
        return drawn(
            Booking.of(asked.plan, None, self.connections.ledger, asked.key),
            lambda: settled,
            drawing=lambda designed: NumberByNumber(designed) if leveled is None else leveled,
            opening=self.sources.open if source is None else lambda plan: source,
            charge=mine.charge,
        ).kept

    def _stored(self, dataset: Dataset, key: str) -> AskedQuestion:
        """The question with this key, as it is declared now."""
        with self.connections.store.reading() as run:
            ((text,),) = run("SELECT question FROM questions WHERE key = ?", key)
        found = AskedQuestion.of(dataset, question_from(json.loads(text), dataset))
        if found.key != key:
            raise NotFound("the answer must be about the dataset as it is declared now; ask again")
        return found

    def _given(self, mine: ReservedAnswer, kept: KeptTable) -> GivenAnswer:
        paid = AnswerCost.of(
            mine.charge.amount, mine.given, mine.grant, mine.charge.people, charged=not mine.charge.repeated
        )
        return viewed(mine.given, kept, self.access.known(mine.given.dataset), paid)

    def again(self, account: Account, name: str) -> GivenAnswer:
        """An answer that an account was given before, by its id."""
        with self.connections.store.reading() as run:
            mine = given.given_by_id(run, name)
            grants = accounts.grants_of(run, account.name)
        if mine is None or mine.account != account.name:
            raise NotFound(f"answer must be one that this account was given, got {name!r}")
        self.access.dataset(account, mine.dataset)
        charge = self.connections.ledger.find(mine.key)
        if charge is None or charge.answer is None:
            raise NotFound("the answer was not drawn yet; ask the question again, which is charged only once")
        grant = grants.get(mine.dataset, Grant(mine.dataset))
        return self._given(ReservedAnswer(mine, grant, charge), KeptTable(*read(charge.answer), drawn=False))
