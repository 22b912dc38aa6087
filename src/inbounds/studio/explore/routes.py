"""The routes of Explore: parse a URL, ask for a job, show it. Slow results are shown when they are ready."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request, Response

from inbounds.catalog.registry import families
from inbounds.errors import InboundsError
from inbounds.mechanism import Mechanism
from inbounds.properties import NAMES as PROPERTIES
from inbounds.report.wording import MEANING
from inbounds.studio.explore import designs, snippets, view
from inbounds.studio.explore.state import AIMS, KINDS, LOSSES, OPTIMAL, PRIORS, ExploreState
from inbounds.studio.jobs import Job
from inbounds.studio.pages import fragment, page
from inbounds.studio.studio import Studio
from inbounds.workers import describe_failure

MOMENT, PAGE = 0.5, 3.0
"""Seconds that a part of a page, and a whole page, wait before they say that something is being computed."""

LONGER = 30.0
"""Seconds that a page waits for what was asked for by a link, without the script."""

EPSILONS = (
    "0.01",
    "0.02",
    "0.05",
    "0.1",
    "0.2",
    "0.3",
    "0.4",
    "0.5",
    "0.75",
    "1",
    "1.5",
    "2",
    "3",
    "4",
    "6",
    "8",
    "10",
)
"""The stops of the slider; any other epsilon can be typed."""

PARTS = {"curve": designs.loss_curve, "price": designs.property_costs, "attack": designs.attack}
"""What is computed beside the mechanism itself."""


def router(studio: Studio) -> APIRouter:
    """Return the routes of a studio."""
    routes = APIRouter()

    @routes.get("/explore")
    def explore(request: Request) -> Response:
        question, others = _parse_request(request)
        whole = "x-part" not in request.headers
        patience = LONGER if "show" in others else PAGE if whole else MOMENT
        shown = _result(studio, question, others, request.headers.get("x-tab", ""), patience)
        shown["parts"] = _parts(studio, question, others) if shown["result"] else []
        if whole:
            return page("explore.html", "/explore", **_form(question, others), **shown)
        answer = fragment("explore_result.html", **shown)
        if shown["failure"] is None:
            answer.headers["x-url"] = f"/explore?{question.url}&{urlencode(others)}".rstrip("&")
        return answer

    @routes.get("/explore/reading")
    def reading(request: Request) -> Response:
        question, others = _parse_request(request)
        job = studio.work.ask(designs.design, question)
        if not job.is_ready(LONGER) or job.failure is not None:
            return Response(status_code=204)
        return fragment("explore_reading.html", reading=view.reading(question, job.result, others.get("read", "")))

    @routes.get("/explore/{part}")
    def part(request: Request, part: str) -> Response:
        question, others = _parse_request(request)
        if part not in PARTS:
            return Response(status_code=404)
        return fragment("explore_part.html", part=_part(studio, part, question, others, MOMENT))

    return routes


def _parse_request(request: Request) -> tuple[ExploreState, dict[str, str]]:
    """Return the question in a URL, and the other fields: a pinned question, the published value, what is shown."""
    pairs = request.query_params.multi_items()
    others = {name: value for name, value in pairs if name in ("a", "read", "show") and value}
    return ExploreState.from_pairs(pairs), others


def _form(question: ExploreState, others: dict[str, str]) -> dict[str, Any]:
    return {
        "q": question,
        "others": others,
        "kinds": {name: words for name, (words, _) in KINDS.items()},
        "needs": {name: [kind for kind, (_, fields) in KINDS.items() if name in fields] for name in _facts()},
        "losses": LOSSES,
        "priors": PRIORS,
        "aims": AIMS,
        "properties": [(name, name.replace("_", " "), MEANING[name]) for name in PROPERTIES],
        "mechanisms": [OPTIMAL, *families()],
        "epsilons": EPSILONS,
        "step": EPSILONS.index(question.epsilon) if question.epsilon in EPSILONS else "",
    }


def _facts() -> list[str]:
    return list(dict.fromkeys(name for _, fields in KINDS.values() for name in fields))


def _result(
    studio: Studio, question: ExploreState, others: dict[str, str], tab: str, patience: float
) -> dict[str, Any]:
    """Return the mechanism beside the pinned one, or that it is being designed, or why there is none."""
    shown: dict[str, Any] = {"job": None, "failure": None, "result": None, "pinned": None, "pin": "", "copies": ()}
    try:
        question.check()
        job = studio.ask_for(tab, studio.work.ask(designs.design, question))
        if not job.is_ready(patience):
            return {**shown, "job": job, "again": f"/explore?{question.url}&{urlencode(others)}"}
        if job.failure is not None:
            return {**shown, "failure": job.failure}
        shown["result"] = view.result(question, job.result, others.get("read", ""), others)
        shown["pinned"] = _find_pinned(studio, others)
    except (InboundsError, ValueError, TypeError) as error:
        return {**shown, "result": None, "failure": describe_failure(error)}
    pinning = {**others, "a": question.url}
    copies = (
        ("Python", snippets.python_snippet),
        ("Command", snippets.command_snippet),
        ("Plan (TOML)", snippets.plan_snippet),
    )
    return {
        **shown,
        "pin": f"/explore?{question.url}&{urlencode(pinning)}",
        "unpin": f"/explore?{question.url}&{urlencode({n: v for n, v in others.items() if n != 'a'})}",
        "copies": [(name, write(question)) for name, write in copies],
    }


def _find_pinned(studio: Studio, others: dict[str, str]) -> dict[str, Any] | None:
    """Find the pinned mechanism; None while it is not ready."""
    if "a" not in others:
        return None
    question = ExploreState.from_pairs(parse_qsl(others["a"]))
    job: Job = studio.work.ask(designs.design, question)
    if not job.is_ready(LONGER) or not isinstance(job.result, Mechanism):
        return None
    return view.result(question, job.result, others.get("read", ""), {"read": others.get("read", "")})


def _parts(studio: Studio, question: ExploreState, others: dict[str, str]) -> list[dict[str, Any]]:
    """Return the places of further computations, and the one that a link asked for."""
    shown = others.get("show", "")
    return [
        _part(studio, name, question, others, LONGER) if name == shown else _place(name, question, others)
        for name in PARTS
    ]


def _place(name: str, question: ExploreState, others: dict[str, str]) -> dict[str, Any]:
    query = f"{question.url}&{urlencode({**others, 'show': name})}"
    return {"name": name, "url": f"/explore/{name}?{question.url}", "link": f"/explore?{query}", "state": "asked"}


def _part(studio: Studio, name: str, question: ExploreState, others: dict[str, str], patience: float) -> dict[str, Any]:
    job, place = studio.work.ask(PARTS[name], question), _place(name, question, others)
    if not job.is_ready(patience):
        return {**place, "state": "working", "job": job}
    if job.failure is not None:
        return {**place, "state": "failed", "failure": job.failure}
    return {**place, "state": "there", **_part_view(name, question, job.result, others)}


def _part_view(name: str, question: ExploreState, result: Any, others: dict[str, str]) -> dict[str, Any]:
    loss = question.loss_object().name
    if name == "curve":
        return view.curve(result, loss)
    return view.attack_view(result, loss) if name == "attack" else {"rows": view.price_rows(question, result, others)}
