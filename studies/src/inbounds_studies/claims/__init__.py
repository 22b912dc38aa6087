"""What the papers claim, one row each, with a verdict and the test that carries it."""

from functools import cache
from importlib import import_module

from inbounds_studies.claims.claim import Beside, Claim, agreeing_digits, verdict_of

_MODULES = ("paper_000", "paper_001", "paper_002", "paper_003", "paper_004")


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the papers."""
    modules = (import_module(f"inbounds_studies.claims.{name}") for name in _MODULES)
    return tuple(claim for module in modules for claim in module.CLAIMS)


def claims_of(study: str) -> list[Claim]:
    """The claims that a study is about."""
    return [claim for claim in claims() if claim.study == study]


__all__ = ["Beside", "Claim", "agreeing_digits", "claims", "claims_of", "verdict_of"]
