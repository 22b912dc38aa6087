"""What the papers state, one row of statements.toml each, with a verdict and the tests that carry it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files

from inbounds_studies.claims.claim import Beside, Claim, Numbers, agreeing_digits, verdict_of

_MODULES = ("paper_000", "paper_001", "paper_002", "paper_003", "paper_004")


@cache
def claims() -> tuple[Claim, ...]:
    """Every statement, in the order of the papers: definitions, theorems, equations, tables, figures, text."""
    rows = tomllib.loads(files("inbounds_studies").joinpath("statements.toml").read_text(encoding="utf-8"))["statement"]
    known = numbers()
    return tuple(
        Claim(**{**row, "tests": tuple(row["tests"])}, numbers=known.get(row["id"], Numbers())) for row in rows
    )


@cache
def numbers() -> Mapping[str, Numbers]:
    """What is read off the tables of studies, by the id of the statement."""
    modules = (import_module(f"inbounds_studies.claims.{name}") for name in _MODULES)
    return {id_: found for module in modules for id_, found in module.NUMBERS.items()}


def claims_of(study: str) -> list[Claim]:
    """The claims that a study is about."""
    return [claim for claim in claims() if claim.study == study]


__all__ = ["Beside", "Claim", "Numbers", "agreeing_digits", "claims", "claims_of", "numbers", "verdict_of"]
