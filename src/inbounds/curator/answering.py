"""From a question to the answer that an account is given, in the order that keeps the promise.

    found or new → slot → reserved (the account's cap), charged (the people's budget) and noted as being evaluated
                        → drawn → stored → given, at a moment that was fixed when it was noted

What is charged is durable before data is read, and what is given out was stored before. Data is read once under a
charge, whatever becomes of it: see `evaluations`.
"""

import json
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

from inbounds.curator import accounts, continuity, evaluations, given, repeats
from inbounds.curator.access import Access, level_seen
from inbounds.curator.accounts import Account, Grant
from inbounds.curator.answers import AnswerCost, GivenAnswer, viewed
from inbounds.curator.database import Connections
from inbounds.curator.dataset import Dataset
from inbounds.curator.designing import Designer
from inbounds.curator.errors import NotAnswered, NotFound, Unavailable
from inbounds.curator.given import Given
from inbounds.curator.question import question_from
from inbounds.curator.repeats import AskedQuestion
from inbounds.curator.sources import Sources
from inbounds.curator.timing import Deadline, Slots, Time
from inbounds.errors import OverBudget
from inbounds.ledger.amounts import amount, cost
from inbounds.ledger.charges import Charge
from inbounds.ledger.checking import Head
from inbounds.ledger.people import as_name
from inbounds.ledger.store import Run
from inbounds.numbers import Ints
from inbounds.tables import Settled, drawn
from inbounds.tables.answer import Answers
from inbounds.tables.booking import Booking, KeptTable, read
from inbounds.tables.designs import Progress, no_progress
from inbounds.tables.drawing import Drawing, NumberByNumber
from inbounds.tables.engine import Opened, Truths
from inbounds.tables.errors import AggregationFailed, SourceError
from inbounds.tables.levels import Leveled


@dataclass(frozen=True)
class ReservedAnswer:
    """What an account will be given, its grant after that, and the charge that it follows from.

    leave: when the answer leaves, by the steady clock, if data is to be read for it.
    """

    given: Given
    grant: Grant
    charge: Charge
    leave: float | None = None


@dataclass(frozen=True)
class DrawnBy:
    """What a question is drawn by. digests: of the passports."""

    booking: Booking
    ready: Settled
    leveled: Leveled | None
    source: Opened
    digests: tuple[str, ...]


@dataclass(frozen=True)
class PunctualDrawing:
    """A drawing that gives up what it drew after its deadline, so that it is not stored."""

    inner: Drawing
    deadline: Deadline

    @property
    def mechanisms(self) -> list[str]:
        return self.inner.mechanisms

    def draw(self, truths: Truths, progress: Progress = no_progress) -> list[Ints]:
        rows = self.inner.draw(truths, progress)
        if self.deadline.is_past():
            raise Unavailable
        return rows

    def answers(self, rows: Sequence[Ints]) -> Answers:
        return self.inner.answers(rows)


def _drawing(ready: Settled, leveled: Leveled | None) -> Drawing:
    return NumberByNumber(ready.designed) if leveled is None else leveled


class AnswerPending(Exception):
    """The answer is being drawn, and leaves at this moment, in milliseconds since 1970."""

    def __init__(self, until: int) -> None:
        self.until = until


@dataclass(frozen=True)
class Answering:
    """What answers questions. most_rows: that an account may hold, of answers and keys together.

    A stored answer is given at once, without a fixed moment. How long that takes depends on what accounts were given,
    on the size of the stored table and on the draw in it. It depends on nothing else of the data: no source is opened,
    and an answer counts as stored only after the moment at which it left. Previews read designs, metadata settings.
    """

    connections: Connections
    sources: Sources
    designer: Designer
    access: Access
    most_rows: int
    clock: Callable[[], str]
    time: Time
    slots: Slots

    def now(self) -> int:
        """Milliseconds since 1970, as evaluations have them."""
        return int(self.time.wall() * 1000)

    # --- before anything is charged -----------------------------------------------------------------------

    def found(self, asked: AskedQuestion) -> repeats.FoundAnswer:
        """The stored answer that a question would be given now, or the question itself."""
        with self.connections.store.reading() as run:
            now = self.now()
            found = repeats.found(run, self.connections.ledger, asked, now)
            if found.how == "new":
                evaluations.check_not_failed(run, evaluations.find(run, asked.key), now)
            return found

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
        while True:
            try:
                found = self._stored_answer(account, asked, key)
                return found or self.slots.evaluate(partial(self._evaluated, account, asked, key))
            except AnswerPending as other:
                self.time.sleep(other.until / 1000 - self.time.wall())

    def at_once(self, account: Account, asked: AskedQuestion, key: str | None) -> GivenAnswer | None:
        """The stored answer to a question; None where one is to be drawn, or has not left yet."""
        try:
            return self._stored_answer(account, asked, key)
        except AnswerPending:
            return None

    def _stored_answer(self, account: Account, asked: AskedQuestion, key: str | None) -> GivenAnswer | None:
        """What can be given without a look at data."""
        mine = self._reserved(account, asked, key, None)
        return None if mine is None else self._given(mine, self._stored_table(asked, mine.charge))

    def _evaluated(self, account: Account, asked: AskedQuestion, key: str | None, deadline: Deadline) -> GivenAnswer:
        """The answer to a new question, drawn now in a thread of its own."""
        with ExitStack() as stack:
            by = self._at_hand(asked, stack)
            mine = self._reserved(account, asked, key, by)
            assert mine is not None
            if mine.leave is None:  # somebody else was faster
                return self._given(mine, self._stored_table(asked, mine.charge))
            deadline.fix(mine.leave)
            try:
                answer = self._given(mine, self._drawn_table(by, mine.charge, deadline))
            except Exception:  # whatever it is, it may have seen data
                if self._is_drawn(mine.charge.key):  # then it failed because of the draw, which anybody may see
                    self._finish(mine.charge.key, deadline)
                raise Unavailable from None
            self._finish(mine.charge.key, deadline)
            return answer

    def _at_hand(self, asked: AskedQuestion, stack: ExitStack) -> DrawnBy:
        """All that a new question is drawn by, before anything is charged."""
        ready = self.prepare(asked)
        if ready is None:
            raise AnswerPending(self.now())
        leveled = self.designer.leveled(asked.dataset, ready)
        try:
            source = stack.enter_context(closing(self.sources.open(asked.dataset, asked.plan)))
        except (SourceError, AggregationFailed):  # what is wrong with it is for the operator alone
            raise Unavailable from None
        return DrawnBy(self._booking(asked), ready, leveled, source, self.designer.publish(ready, leveled))

    def _booking(self, asked: AskedQuestion) -> Booking:
        """Its entry in the ledger. Whether data may be read under a charge is up to `evaluations`."""
        return Booking.of(asked.plan, None, self.connections.ledger, asked.key, read_again=True)

    def _reserved(
        self, account: Account, asked: AskedQuestion, key: str | None, by: DrawnBy | None
    ) -> ReservedAnswer | None:
        """One transaction: the key, which answer is given, the account's cap and rows, the charge of the people, and
        that data will be read. by: what a new question is drawn by; without it None where data is to be read.

        What the ledger refuses is undone here. What it charged and a crash undid here is found there by its key when
        it is asked again. Nothing was read then, because that is noted here before.
        """
        digest, level = given.request_digest(asked), level_seen(account, asked.dataset)
        own_key = None if key is None else as_name(key, "key")
        with self.connections.store.writing() as run:
            now, ledger = self.now(), self.connections.ledger
            asker = accounts.asker(run, account.name, asked.dataset.name, own_key)
            source = given.earlier(run, asker, own_key, digest) or repeats.found(run, ledger, asked, now)
            stored = self._stored_charge(run, asked, source.key, now)
            if stored is None and by is None:
                return None
            if isinstance(source, Given):
                mine = source
            else:
                mine = given.reserve(run, account, asker, source, asked, level, self.clock())
                given.note(run, account, asker, mine, own_key, digest, max(self.most_rows, account.rows))
            grant = asker.grant(mine.dataset, mine.units * mine.noted)
            if stored is not None:
                return ReservedAnswer(mine, grant, stored)
            assert by is not None
            charge = self._charge(run, by.booking)
            given.note_mechanisms(run, asked.key, by.digests)
            return ReservedAnswer(mine, grant, charge, self._begin(run, asked))

    def _stored_charge(self, run: Run, asked: AskedQuestion, key: str, now: int) -> Charge | None:
        """The charge whose answer, or the draw for it, is stored; None where data is to be read under a new one.

        Before the moment at which an answer leaves, `AnswerPending`: its absence would tell how long it takes.
        """
        evaluation = evaluations.find(run, key)
        if evaluation is not None and evaluation.until > now:
            raise AnswerPending(evaluation.until)
        evaluations.check_not_failed(run, evaluation, now)
        charge = self.connections.ledger.find(key)
        if charge is not None and (charge.answer is not None or charge.draw is not None):
            return charge
        evaluations.check_open(run, asked.dataset.name, now)
        if evaluation is not None or key != asked.key:
            raise NotAnswered
        return None

    def _charge(self, run: Run, booking: Booking) -> Charge:
        """Charge the people, and remember where their ledger stands then."""
        charge = booking.charge()
        assert charge is not None  # a curator has a ledger
        continuity.note_head(run, Head(self.connections.ledger.id, charge.number, charge.sha256))
        return charge

    def _begin(self, run: Run, asked: AskedQuestion) -> float:
        """Note that data will be read; when the answer leaves: for all by the wall clock, here by the steady one."""
        wall, steady = self.time.wall(), self.time.steady()
        until = math.ceil((wall + float(asked.dataset.answer_seconds)) * 1000)
        evaluations.begin(run, asked.key, asked.dataset.name, until)
        return steady + until / 1000 - wall

    def _finish(self, key: str, deadline: Deadline) -> None:
        """Note that all is stored. If the answer had to leave meanwhile, it has failed after all."""
        if deadline.is_past():
            return
        with self.connections.store.writing() as run:
            evaluations.finish(run, key)
        if not deadline.finish():
            with self.connections.store.writing() as run:
                evaluations.finish(run, key, finished=False)

    def _is_drawn(self, key: str) -> bool:
        charge = self.connections.ledger.find(key)
        return charge is not None and (charge.draw is not None or charge.answer is not None)

    def _drawn_table(self, by: DrawnBy, charge: Charge, deadline: Deadline) -> KeptTable:
        """Read the data, draw under a charge, store the draw and then the table made of it."""
        drawing = PunctualDrawing(_drawing(by.ready, by.leveled), deadline)
        return drawn(
            by.booking, lambda: by.ready, drawing=lambda _: drawing, opening=lambda _: by.source, charge=charge
        ).kept

    def _stored_table(self, asked: AskedQuestion, charge: Charge) -> KeptTable:
        """The table under a charge, or that of the draw under it; no data is read."""
        if charge.answer is not None:
            return KeptTable(*read(charge.answer), drawn=False)
        own = asked if charge.key == asked.key else self._question(asked.dataset, charge.key)
        try:
            ready = self.ready(own, anyway=True)
            drawing = _drawing(ready, self.designer.leveled(own.dataset, ready))
            return drawn(self._booking(own), lambda: ready, drawing=lambda _: drawing, charge=charge).kept
        except Exception:
            raise Unavailable from None

    def _question(self, dataset: Dataset, key: str) -> AskedQuestion:
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
            evaluation, now = evaluations.find(run, mine.key), self.now()
            evaluations.check_not_failed(run, evaluation, now)
        charge = self.connections.ledger.find(mine.key)
        if charge is None or charge.answer is None or (evaluation is not None and evaluation.until > now):
            raise NotFound("the answer is not there yet; ask the question again, which is charged only once")
        grant = grants.get(mine.dataset, Grant(mine.dataset))
        return self._given(ReservedAnswer(mine, grant, charge), KeptTable(*read(charge.answer), drawn=False))
