"""The routes of Check: the server's verdict on a file, beside the verdict of the visitor's browser."""

import os
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from inbounds.files import MECHANISM, Json, LoadedFile
from inbounds.report import check_page
from inbounds.studio.pages import page
from inbounds.studio.studio import Studio
from inbounds.verdict import find_table, table_named, verify

MOST_FILES = 256
"""Files checked at once: a document and its companions."""

PLAIN_NAME = re.compile(r"(?!\.)[^/\\\0]{1,200}")
"""A file name without a path."""


def router(studio: Studio) -> APIRouter:
    """Return the routes of a studio."""
    routes, place = APIRouter(), studio.workspace

    @routes.get("/check")
    def choose() -> Response:
        return page("check.html", "/check", documents=place.documents)

    @routes.get("/check/file")
    def file(file: str = "") -> Response:
        if not file:
            return _check_page(None, None, "")
        path = place.existing(file)
        loaded = LoadedFile.load(path)
        verdict = verify(loaded)
        if file in place.ledgers:  # a database, which only the server reads
            return page(
                "check_ledger.html", "/check", file=file, valid=verdict.is_valid, said=verdict.reason or verdict.proved
            )
        others = [check_page.embedded(LoadedFile.load(table)) for table in find_table(loaded)]
        return _check_page(check_page.embedded(loaded), verdict.to_json(), file, others)

    @routes.post("/check/verdict")
    async def verdict(request: Request) -> Response:
        document, *others = parts_of_body(await request.body(), request.headers.get("x-sizes", ""))
        return JSONResponse(await run_in_threadpool(_judge_document, document, others))

    return routes


def _check_page(document: bytes | None, verdict: Json | None, name: str, others: Sequence[bytes] = ()) -> Response:
    """Return the page with the browser's checker, under its content security policy."""
    text = check_page.page(document, verdict, name=name, server="/check/verdict", home="/check", others=others)
    policy = f"{check_page.policy(asks=True)}; frame-ancestors 'none'"
    return Response(text, media_type="text/html; charset=utf-8", headers={"content-security-policy": policy})


def parts_of_body(body: bytes, sizes: str) -> list[bytes]:
    """Return the files in a body: one after another, with lengths from the header; without the header the body is one
    file.
    """
    lengths = [int(size) for size in sizes.split() if size.isdecimal()] or [len(body)]
    if sum(lengths) != len(body) or len(lengths) > MOST_FILES:
        raise ValueError(f"x-sizes must be at most {MOST_FILES} lengths that add up to the body's, got {sizes!r}")
    ends = list(accumulate(lengths))
    return [body[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def _judge_document(document: bytes, others: list[bytes]) -> Json:
    """Return the verdict on a document that was dropped into the page; it is deleted afterwards."""
    with TemporaryDirectory() as folder:
        file = LoadedFile(Path(folder) / "document.json", document)
        file.path.write_bytes(document)
        name, passports, tables = _table_named(file), [], []
        for k, content in enumerate(others if name else []):
            other = LoadedFile(Path(folder) / f"passport-{k + 1}.json", content)
            if other.format == MECHANISM:
                passports.append(other)
            else:
                tables.append(content)
        verdict = _verdict(file, passports)
        if (
            not tables
            and verdict["valid"] is False
            and verdict["reason"] == f"the table {name} is not beside its record"
        ):
            return {"valid": None, "reason": f"a record is checked with its table: drop {name} together with it"}
        for table in tables:  # the table must have the name that the record states
            (Path(folder) / name).write_bytes(table)
            verdict = _verdict(file, passports)
            if verdict["valid"]:
                break
        return verdict


def _verdict(file: LoadedFile, passports: list[LoadedFile]) -> Json:
    """Return the verdict of a file, which is not named by its place on this machine."""
    verdict = verify(file, passports=passports).to_json()
    here = f"{file.path.parent}{os.sep}"
    field = "reason" if not verdict["valid"] else "checked" if "checked" in verdict else ""
    changed = {} if not field else {field: str(verdict[field]).replace(str(file.path), "the file").replace(here, "")}
    return {**verdict, **changed}


def _table_named(file: LoadedFile) -> str:
    """Return the table beside a release record, where that is a plain name; whether the record holds is not asked."""
    name = table_named(file)
    return name if PLAIN_NAME.fullmatch(name) is not None and name != file.path.name else ""
