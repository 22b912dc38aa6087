"""From a question to an issued answer, in the order that the privacy guarantee needs.

    stored → issued at once
    new    → slot → reserve (account's cap), charge (people's budget), note the evaluation   one transaction
                  → draw → store → issue at a moment fixed when the evaluation was noted

A charge is durable before data is read, and an answer is stored before it is issued. Data is read once under a charge,
even if that fails: see `evaluations`.
"""

import json
import logging
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

from inbounds.curator import accounts, evaluations, issued, ledger_head, reuse
from inbounds.curator.access import Access, account_level
from inbounds.curator.accounts import Account, Grant
from inbounds.curator.answer import Answer, AnswerCost, view_for_account
from inbounds.curator.database import ThreadConnections
from inbounds.curator.dataset import Dataset
from inbounds.curator.design_pool import DesignPool
from inbounds.curator.errors import CuratorUnavailable, EvaluationFailed, UnknownResource
from inbounds.curator.issued import IssuedAnswer
from inbounds.curator.open_sources import Sources
from inbounds.curator.question import parse_question
from inbounds.curator.reuse import PricedQuestion
from inbounds.curator.timing import Deadline, Slots, Time
from inbounds.errors import BudgetExceeded
from inbounds.exact import Ints
from inbounds.ledger.charges import Charge
from inbounds.ledger.population import validate_name
from inbounds.ledger.store import ConnectionLost, Run
from inbounds.ledger.units import charge_units, units_to_amount
from inbounds.ledger.verify import LedgerHead
from inbounds.progress import Progress, ignore_progress
from inbounds.releases.aggregate import TrueAnswers
from inbounds.releases.charge_session import ChargeSession, StoredTable, decode_table
from inbounds.releases.drawing import DrawMethod, IndependentDraw
from inbounds.releases.levels import ChainedDraw
from inbounds.releases.pipeline import PreparedTable, draw_table
from inbounds.releases.usefulness import CheckedDesign
from inbounds.releases.workload import TableContent
from inbounds.schema.errors import AggregationError, SourceError

log = logging.getLogger(__name__)
"""For the operator: kinds of errors, and never their messages, which may quote data."""


@dataclass(frozen=True)
class Reservation:
    """An answer reserved for an account, the account's grant after it, and the charge that it belongs to.

    leave: the moment at which the answer leaves, by the steady clock, if data is read for it; otherwise None.
    """

    answer: IssuedAnswer
    grant: Grant
    charge: Charge
    leave: float | None = None


@dataclass(frozen=True)
class DrawInputs:
    """Everything that a question is charged and drawn with. digests: of the mechanisms' passports."""

    session: ChargeSession
    prepared: PreparedTable
    digests: tuple[str, ...]


@dataclass(frozen=True)
class PunctualDrawing:
    """A draw method that discards what it drew after its deadline, so that it is not stored."""

    inner: DrawMethod
    deadline: Deadline

    @property
    def mechanisms(self) -> list[str]:
        return self.inner.mechanisms

    def draw(self, truths: TrueAnswers, progress: Progress = ignore_progress) -> list[Ints]:
        rows = self.inner.draw(truths, progress)
        if self.deadline.is_past():
            raise CuratorUnavailable
        return rows

    def answers(self, rows: Sequence[Ints]) -> TableContent:
        return self.inner.answers(rows)


class AnswerPending(Exception):
    """The answer is being drawn. until: when it leaves, in milliseconds since 1970."""

    def __init__(self, until: int) -> None:
        self.until = until


@dataclass(frozen=True)
class AnswerPipeline:
    """Answers questions. most_rows: of answers and keys that an account may hold.

    A stored answer is issued at once. How long that takes depends on the answers that accounts hold, on the size of the
    stored table and on its draw. It depends on nothing else in the data: no source is opened, and an answer counts as
    stored only after the moment at which it left. Previews read designs; metadata comes from the settings.
    """

    connections: ThreadConnections
    sources: Sources
    designer: DesignPool
    access: Access
    most_rows: int
    clock: Callable[[], str]
    time: Time
    slots: Slots

    def now(self) -> int:
        """Return milliseconds since 1970, the unit of evaluations."""
        return int(self.time.wall() * 1000)

    # --- before anything is charged -----------------------------------------------------------------------

    def find_reusable(self, request: PricedQuestion) -> reuse.ReusableAnswer:
        """Find the stored answer that a question would get now, or the question itself."""
        with self.connections.store.reading() as run:
            now = self.now()
            reusable = reuse.find_reusable(run, self.connections.ledger, request, now)
            if reusable.how == "new":
                evaluations.check_not_failed(run, evaluations.find_evaluation(run, request.key), now)
            return reusable

    def prepare_design(self, request: PricedQuestion, *, allow_useless: bool) -> CheckedDesign:
        """Design every mechanism of a question. Raises `PlanError`, before anything is charged, if it cannot be
        drawn.
        """
        design = self.designer.design(request.workload, allow_useless=allow_useless)
        self.designer.chain(request.dataset, design)
        return design

    def prepare(self, request: PricedQuestion) -> CheckedDesign:
        """Design the mechanisms of a new question, which may take long."""
        if self.designer.needs_design(request.workload):
            self._check_budget(request)
        return self.prepare_design(request, allow_useless=request.question.allow_useless)

    def _check_budget(self, request: PricedQuestion) -> None:
        """Refuse early what the ledger would refuse; the ledger decides in the end."""
        who = self.connections.ledger.population(request.dataset.people.name)
        units = charge_units(who.rule, request.plan.epsilons)
        if who.budget_units is not None and who.spent_units + units > who.budget_units:
            assert who.budget is not None
            assert who.remaining is not None
            raise BudgetExceeded(who.name, units_to_amount(who.rule, units), who.remaining, who.budget, who.unit)

    # --- the answer ---------------------------------------------------------------------------------------

    def answer(self, account: Account, request: PricedQuestion, key: str | None) -> Answer:
        """Return the answer to a question as this account may see it."""
        while True:
            try:
                stored = self._find_stored_answer(account, request, key)
                return stored or self.slots.evaluate(partial(self._evaluate, account, request, key))
            except AnswerPending as other:
                self.time.sleep(other.until / 1000 - self.time.wall())

    def at_once(self, account: Account, request: PricedQuestion, key: str | None) -> Answer | None:
        """Return the stored answer to a question; None if one must be drawn or has not left yet."""
        try:
            return self._find_stored_answer(account, request, key)
        except AnswerPending:
            return None

    def _find_stored_answer(self, account: Account, request: PricedQuestion, key: str | None) -> Answer | None:
        """Return the answer if it can be issued without reading data."""
        if request.sum_sources:  # what takes long is parsed before other writers wait
            with self.connections.store.reading() as run:
                reuse.find_reusable(run, self.connections.ledger, request, self.now())
        reservation = self._reserve(account, request, key, None)
        return (
            None
            if reservation is None
            else self._issue(reservation, self._load_stored_table(request, reservation.charge))
        )

    def _evaluate(self, account: Account, request: PricedQuestion, key: str | None, deadline: Deadline) -> Answer:
        """Draw the answer to a new question; runs in its own thread."""
        with ExitStack() as stack:
            inputs = self._prepare_inputs(request, deadline, stack)
            reservation = self._reserve(account, request, key, inputs)
            assert reservation is not None
            if reservation.leave is None:  # another request drew it meanwhile
                return self._issue(reservation, self._load_stored_table(request, reservation.charge))
            deadline.fix(reservation.leave)
            try:
                table = draw_table(inputs.session, inputs.prepared, reservation.charge)
                answer = self._issue(reservation, table)
            except Exception as reason:  # any message may quote data
                log.warning("an evaluation could not be finished: %s", type(reason).__name__)
                if self._is_drawn(reservation.charge.key):  # then only the draw can be the reason, which is public
                    self._finish_evaluation(reservation.charge.key, deadline)
                raise CuratorUnavailable from None
            self._finish_evaluation(reservation.charge.key, deadline)
            return answer

    def _prepare_inputs(self, request: PricedQuestion, deadline: Deadline, stack: ExitStack) -> DrawInputs:
        """Prepare everything that a new question is drawn with, before anything is charged."""
        design = self.prepare(request)
        chained = self.designer.chain(request.dataset, design)
        try:
            source = stack.enter_context(closing(self.sources.open(request.dataset, request.plan)))
        except (SourceError, AggregationError) as reason:  # only the operator may see the reason
            log.warning("the source of %s could not be opened: %s", request.dataset.name, type(reason).__name__)
            raise CuratorUnavailable from None
        method = PunctualDrawing(_draw_method(design, chained), deadline)
        session = stack.enter_context(self._open_session(request))
        return DrawInputs(session, PreparedTable(design, method, source), self.designer.publish(design, chained))

    def _open_session(self, request: PricedQuestion) -> ChargeSession:
        """Open the question's charge session. `evaluations` decides whether data may be read under a charge."""
        return ChargeSession.open(request.plan, None, self.connections.ledger, request.key, read_again=True)

    def _reserve(
        self, account: Account, request: PricedQuestion, key: str | None, inputs: DrawInputs | None
    ) -> Reservation | None:
        """Reserve an answer in one transaction: the key, the account's cap and rows, the charge of the people, and the
        note that data will be read.

        inputs: what a new question is drawn with; without it, return None if data would have to be read.

        If the ledger refuses the charge, the transaction is rolled back here. If the ledger charged and a crash rolled
        back this transaction, the charge is found by its key when the question is asked again. No data was read in that
        case, because the evaluation is noted in this transaction first.
        """
        digest, level = issued.request_digest(request), account_level(account, request.dataset)
        own_key = None if key is None else validate_name(key, "key")
        with self.connections.store.writing() as run:
            now, ledger = self.now(), self.connections.ledger
            asker = accounts.load_account_row(run, account.name, request.dataset.name, own_key)
            source = issued.find_by_key(run, asker, own_key, digest) or reuse.find_reusable(run, ledger, request, now)
            stored = self._find_stored_charge(run, request, source.key, now)
            if stored is None and inputs is None:
                return None
            if isinstance(source, IssuedAnswer):
                answer = source
            else:
                answer = issued.reserve_answer(run, account, asker, source, request, level, self.clock())
                issued.record_request(run, account, asker, answer, own_key, digest, max(self.most_rows, account.rows))
            grant = asker.grant(answer.dataset, answer.units * answer.noted)
            if stored is not None:
                return Reservation(answer, grant, stored)
            assert inputs is not None
            charge = self._charge(run, inputs.session)
            issued.note_mechanisms(run, request.key, inputs.digests)
            return Reservation(answer, grant, charge, self._begin_evaluation(run, request))

    def _find_stored_charge(self, run: Run, request: PricedQuestion, key: str, now: int) -> Charge | None:
        """Return the charge whose answer or draw is stored; None if data must be read under a new charge.

        Raises `AnswerPending` before the moment at which an answer leaves: otherwise its absence would reveal how long
        the evaluation takes.
        """
        evaluation = evaluations.find_evaluation(run, key)
        if evaluation is not None and evaluation.until > now:
            raise AnswerPending(evaluation.until)
        evaluations.check_not_failed(run, evaluation, now)
        charge = self.connections.ledger.find(key)
        if charge is not None and (charge.answer is not None or charge.draw is not None):
            return charge
        evaluations.check_open(run, request.dataset.name, now)
        was_restored = self.connections.store.mark != 0  # then this charge may have been evaluated unknown to us
        if evaluation is not None or key != request.key or (charge is not None and was_restored):
            raise EvaluationFailed
        return None

    def _charge(self, run: Run, session: ChargeSession) -> Charge:
        """Charge the people, and store the ledger's new head.

        The ledger must continue from the last head: a server may have been restored since this connection was opened.
        """
        ledger_head.check_reopened(self.connections.store)
        ledger_head.check_seen(run, self.connections.ledger, self.connections.store.place)
        charge = session.charge()
        assert charge is not None  # a curator has a ledger
        ledger_head.note_head(run, LedgerHead(self.connections.ledger.id, charge.number, charge.sha256))
        return charge

    def _begin_evaluation(self, run: Run, request: PricedQuestion) -> float:
        """Note that data will be read; return when the answer leaves, by the steady clock. The database holds the wall
        clock's.
        """
        wall, steady = self.time.wall(), self.time.steady()
        until = math.ceil((wall + float(request.dataset.answer_seconds)) * 1000)
        evaluations.begin_evaluation(run, request.key, request.dataset.name, until)
        return steady + until / 1000 - wall

    def _finish_evaluation(self, key: str, deadline: Deadline) -> None:
        """Note that everything is stored. If the answer had to leave meanwhile, the evaluation counts as failed."""
        if deadline.is_past():
            return
        try:
            self._note_finished(key)
        except ConnectionLost:  # the same once more changes nothing
            self._note_finished(key)
        if not deadline.finish():
            with self.connections.store.writing() as run:
                evaluations.finish_evaluation(run, key, finished=False)

    def _note_finished(self, key: str) -> None:
        with self.connections.store.writing() as run:
            evaluations.finish_evaluation(run, key)

    def _is_drawn(self, key: str) -> bool:
        charge = self.connections.ledger.find(key)
        return charge is not None and (charge.draw is not None or charge.answer is not None)

    def _load_stored_table(self, request: PricedQuestion, charge: Charge) -> StoredTable:
        """Return the table under a charge, or build it from the draw under it; no data is read."""
        if charge.answer is not None:
            return StoredTable(*decode_table(charge.answer), drawn=False)
        source = request if charge.key == request.key else self._load_question(request.dataset, charge.key)
        try:
            design = self.prepare_design(source, allow_useless=True)
            method = _draw_method(design, self.designer.chain(source.dataset, design))
            with self._open_session(source) as session:
                return draw_table(session, PreparedTable(design, method, None), charge)
        except Exception as reason:
            log.warning("a stored answer could not be read: %s", type(reason).__name__)
            raise CuratorUnavailable from None

    def _load_question(self, dataset: Dataset, key: str) -> PricedQuestion:
        """Return the question with this key, as the dataset is declared now."""
        with self.connections.store.reading() as run:
            ((text,),) = run("SELECT question FROM questions WHERE key = ?", key)
        request = PricedQuestion.from_question(dataset, parse_question(json.loads(text), dataset, stored=True))
        if request.key != key:
            raise UnknownResource("the answer must be about the dataset as it is declared now; ask again")
        return request

    def _issue(self, reservation: Reservation, stored: StoredTable) -> Answer:
        paid = AnswerCost.from_charge(
            reservation.charge.amount,
            reservation.answer,
            reservation.grant,
            reservation.charge.people,
            charged=not reservation.charge.repeated,
        )
        return view_for_account(reservation.answer, stored, self.access.is_known(reservation.answer.dataset), paid)

    def repeat(self, account: Account, name: str) -> Answer:
        """Return an answer that was issued to an account before, by its id."""
        with self.connections.store.reading() as run:
            answer = issued.find_issued(run, name)
            grants = accounts.list_grants(run, account.name)
            if answer is None or answer.account != account.name:
                raise UnknownResource(f"answer must be one that this account was given, got {name!r}")
            self.access.dataset(account, answer.dataset)
            evaluation, now = evaluations.find_evaluation(run, answer.key), self.now()
            evaluations.check_not_failed(run, evaluation, now)
        charge = self.connections.ledger.find(answer.key)
        if charge is None or charge.answer is None or (evaluation is not None and evaluation.until > now):
            raise UnknownResource("the answer is not there yet; ask the question again, which is charged only once")
        grant = grants.get(answer.dataset, Grant(answer.dataset))
        return self._issue(Reservation(answer, grant, charge), StoredTable(*decode_table(charge.answer), drawn=False))


def _draw_method(design: CheckedDesign, chained: ChainedDraw | None) -> DrawMethod:
    return IndependentDraw(design.designed) if chained is None else chained
