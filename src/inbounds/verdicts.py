"""verify: what a file proves by itself, as a value that commands, services and pages show."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inbounds.errors import LedgerError, PassportError
from inbounds.files import Json, format_of
from inbounds.mechanism import Mechanism
from inbounds.mechanism.passport import summary
from inbounds.mechanism.reading import load
from inbounds.numbers import decimal
from inbounds.report.words import promise

RELEASE = "inbounds release"
"""The format of a release record."""


@dataclass(frozen=True)
class Verdict:
    """What was found of a file: a mechanism that is proved, or sentences that are; or the reason of a refusal."""

    path: Path
    mechanism: Mechanism | None = None
    proved: tuple[str, ...] = ()
    reason: str = ""

    @property
    def valid(self) -> bool:
        """Whether everything in the file that can be checked was found to be true."""
        return not self.reason

    def __str__(self) -> str:
        if not self.valid:
            return f"refused {self.path}: {self.reason}"
        if self.mechanism is None:
            return f"checked {self.path}: {'; '.join(self.proved)}"
        return f"proved {self.path}: {self.mechanism.origin.name}, epsilon {decimal(self.mechanism.epsilon)}"

    def to_json(self) -> Json:
        """Plain JSON values; of a mechanism its passport without the weights."""
        if not self.valid:
            return {"valid": False, "reason": self.reason}
        if self.mechanism is None:
            return {"valid": True, "checked": "; ".join(self.proved)}
        return {
            "valid": True,
            **summary(self.mechanism),
            "promise": promise(self.mechanism),
            "tight_epsilon": f"{self.mechanism.effective_epsilon():.12g}",
            "claimed_not_checked": self.mechanism.claimed,
        }


def verify(path: str | os.PathLike[str]) -> Verdict:
    """Check a mechanism passport, a release record, a record of several answers or a ledger from scratch.

    A file that was changed, or is not private, is a verdict with a reason; one that cannot be read is an OSError.

    >>> import inbounds as ib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ib.catalog.uniform(ib.count(3), 1).save(f"{folder}/m.json")
    ...     ib.verify(f"{folder}/m.json").valid
    True
    """
    file = Path(path)
    try:
        sentences = _proved_together(file)
        return Verdict(file, _mechanism(file)) if sentences is None else Verdict(file, proved=tuple(sentences))
    except (LedgerError, PassportError) as refusal:
        return Verdict(file, reason=str(refusal))


def _proved_together(file: Path) -> Sequence[str] | None:
    """What is proved of a file about several answers; None when it is not one."""
    from inbounds.ledger.ledger import FORMAT as LEDGER
    from inbounds.ledger.ledger import verify_ledger
    from inbounds.ledger.sqlite import is_ledger

    kind = format_of(file)
    if is_ledger(file) or kind == LEDGER:
        return verify_ledger(str(file)).sentences()
    if kind == RELEASE:
        from inbounds.tables.reopen import check

        return check(file)
    from inbounds.accounting import chain, record
    from inbounds.accounting.multilevel import MULTILEVEL

    for known, load_it in ((record.COMPOSITION, record.load), (MULTILEVEL, chain.load)):
        if kind == known.format:
            return [str(load_it(file))]
    return None


def _mechanism(file: Path) -> Mechanism:
    """The mechanism of a passport; for a released table the way to its record."""
    try:
        return load(file)
    except (PassportError, UnicodeDecodeError) as reason:
        record = file.with_name(f"{file.name}.release.json")
        if not record.exists():
            raise
        raise PassportError(f"{file} is a released table; check its record: inbounds verify {record}") from reason
