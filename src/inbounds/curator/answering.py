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
from inbounds.errors import InboundsError, OverBudget
from inbounds.ledger.amounts import amount, cost
from inbounds.ledger.charges import Charge
from inbounds.ledger.checking import Head
from inbounds.ledger.people import as_name
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
class DrawnBy:
    """What a question is drawn by. hindered: why it cannot be, which matters only if it was not answered before."""

    booking: Booking
    ready: Settled | None = None
    source: Opened | None = None
    hindered: Exception | None = None


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
        ready = self.designer.settled(asked.numbers, anyway=anyway)
        self.designer.leveled(asked.dataset, ready)
        return ready

    def prepare(self, asked: AskedQuestion) -> Settled | None:
        """All that a new question is drawn by, which may take long to make; None for one that was answered."""
        if self.found(asked).how != "new":
            return None
        if self.designer.lacks(asked.numbers):
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
        with ExitStack() as stack:
            at_hand = self._at_hand(asked, stack)
            mine = self._reserved(account, asked, key, at_hand)
            try:
                with self.sources:
                    kept = self._kept(asked, mine, at_hand)
            except Exception:  # whatever it is, it may have seen data
                raise Unavailable from None
        return self._given(mine, kept)

    def _at_hand(self, asked: AskedQuestion, stack: ExitStack) -> DrawnBy:
        """All that a question would be drawn by, or why it cannot be; designed now only for one that is new."""
        booking = Booking.of(asked.plan, None, self.connections.ledger, asked.key)
        try:
            if self.designer.lacks(asked.numbers) and self.prepare(asked) is None:
                return DrawnBy(booking)
            ready = self.ready(asked, anyway=asked.question.anyway)
            return DrawnBy(booking, ready, stack.enter_context(closing(self.sources.open(asked.plan))))
        except SourceError:  # what is wrong with it is for the operator alone
            return DrawnBy(booking, hindered=Unavailable())
        except (InboundsError, ValueError) as reason:
            return DrawnBy(booking, hindered=reason)

    def _reserved(self, account: Account, asked: AskedQuestion, key: str | None, at_hand: DrawnBy) -> ReservedAnswer:
        """One transaction: the key, which answer is given, the account's cap and rows, and the charge of the people.

        What the ledger refuses is undone here. What it charged and a crash undid here is found there by its key when
        it is asked again, and nothing was given out.
        """
        digest, level = given.request_digest(asked), level_seen(account, asked.dataset)
        own_key = None if key is None else as_name(key, "key")
        with self.connections.store.writing() as run:
            asker, found = accounts.asker(run, account.name, asked.dataset.name, own_key), None
            mine = given.earlier(run, asker, own_key, digest)
            if mine is None:
                found = repeats.found(run, self.connections.ledger, asked)
                if found.how == "new" and at_hand.hindered is not None:
                    raise at_hand.hindered
                mine = given.reserve(run, account, asker, found, asked, level, self.clock())
                given.note(run, account, asker, mine, own_key, digest, max(self.most_rows, account.rows))
            before = None if found is not None and found.how == "new" else self.connections.ledger.find(mine.key)
            if before is None and mine.key != asked.key:
                raise Unavailable  # nothing is drawn for it but what was charged
            charge = before or self._charge(run, at_hand.booking)
            return ReservedAnswer(mine, asker.grant(mine.dataset, mine.units * mine.noted), charge)

    def _charge(self, run: Run, booking: Booking) -> Charge:
        """Charge the people, and remember where their ledger stands then."""
        charge = booking.charge()
        assert charge is not None  # a curator has a ledger
        continuity.note_head(run, Head(self.connections.ledger.id, charge.number, charge.sha256))
        return charge

    def _kept(self, asked: AskedQuestion, mine: ReservedAnswer, at_hand: DrawnBy) -> KeptTable:
        """The stored table of the question that an answer follows from; drawn under its charge if there is none."""
        if mine.charge.answer is not None:
            return KeptTable(*read(mine.charge.answer), drawn=False)
        if mine.charge.key != asked.key:
            asked = self._stored(asked.dataset, mine.charge.key)
            at_hand = DrawnBy(Booking.of(asked.plan, None, self.connections.ledger, asked.key))
        settled = at_hand.ready or self.ready(asked, anyway=True)
        leveled = self.designer.leveled(asked.dataset, settled)
        self.designer.publish(settled, leveled)
        source = at_hand.source
        return drawn(
            at_hand.booking,
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
