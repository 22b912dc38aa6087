"""The routes of Plan: choose a source, declare public facts and statistics, look at the dry run, save."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from inbounds.files import write_text
from inbounds.files.bounded import parse_toml, read_text
from inbounds.plan.draft import guess_bounds, guess_group_column, guess_id_column
from inbounds.schema.errors import PlanError
from inbounds.schema.text import PERIODS
from inbounds.sources.open import ENCODINGS, THOUSANDS
from inbounds.statistics.conditions import EVERYTHING
from inbounds.studio.forms import StatisticChoice, common_fields, describe_kinds, kind_fields
from inbounds.studio.jobs import Job
from inbounds.studio.pages import fragment, page
from inbounds.studio.plan import dry_run, values
from inbounds.studio.plan.draft import KEYS_FROM, USES, ColumnChoice, Draft, from_form
from inbounds.studio.plan.values import WRITING
from inbounds.studio.studio import Studio
from inbounds.workers import CallFailure, describe_failure

MOMENT = 0.6
LONGER = 60.0
"""Seconds that a page waits for a dry run: a moment with the script, longer without it."""


def router(studio: Studio) -> APIRouter:
    """Return the routes of a studio."""
    routes, place = APIRouter(), studio.workspace

    @routes.get("/plan")
    def choose() -> Response:
        return page(
            "plan_choose.html", "/plan", data=place.data, plans=place.plans, encodings=ENCODINGS, thousands=THOUSANDS
        )

    @routes.get("/plan/edit")
    def edit(request: Request, source: str = "", plan: str = "", url: str = "", table: str = "") -> Response:
        if plan:
            return _show_draft(studio, _existing(studio, plan))
        if source:
            place.existing(source)
        _check_url(url)
        names = _now(studio.work.ask(dry_run.tables, str(place.folder), source, url, again=object()))
        if names and not table:
            return page("plan_table.html", "/plan", source=source, url=url, tables=names, query=request.url.query)
        written = {name: value for name in WRITING if (value := request.query_params.get(name, ""))}
        return _show_draft(studio, _begin_draft(studio, source, url, table, written))

    @routes.post("/plan/edit")
    async def changed(request: Request) -> Response:
        pairs = await _pairs(request)
        return await _in_thread(_change_draft, studio, pairs)

    @routes.post("/plan/expected")
    async def look(request: Request) -> Response:
        pairs = await _pairs(request)
        return await _in_thread(_looked_at, studio, pairs, request.headers.get("x-tab", ""))

    return routes


async def _pairs(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form, as browsers send them."""
    body = (await request.body()).decode("utf-8", "replace")
    return parse_qsl(body, keep_blank_values=True, max_num_fields=20_000)


async def _in_thread(function: Any, *arguments: Any) -> Response:
    from starlette.concurrency import run_in_threadpool

    response: Response = await run_in_threadpool(function, *arguments)
    return response


# --- beginning --------------------------------------------------------------------------------------------


def _existing(studio: Studio, name: str) -> Draft:
    """Return the choices of a plan in the folder."""
    content = parse_toml(read_text(studio.workspace.existing(name)))
    source = content.get("source", {})
    if not isinstance(source, Mapping) or not all(isinstance(value, str | int) for value in source.values()):
        raise PlanError("must be a table of texts and numbers", ("source",), name)
    dry_run.check_inside(content, studio.workspace)
    return values.from_content(content, _schema(studio, dict(source)), name)


def _begin_draft(studio: Studio, source: str, url: str, table: str, written: dict[str, str]) -> Draft:
    """Return first choices for a source, guessed from the names of its columns and never from its values.

    written: how its file is written.
    """
    begun = Draft((), (), source=source, url=url, table=table, **written)
    schema = _schema(studio, values.place(begun))
    group_column, person = guess_group_column(schema), guess_id_column(schema)
    columns = tuple(_guess(name, kind, group_column) for name, kind in schema.items())
    stem = Path(source).stem if source else table
    taken, name, more = set(studio.workspace.plans), f"{stem}.toml", 1
    while name in taken:
        more += 1
        name = f"{stem}-{more}.toml"
    everyone = StatisticChoice.from_values({"count": EVERYTHING, "name": "count"})
    return Draft(
        columns, (everyone,), source=source, url=url, table=table, **written,
        plan=name, output=f"{Path(name).stem}.released.csv", people=stem, sizes="max_size" if person else "size",
    )  # fmt: skip


def _read_again(studio: Studio, draft: Draft) -> Draft:
    """Return the choices for the columns that the source has as it is written now; columns of the same name stay."""
    schema = _schema(studio, values.place(draft))
    known, group_column = {column.name: column for column in draft.columns}, guess_group_column(schema)
    columns = [
        replace(known[name], kind=kind) if name in known else _guess(name, kind, "" if draft.by else group_column)
        for name, kind in schema.items()
    ]
    return replace(draft, columns=tuple(columns))


def _guess(name: str, kind: str, group_column: str) -> ColumnChoice:
    usual = {key: str(value) for key, value in guess_bounds(name).items()}
    return ColumnChoice(name, kind, "group" if name == group_column else "", **usual)


def _schema(studio: Studio, source: Mapping[str, Any]) -> dict[str, str]:
    known = {name: source[name] for name in sorted(source) if name in ("path", "url", "table", *WRITING)}
    job = studio.work.ask(dry_run.columns, str(studio.workspace.folder), tuple(known.items()), again=object())
    schema: dict[str, str] = _now(job)
    return schema


def _now(job: Job) -> Any:
    """Return the result of a short job, or raise its failure."""
    if not job.is_ready(LONGER):
        raise ValueError("the source must say what its columns are within a minute; is it reachable?")
    if job.failure is not None:
        raise ValueError(job.failure.sentence)
    return job.result


def _check_url(url: str) -> None:
    if url and urlsplit(url).password:
        raise ValueError("url must hold no password: a plan is public; put it into PGPASSWORD or ~/.pgpass")


# --- changing ---------------------------------------------------------------------------------------------


def _draft(studio: Studio, pairs: list[tuple[str, str]]) -> Draft:
    """Return the choices that were sent; columns are matched to the schema by their order."""
    form = dict(pairs)
    if form.get("source"):
        studio.workspace.existing(form["source"])
    _check_url(form.get("url", ""))
    names = [value for name, value in pairs if name == "schema"]
    kinds = [value for name, value in pairs if name == "schema_kind"]
    return from_form(pairs, dict(zip(names, kinds, strict=True)))


def _change_draft(studio: Studio, pairs: list[tuple[str, str]]) -> Response:
    """Do what a button asked for: add or remove a statistic, take an epsilon, look, or save."""
    draft = _draft(studio, pairs)
    action, _, rest = dict(pairs).get("action", "").partition(" ")
    if action == "add":
        return _show_draft(studio, draft.with_statistic())
    if action == "drop":
        return _show_draft(studio, draft.without_statistic(int(rest)))
    if action == "use":
        return _show_draft(studio, replace(draft, epsilon=rest))
    if action == "reread":
        return _show_draft(studio, _read_again(studio, draft))
    if action == "save":
        return _save_plan(studio, draft)
    return _show_draft(studio, draft, _look(studio, draft, dict(pairs), LONGER))


def _looked_at(studio: Studio, pairs: list[tuple[str, str]], tab: str) -> Response:
    try:
        draft = _draft(studio, pairs)
        looked = _look(studio, draft, dict(pairs), MOMENT, tab)
    except (ValueError, TypeError, OSError) as error:
        looked = _nothing(describe_failure(error))
    return fragment("plan_expected.html", **looked)


def _look(studio: Studio, draft: Draft, form: dict[str, str], patience: float, tab: str = "") -> dict[str, Any]:
    """Return the dry run of the choices, and the epsilon for the wanted accuracy."""
    try:
        text = values.text(draft)
    except (ValueError, TypeError) as error:
        return _nothing(describe_failure(error))
    folder, name = str(studio.workspace.folder), draft.plan or "plan.toml"
    job = studio.ask_for(tab, studio.work.ask(dry_run.dry_run, text, folder, name, again=_stamp(studio)))
    shown = {**_nothing(None), "text": text, "wish": form}
    if not job.is_ready(patience):
        return {**shown, "job": job}
    shown |= {"failure": job.failure, "expected": job.result}
    wish = tuple(form.get(field, "") for field in ("wish_statistic", "wish_size", "wish_error"))
    if all(wish) and job.failure is None:
        search = studio.work.ask(dry_run.calibrate_dry_run, text, folder, name, wish, again=_stamp(studio))
        shown["enough"] = search if search.is_ready(LONGER) else None
    return shown


def _stamp(studio: Studio) -> tuple[Any, ...]:
    """Return what else a dry run depends on: the files of the folder as they are now."""
    return tuple(sorted((f.name, f.stat().st_mtime_ns) for f in studio.workspace.folder.iterdir() if f.is_file()))


def _nothing(failure: CallFailure | None) -> dict[str, Any]:
    return {"job": None, "failure": failure, "expected": None, "text": "", "enough": None, "wish": {}}


def _save_plan(studio: Studio, draft: Draft) -> Response:
    """Save the plan to its file; it must be a valid plan."""
    looked = _look(studio, draft, {}, LONGER)
    if looked["expected"] is None:
        return _show_draft(studio, draft, looked)
    if not draft.plan.endswith(".toml"):
        raise ValueError(f"plan must end in .toml, got {draft.plan!r}")
    write_text(studio.workspace.path(draft.plan), looked["text"])
    return RedirectResponse(f"/release?plan={quote(draft.plan)}", 303)


def _show_draft(studio: Studio, draft: Draft, looked: dict[str, Any] | None = None) -> Response:
    place = studio.workspace
    return page(
        "plan_edit.html", "/plan", d=draft, uses=USES, keys_from=KEYS_FROM, kinds=describe_kinds(),
        fields=kind_fields(), common=common_fields(),
        periods=["", *PERIODS], files=[f for f in place.keys if f != draft.source], ledgers=place.ledgers,
        sources=[f for f in place.data if f != draft.source], encodings=ENCODINGS, thousands=THOUSANDS,
        exists=draft.plan in place.plans, looked=looked, **(looked or _nothing(None)),
    )  # fmt: skip
