"""The routes of Release: a dry run, one confirmed release, and the table that it made.

A release here is the same call as on the command line. What is shown afterwards is the table that the ledger stores.
True values never reach this process.
"""

import io
import warnings
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from inbounds.files import RELEASE, Document, format_json, sha256_hex
from inbounds.files.bounded import read_text
from inbounds.plan.plan import Plan
from inbounds.progress import Progress, ignore_progress
from inbounds.releases.charge_session import ChargeSession, StoredTable
from inbounds.releases.export import encode_export
from inbounds.releases.passports import write_passports
from inbounds.releases.pipeline import find_mechanism, release
from inbounds.releases.public_page import public_page
from inbounds.releases.report import page as report_page
from inbounds.releases.write import encode_table_file, record_path
from inbounds.report.public_page import public_policy
from inbounds.schema.record_types import ReleaseRecord, TableReference
from inbounds.studio import release_state
from inbounds.studio.auth import PAPER
from inbounds.studio.jobs import Job
from inbounds.studio.pages import fragment, page
from inbounds.studio.plan.dry_run import dry_run, load_draft, output_target
from inbounds.studio.studio import Studio

HTML = "text/html; charset=utf-8"

MOMENT, LONGER = 0.8, 60.0
"""Seconds that a page waits for a dry run: with the script, and without it."""

CHANGED = "the plan has changed since this page was opened; look at it again before you release"
ASKED = "confirm that the epsilon may be spent: tick the box above the button"


def router(studio: Studio) -> APIRouter:
    """Return the routes of a studio."""
    routes = APIRouter()

    @routes.get("/release")
    def show(request: Request, plan: str = "") -> Response:
        if not plan:
            return page("release_choose.html", "/release", plans=_plans(studio), data=studio.workspace.data)
        shown = _state(studio, plan, MOMENT if "x-part" in request.headers else LONGER)
        if "x-part" in request.headers:
            return fragment("release_state.html", **shown)
        return page("release.html", "/release", **shown)

    @routes.post("/release")
    async def run(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        return await run_in_threadpool(_start_release, studio, {name: values[0] for name, values in form.items()})

    @routes.get("/release/export/{form}")
    def export(form: str, plan: str, structure: str = "") -> Response:
        stored, target = _find_release(studio, plan)
        return _export(_read(studio, plan)[0], stored, target, form, structure)

    @routes.get("/release/public")
    def public(plan: str) -> Response:
        stored, target = _find_release(studio, plan)
        about = _read(studio, plan)[0].about or None
        text = public_page(_complete(stored, target), stored.table, about)
        return Response(text, media_type=HTML, headers={"content-security-policy": public_policy()})

    @routes.get("/release/{what}")
    def download(what: str, plan: str) -> Response:
        stored, target = _find_release(studio, plan)
        return _FILES[what](plan, stored, target) if what in _FILES else Response(status_code=404)

    return routes


def _plans(studio: Studio) -> list[tuple[str, bool]]:
    """Return the plans of the folder, and whether each has a table."""
    return [(name, _target_exists(studio, name)) for name in studio.workspace.plans]


def _target_exists(studio: Studio, name: str) -> bool:
    try:
        _, target = _read(studio, name)
    except (ValueError, OSError):  # a draft, which is completed on the page Plan
        return False
    return record_path(target).exists()


def _read(studio: Studio, name: str) -> tuple[Plan, Path]:
    """Return a plan of the folder, and where its table is written."""
    plan = load_draft(read_text(studio.workspace.existing(name)), studio.workspace.folder, name)
    return plan, output_target(plan, studio.workspace.folder, name)


def _state(studio: Studio, name: str, patience: float) -> dict[str, Any]:
    """Return the state of a plan: being released, released, or a dry run."""
    plan, target = _read(studio, name)
    shown: dict[str, Any] = {"plan": name, "job": None, "failure": None, "expected": None, "kept": None}
    running = studio.releases.get(name)
    if running is not None and not running.is_ready(patience):
        return {**shown, "job": running, "doing": "Releasing"}
    if running is not None and running.failure is not None:
        shown["failure"] = studio.releases.pop(name).failure
    stored = _find_stored(plan, target)
    if stored is not None:
        return {**shown, "kept": release_state.view(plan, stored.table, stored.record, target.name)}
    looked = _look(studio, name)
    if not looked.is_ready(patience):
        return {**shown, "job": looked, "doing": "Designing"}
    shown["failure"] = shown["failure"] or looked.failure
    return {**shown, "expected": looked.result}


def _look(studio: Studio, name: str) -> Job:
    """Return the dry run of a plan's file as it is now."""
    file = studio.workspace.existing(name)
    return studio.work.ask(dry_run, read_text(file), str(studio.workspace.folder), name, again=object())


def _start_release(studio: Studio, form: dict[str, str]) -> Response:
    """Start the release that was confirmed; the page then shows its progress."""
    name = form.get("plan", "")
    plan, target = _read(studio, name)
    if form.get("confirm") != "yes":
        raise ValueError(ASKED)
    if form.get("digest") != plan.digest:
        raise ValueError(CHANGED)
    running = studio.releases.get(name)
    if running is None or running.finished.is_set():
        confirmed = (form.get("allow_useless") == "yes", form.get("new_data") == "yes")
        arguments = (str(studio.workspace.path(name)), str(target), plan.digest, *confirmed)
        studio.releases[name] = studio.work.start_lasting(draw, *arguments)
    return RedirectResponse(f"/release?plan={quote(name)}", 303)


def draw(
    path: str,
    target: str,
    digest: str,
    allow_useless: bool,
    new_data: bool,
    progress: Progress = ignore_progress,
) -> None:
    """Release the plan in a worker process; an older table of the same name is not replaced."""
    file = Path(path)
    plan = load_draft(read_text(file), file.parent, file.name)
    if plan.digest != digest:
        raise ValueError(CHANGED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page shows that the table was stored before
        release(plan, output=target, allow_useless=allow_useless, new_data=new_data, progress=progress)


# --- what can be taken away -------------------------------------------------------------------------------


def _find_stored(plan: Plan, target: Path) -> StoredTable | None:
    """Return the table of a plan if it was released before."""
    with ChargeSession.open(plan, target, None, None) as session:
        return session.find_stored()


def _find_release(studio: Studio, name: str) -> tuple[StoredTable, Path]:
    plan, target = _read(studio, name)
    stored = _find_stored(plan, target)
    if stored is None:
        raise LookupError("this plan has not been released")
    return stored, target


def _file(content: bytes, name: str, kind: str = "application/octet-stream") -> Response:
    return Response(
        content, media_type=kind, headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    )


def _table(plan: str, stored: StoredTable, target: Path) -> Response:
    """Return the released table, encoded like its file."""
    return _file(encode_table_file(stored.table, target.suffix), target.name)


def _record(plan: str, stored: StoredTable, target: Path) -> Response:
    """Return the record beside the table; before the table is written, as the ledger stores it."""
    beside = record_path(target)
    text = read_text(beside) if beside.exists() else format_json(Document.wrap(RELEASE, {**stored.record}).to_json())
    return _file(text.encode(), beside.name, "application/json")


def _report(plan: str, stored: StoredTable, target: Path) -> Response:
    """Return the report as a page, with its style and without scripts."""
    text = report_page(stored.record, stored.table)
    return Response(text, media_type=HTML, headers={"content-security-policy": PAPER})


def _report_file(plan: str, stored: StoredTable, target: Path) -> Response:
    return _file(report_page(stored.record, stored.table).encode(), f"{target.stem}.report.html", "text/html")


def _passports(plan: str, stored: StoredTable, target: Path) -> Response:
    """Return the passports that readers need as one archive: the mechanisms that the record names by digest."""
    mechanisms = {
        (f"{line['statistic']}{': ' + line['layer'] if 'layer' in line else ''}", _size(line["size"])): find_mechanism(
            stored.record, line["statistic"], _size(line["size"]), layer=line.get("layer")
        )
        for line in stored.record["mechanisms"]
    }
    packed = io.BytesIO()
    with TemporaryDirectory() as folder, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in write_passports(mechanisms, folder):
            archive.write(file, file.name)
    return _file(packed.getvalue(), f"{target.stem}.passports.zip", "application/zip")


EXPORTS = {".xlsx": False, ".csv": True, ".sdmx.csv": False, ".html": False}
"""Forms of a table, and whether it begins with a byte order mark: CSV is exported for spreadsheets."""


def _export(plan: Plan, stored: StoredTable, target: Path, form: str, structure: str) -> Response:
    """Return the table in another form; the page for the public has the words of the plan as it is now."""
    name = f"{target.stem}.for-spreadsheets.csv" if form == ".csv" else f"{target.stem}{form}"
    if form not in EXPORTS:
        return Response(status_code=404)
    about = plan.about or None if form == ".html" else None
    record = _complete(stored, target)
    options: dict[str, Any] = {"bom": EXPORTS[form], "structure": structure, "about": about}
    return _file(encode_export(record, stored.table, Path(name), **options), name)


def _complete(stored: StoredTable, target: Path) -> ReleaseRecord:
    """Return the record with the digest of the table's file."""
    content = encode_table_file(stored.table, target.suffix)
    table: TableReference = {"file": target.name, "rows": stored.table.num_rows, "sha256": sha256_hex(content)}
    return {**stored.record, "table": table}


def _size(size: int | str) -> int:
    """Return the first size of a line that several sizes share: first..last."""
    return int(str(size).partition("..")[0])


_FILES = {
    "table": _table, "record": _record, "report": _report, "report.html": _report_file, "passports.zip": _passports,
}  # fmt: skip
