"""The curator: questions over time about the same people, answered within their privacy budget.

    question → canonical form → stored answer                            costs the people nothing
                              → design → charge → draw → store → issue   the protocol of the ledger

Everything the HTTP service does is a call of this class.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.curator import evaluations, issued, ledger_head
from inbounds.curator.access import Access, account_level
from inbounds.curator.accounts import Account, Role
from inbounds.curator.answer import Answer
from inbounds.curator.answer_pipeline import AnswerPipeline
from inbounds.curator.database import ThreadConnections
from inbounds.curator.dataset import Dataset
from inbounds.curator.design_pool import DesignPool
from inbounds.curator.errors import Forbidden, UnknownResource
from inbounds.curator.evaluations import DatasetStatus
from inbounds.curator.exposure import (
    MOST_KEPT,
    MOST_QUESTIONS,
    AnswerEstimates,
    Exposure,
    compute_exposure,
    estimate_answer,
    find_mechanisms_drawn,
)
from inbounds.curator.issued import IssuedAnswer
from inbounds.curator.open_sources import Sources
from inbounds.curator.preview import QuestionPreview, build_preview
from inbounds.curator.question import Question, parse_question
from inbounds.curator.reuse import PricedQuestion
from inbounds.curator.settings import ServiceLimits, Settings, load_settings
from inbounds.curator.timing import Slots, Time
from inbounds.exact import Number, format_decimal
from inbounds.ledger import LedgerHead, Population
from inbounds.releases.levels import GEOMETRIC
from inbounds.schema.errors import AggregationError, PlanError, SourceError, error_path
from inbounds.statistics.designs import DEFAULT_OPTIONS

OWNER = Account("owner", "owner")
"""The operator of the curator's machine."""

QuestionLike = PricedQuestion | Question | Mapping[str, Any]
"""A question, its plain values, or what `Curator.price` made of it, which is then neither parsed nor planned again."""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Curator:
    """A curator of datasets; `Curator.open` reads a file of settings. clock: for time stamps. time: for waiting.

    Any thread may call it; each thread has its connections. Several processes may share one database and ledger.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], str] = now, time: Time | None = None) -> None:
        self.settings, limits = settings, settings.limits
        self._clock, self._time = clock, time or Time()
        settings.designs.mkdir(parents=True, exist_ok=True)
        self.designer = DesignPool(settings.designs, limits.design_seconds, limits.design_bytes, limits.designs)
        self._connections, self._sources = (
            ThreadConnections(settings.ledger, settings.database),
            Sources(limits.threads),
        )
        self._access = Access(self._connections, settings.datasets, clock)
        self._estimates = dict[tuple[str, Fraction, int], AnswerEstimates]()
        self._slots = Slots(limits.evaluations, self._time, self.close_thread)
        parts = self._connections, self._sources, self.designer, self._access, limits.rows, clock
        self._answering = AnswerPipeline(*parts, self._time, self._slots)
        try:
            self._connections.begin()
            self._declare_people()
        except BaseException:
            self._connections.close()
            raise

    @staticmethod
    def open(path: str | PathLike[str]) -> "Curator":
        """Open the curator that a TOML file describes."""
        return Curator(load_settings(path))

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close_thread(self) -> None:
        """Close the connections of this thread."""
        self._connections.close()

    def close(self) -> None:
        """Close this thread's connections, those of evaluations, and the design processes."""
        self.designer.close()
        self._slots.close()
        self._sources.close()
        self.close_thread()

    @property
    def limits(self) -> ServiceLimits:
        return self.settings.limits

    def check_sources(self) -> list[str]:
        """Check every source and return warnings for the owner. Raises `SourceError` if a source lacks what is declared
        or cannot be aggregated.

        Each dataset is read once as a trial, and only the time it took is kept. This is for the owner, who attaches the
        data: a file that an engine cannot read is found here, and not by a question that was charged. Warnings name
        datasets whose trial took more than a quarter of `answer_seconds`, and datasets that are closed.
        """
        warnings = []
        for dataset in self.settings.datasets.values():
            try:
                with error_path("datasets", dataset.name):
                    seconds = self._trial(dataset)
            except PlanError as error:
                raise error.with_place(self.settings.lines.place(error.path)) from None
            if 4 * seconds > dataset.answer_seconds:
                warnings.append(
                    f"warning: datasets.{dataset.name}.answer_seconds should be at least {_round_up(4 * seconds)}, got "
                    f"{format_decimal(dataset.answer_seconds)}: a trial evaluation took {seconds:.2g} seconds, "
                    f""
                    f"and a question "
                    "that is not finished in time closes the dataset"
                )
        self._slots.start(self._open_sources)
        return warnings + self._closed_warnings()

    def _closed_warnings(self) -> list[str]:
        """Say which datasets are closed, and whether ledger or database are backups that are closed."""
        warnings = [f"warning: {one}" for one in self.statuses(OWNER) if one.is_closed]
        restored = [self._connections.ledger.place] if self._connections.ledger.is_closed else []
        restored += [self._connections.store.place] if self._connections.store.mark < 0 else []
        return warnings + [
            f"warning: {place} is a restored backup: no new question is answered until inbounds curator accept-ledger"
            for place in restored
        ]

    def _open_sources(self) -> None:
        """Open every source in this thread, and run its engine once."""
        for dataset in self.settings.datasets.values():
            with closing(self._sources.open(dataset, dataset.check_plan())) as source:
                source.aggregate()

    def _trial(self, dataset: Dataset) -> float:
        """Return the seconds that an evaluation of all declared columns takes once the dataset is attached."""
        try:
            self._sources.attach(dataset)
            with closing(self._sources.open(dataset, dataset.check_plan())) as source:
                began = self._time.steady()
                source.aggregate()
                return self._time.steady() - began
        except AggregationError:
            raise SourceError("cannot be aggregated: the engine stopped in a trial", ("source",)) from None

    def backup(self, folder: str | PathLike[str]) -> LedgerHead:
        """Copy the database and then the ledger into a folder, while questions are answered; return the ledger's head.

        The ledger comes last: what it knows beyond the database costs nobody privacy.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        self._connections.store.backup(target / "curator.db", "SELECT 1")
        return self._connections.ledger.backup(target / "budget.db")

    def check(self) -> None:
        """Raise an error unless the ledger and the database can be read."""
        self._connections.ledger.head()
        with self._connections.store.reading() as run:
            run("SELECT 1 FROM accounts LIMIT 1")

    @property
    def reopened(self) -> int:
        """Return how many lost connections to ledger and database were opened again."""
        return self._connections.reopened

    def _declare_people(self) -> None:
        ledger = self._connections.ledger
        ledger_head.declare_people(ledger, self.settings.datasets)
        head = ledger.head()
        with self._connections.store.writing() as run:
            ledger_head.note_head(run, head)

    def budget_conflicts(self) -> list[str]:
        """Describe where the ledger's budget differs from the one that the settings declare; the ledger's applies."""
        datasets = self.settings.datasets.values()
        return [
            line for one in datasets if (line := one.budget.describe_conflict(self.people(one), one.name, one.edition))
        ]

    # --- accounts -----------------------------------------------------------------------------------------

    def add_account(
        self,
        name: str,
        datasets: Mapping[str, Number | None] | None = None,
        *,
        role: Role = "analyst",
        levels: Mapping[str, str] | None = None,
    ) -> str:
        """Add an account and return its token, which is shown only once.

        datasets: what it may ask, with a cap in epsilon for each; None for no cap but the people's budget. levels: the
        level at which it sees a dataset that has levels; the lowest by default.
        """
        return self._access.add(name, datasets or {}, role, levels or {})

    def revoke_account(self, name: str) -> None:
        """Revoke an account: its token is unknown from now on."""
        self._access.revoke(name)

    def accounts(self) -> list[Account]:
        """Return all accounts, including revoked ones."""
        return self._access.all()

    def find_account(self, name: str) -> Account:
        """Return the account of this name with its current grants."""
        return next(one for one in self.accounts() if one.name == name)

    def account(self, token: str) -> Account:
        """Return the account with this token; `UnknownToken` if there is none."""
        return self._access.with_token(token)

    # --- what may be known of datasets --------------------------------------------------------------------

    def dataset(self, account: Account, name: str) -> Dataset:
        """Return a dataset that this account may ask; `UnknownResource` for any other."""
        return self._access.dataset(account, name)

    def datasets(self, account: Account) -> list[Dataset]:
        """Return the datasets that an account may ask."""
        datasets = self.settings.datasets
        return [datasets[name] for name in datasets if account.role == "owner" or name in account.grants]

    def people(self, dataset: Dataset) -> Population:
        """Return the population of a dataset with its budget and spending."""
        return self._connections.ledger.population(dataset.people.name)

    # --- questions ----------------------------------------------------------------------------------------

    def price(self, account: Account, name: str, question: QuestionLike) -> PricedQuestion:
        """Return a question as it would be drawn; nothing is charged or read."""
        dataset = self.dataset(account, name)
        if isinstance(question, PricedQuestion):
            if question.dataset is not dataset:
                raise ValueError(f"question must be priced for dataset {name!r}; price it again")
            return question
        parsed = question if isinstance(question, Question) else parse_question(question, dataset)
        if dataset.levels and parsed.epsilon not in (None, account_level(account, dataset)):
            raise PlanError("must be left out, or be the epsilon of the account's level", ("epsilon",))
        if dataset.levels and parsed.design not in (DEFAULT_OPTIONS, GEOMETRIC):
            raise PlanError("must be left out: levels are one chain of geometric noise", ("design",))
        return PricedQuestion.from_question(
            dataset, replace(parsed, epsilon=None, design=GEOMETRIC) if dataset.levels else parsed
        )

    def preview(self, account: Account, name: str, question: QuestionLike) -> QuestionPreview:
        """Preview a question: where its answer would come from, its cost and its expected errors. Free; reads
        no data.
        """
        request = self.price(account, name, question)
        design = self._answering.prepare_design(request, allow_useless=True)
        reusable = self._answering.find_reusable(request)
        level, chained = account_level(account, request.dataset), self.designer.chain(request.dataset, design)
        account_design = (
            design.designed if chained is None or level is None else chained.level(chained.epsilons.index(level))
        )
        epsilon = level or reusable.source.epsilon
        return build_preview(
            request, reusable, design, account_design, self.people(request.dataset), format_decimal(epsilon)
        )

    def ask(self, account: Account, name: str, question: QuestionLike, *, key: str | None = None) -> Answer:
        """Answer a question from what is stored; otherwise charge, draw and store before the answer is issued.

        key: of this account; the same key again is the same answer, and is refused for another question.
        The answer to a new question leaves after the `answer_seconds` of its dataset, however long it takes. If it
        fails, or takes longer, that is `CuratorUnavailable` at the same moment, and the dataset is `DatasetClosed`
        from then on.

        Formal guarantee: all answers that all accounts were ever given about the same people are together as private
        as what their ledger was charged, even if all accounts share their answers.
        """
        return self._answering.answer(account, self.price(account, name, question), key)

    def prepare(self, account: Account, name: str, question: QuestionLike) -> PricedQuestion:
        """Price a question and design its mechanisms; the first part of `ask`, which may take long."""
        request = self.price(account, name, question)
        self._answering.prepare(request)
        return request

    def ask_stored(
        self, account: Account, name: str, question: QuestionLike, *, key: str | None = None
    ) -> Answer | None:
        """Answer a question from what is stored, which does not take long; None if data must be read."""
        return self._answering.at_once(account, self.price(account, name, question), key)

    def needs_design(self, account: Account, name: str, question: QuestionLike) -> bool:
        """Return whether the preview of a question needs a design, which may take long; this check does not."""
        return self.designer.needs_design(self.price(account, name, question).workload)

    def answer(self, account: Account, name: str) -> Answer:
        """Return an answer that was issued to this account before, by its id."""
        return self._answering.repeat(account, name)

    def answers(self, account: Account) -> list[IssuedAnswer]:
        """List all answers issued to an account, the last first."""
        page, following = self.answers_page(account)
        answers = [*page]
        while following is not None:
            page, following = self.answers_page(account, following)
            answers += page
        return answers

    def answers_page(self, account: Account, before: str | None = None) -> tuple[list[IssuedAnswer], str | None]:
        """Return a page of the answers issued to an account, the last first, and the id to go on from; None at the end.

        before: the id that the page before returned.
        """
        with self._connections.store.reading() as run:
            page, following = issued.issued_to_account(run, account.name, before)
        return [one for one in page if one.dataset in self.settings.datasets], following

    def mechanism(self, account: Account, digest: str) -> str:
        """Return the passport with this digest as JSON text; it holds nothing about the data.

        Owners may read any passport, other accounts only those that drew an answer of theirs. A digest can be computed
        from a question, so other accounts get the same `UnknownResource` as for a digest that does not exist, and no
        file is looked for.
        """
        with self._connections.store.reading() as run:
            may = account.role == "owner" or issued.is_drawn_by(run, account.name, digest)
        passport = self.designer.find_passport(digest) if may else None
        if passport is None:
            raise UnknownResource(f"mechanism must be the sha256 in an answer of this account, got {digest[:64]!r}")
        return passport

    # --- for the owner ------------------------------------------------------------------------------------

    def ledger(self, account: Account) -> dict[str, Any]:
        """Return what was spent on each population, the ledger's head, and which datasets are closed."""
        ledger, statuses = self._connections.ledger, self.statuses(account)
        people = [who.to_json() for who in ledger.people()]
        return {"head": ledger.head().to_json(), "people": people, "datasets": [one.to_json() for one in statuses]}

    def statuses(self, account: Account) -> list[DatasetStatus]:
        """Return whether each dataset is closed, and how often accounts may have seen that an evaluation failed."""
        _check_owner(account)
        now = self._answering.now()
        with self._connections.store.reading() as run:
            return [DatasetStatus(name, evaluations.list_failures(run, name, now)) for name in self.settings.datasets]

    def reopen(self, account: Account, name: str) -> DatasetStatus:
        """Reopen a closed dataset. Questions whose evaluation failed stay charged and are not answered."""
        _check_owner(account)
        dataset, now = self.dataset(account, name), self._answering.now()
        with self._connections.store.writing() as run:
            evaluations.reopen_dataset(run, dataset.name, now, self._clock())
            return DatasetStatus(name, evaluations.list_failures(run, name, now))

    def exposure(self, account: Account, name: str) -> Exposure:
        """Return what accounts that share their answers could know by now about the people of a dataset."""
        _check_owner(account)
        dataset = self.dataset(account, name)
        with self._connections.store.reading() as run:
            held = issued.held_answers(run, dataset.name)
            last = issued.last_questions(run, dataset.name, MOST_QUESTIONS)
        (status,) = (one for one in self.statuses(account) if one.name == name)
        return compute_exposure(status, self.people(dataset), held, last, self._estimate)

    def _estimate(self, key: str, level: Fraction, holders: int) -> AnswerEstimates:
        """Return what so many holders of an answer know; what was computed before is kept."""
        stored = self._estimates.get((key, level, holders))
        if stored is None:
            if len(self._estimates) >= MOST_KEPT:
                self._estimates.clear()
            drew = find_mechanisms_drawn(self._connections.ledger, self.designer, key, level)
            stored = self._estimates[key, level, holders] = estimate_answer(drew, holders)
        return stored


def _round_up(seconds: float) -> str:
    """Round seconds up to one digit."""
    unit = 10.0 ** math.floor(math.log10(seconds))
    return f"{math.ceil(seconds / unit) * unit:g}"


def _check_owner(account: Account) -> None:
    if account.role != "owner":
        raise Forbidden("only an owner may see or do this")
