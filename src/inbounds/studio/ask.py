"""The routes of Ask: questions to a curator, with a free preview, and the answers issued before."""

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from inbounds.curator.answer_tables import FORMS, encode_answer, number_panels
from inbounds.errors import InboundsError
from inbounds.report.plots import plot_intervals
from inbounds.statistics import STATISTICS, Statistic
from inbounds.statistics.conditions import EVERYTHING
from inbounds.statistics.entries import entry_fields, find_kind
from inbounds.studio.forms import StatisticChoice, columns_by_subject, describe_kinds, kind_fields
from inbounds.studio.pages import fragment, page
from inbounds.studio.studio import Studio
from inbounds.workers import describe_failure

if TYPE_CHECKING:
    from inbounds.curator.accounts import Account
    from inbounds.curator.answer import Answer
    from inbounds.curator.curator import Curator

NONE = "the studio must be started with a curator to ask one: inbounds studio --curator curator.toml --account NAME"
PREFIX = "statistic."
FIRST = StatisticChoice.from_values({"count": EVERYTHING})
"""The question that the form begins with."""

ASKED = "confirm that the question may be charged: tick the box above the button"

MOST_PLOTS = 4
"""Most columns of an answer that are drawn; the table holds all of them."""

HOW = {
    "new": "a new draw",
    "same": "the stored answer to the same question",
    "stronger": "a stored answer that is more exact",
    "sum": "a sum of stored cells",
}
"""Where an answer comes from."""


def router(studio: Studio) -> APIRouter:
    """Return the routes; without a curator a page says how to start one."""
    routes = APIRouter()

    @routes.get("/ask")
    def first(dataset: str = "") -> Response:
        if studio.curator is None:
            return page("ask_none.html", "/ask", way=NONE)
        return page("ask.html", "/ask", **_page_facts(studio, dataset), **_empty())

    @routes.post("/ask/preview")
    async def preview(request: Request) -> Response:
        return fragment("ask_preview.html", **await run_in_threadpool(_preview, studio, await _pairs(request)))

    @routes.post("/ask")
    async def ask(request: Request) -> Response:
        return await run_in_threadpool(_ask, studio, await _pairs(request))

    @routes.get("/ask/answer")
    def answer(id: str) -> Response:  # noqa: A002
        curator, account = _curator_and_account(studio)
        return page("ask_answer.html", "/ask", **_answer_view(curator.answer(account, id)))

    @routes.get("/ask/answer/file")
    def file(id: str, form: str) -> Response:  # noqa: A002
        curator, account = _curator_and_account(studio)
        content = encode_answer(curator.answer(account, id), form)
        headers = {"content-disposition": f'attachment; filename="answer{form}"'}
        return Response(content, media_type=FORMS[form], headers=headers)

    @routes.get("/ask/exposure")
    def exposure(dataset: str) -> Response:
        curator, account = _curator_and_account(studio)
        return page("ask_exposure.html", "/ask", **_exposure_view(curator.exposure(account, dataset).to_json()))

    return routes


async def _pairs(request: Request) -> list[tuple[str, str]]:
    return parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)


def _curator_and_account(studio: Studio) -> "tuple[Curator, Account]":
    """Return the curator and the account that this studio asks for, with its current grants."""
    if studio.curator is None:
        raise ValueError(NONE)
    return studio.curator, studio.curator.find_account(studio.account)


def _page_facts(studio: Studio, chosen: str, form: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the datasets that may be asked, the form for one of them, and earlier answers."""
    curator, account = _curator_and_account(studio)
    datasets = [one.name for one in curator.datasets(account)]
    name = chosen or next(iter(datasets), "")
    facts = curator.dataset(account, name).describe() if name else None
    before = [one for one in curator.answers(account) if one.dataset == name]
    return {
        "account": account.to_json(),
        "datasets": datasets,
        "facts": facts,
        "people": str(curator.people(curator.dataset(account, name))) if name else "",
        "kinds": describe_kinds(),
        "fields": kind_fields(),
        "columns": columns_by_subject(curator.dataset(account, name).columns) if name else {},
        "choice": StatisticChoice.from_form(form, PREFIX) if form else FIRST,
        "given": form or {"by": [], "epsilon": "0.5", "where": ""},
        "before": [(one.id, one.time, format_question(one.question)) for one in before],
    }


def _empty() -> dict[str, Any]:
    return {"found": None, "failure": None, "how": HOW}


def question_from_form(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the plain values of a question from the fields of its form."""
    form = {name: value.strip() for name, value in pairs}
    question = StatisticChoice.from_form(form, PREFIX).to_values()
    question["by"] = [value for name, value in pairs if name == "by"]
    question |= {name: form[name] for name in ("where", "epsilon") if form.get(name)}
    return question | ({"allow_useless": True} if form.get("allow_useless") else {})


def _preview(studio: Studio, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    try:
        curator, account = _curator_and_account(studio)
        preview = curator.preview(account, dict(pairs).get("dataset", ""), question_from_form(pairs))
    except (InboundsError, ValueError, TypeError) as error:
        return {**_empty(), "failure": describe_failure(error)}
    rows = [[size, f"{error:.3g}", f"{preview.constants[size]:.3g}"] for size, error in preview.errors.items()]
    return {**_empty(), "found": preview.to_json(), "rows": rows}


def _ask(studio: Studio, pairs: list[tuple[str, str]]) -> Response:
    """Ask the question once it is confirmed; without the script, show the preview first."""
    form = dict(pairs)
    curator, account = _curator_and_account(studio)
    if form.get("action") == "look":
        filled = {**form, "by": [value for name, value in pairs if name == "by"]}
        room = _page_facts(studio, form.get("dataset", ""), filled)
        return page("ask.html", "/ask", **room, **_preview(studio, pairs))
    if form.get("confirm") != "yes":
        raise ValueError(ASKED)
    answer = curator.ask(account, form.get("dataset", ""), question_from_form(pairs))
    return RedirectResponse(f"/ask/answer?id={answer.id}", 303)


def _answer_view(answer: "Answer") -> dict[str, Any]:
    """Return an answer as a table with its cost."""
    columns = list(answer.table.values())
    rows = [[_text(value) for value in row] for row in zip(*columns, strict=True)]
    values = {**answer.to_json(), "spoken": format_question(answer.question)}
    panels = islice(number_panels(answer.table, answer.question.get("by") or ()), MOST_PLOTS)
    plots = [{"picture": plot_intervals(intervals, name), "meaning": meaning} for name, intervals, meaning in panels]
    return {"answer": values, "head": list(answer.table), "rows": rows, "plots": plots, "forms": list(FORMS)}


def _exposure_view(exposure: dict[str, Any]) -> dict[str, Any]:
    """Return what coalitions of accounts hold, and what they know of each question, as tables."""
    coalitions = [
        [str(row["accounts"]), row["epsilon"], "" if row["exact"] else "at most"] for row in exposure["coalitions"]
    ]
    questions = [
        [format_question(row["question"]), row["epsilon"], str(row["accounts"]), _text(row["now"].get("guess")),
         _text(row["drawn_for_each"].get("guess"))]
        for row in exposure["questions"]
    ]  # fmt: skip
    accounts = list(exposure["accounts"].items())
    shown = {"accounts": accounts, "coalitions": coalitions, "questions": questions}
    return {"people": exposure["people"], "observations": exposure["observations"], **shown}


def format_question(question: Mapping[str, Any]) -> str:
    """Return a question as one line, with every field of its statistic."""
    kind = find_kind(question)
    names = [name for name in entry_fields(STATISTICS[kind]) if name not in Statistic.model_fields]
    further = "".join(f", {name} {_join(question[name])}" for name in names if question.get(name))
    by = f" by {', '.join(question['by'])}" if question.get("by") else ""
    where = f" where {question['where']}" if question.get("where") else ""
    return f"{kind} of {_join(question[kind])}{further}{where}{by}"


def _join(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
