"""verify: what a file proves by itself, as a value that commands, services and pages show."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inbounds.arguments import A_PATH, used_like
from inbounds.errors import LedgerError, PassportError
from inbounds.files import RELEASE, Json, content_of, format_of
from inbounds.mechanism import Mechanism
from inbounds.mechanism.labels import LabelMechanism
from inbounds.mechanism.labels.passport import label_summary
from inbounds.mechanism.labels.reading import load_labels
from inbounds.mechanism.passport import LABEL_PASSPORT, QUANTILE_PASSPORT, summary
from inbounds.mechanism.quantiles import QuantileMechanism
from inbounds.mechanism.quantiles.passport import quantile_summary
from inbounds.mechanism.quantiles.reading import load_quantile
from inbounds.mechanism.reading import load, promised
from inbounds.numbers import decimal
from inbounds.report.quantiles import quantile_promise, quantile_proved
from inbounds.report.words import label_promise, promise

NO_VERDICT = 3
"""What a checker exits with on a kind of passport that it does not know."""


@dataclass(frozen=True)
class Verdict:
    """What was found of a file: a mechanism that is proved, or sentences that are; or the reason of a refusal.

    seconded: the other checker that was asked, where it finds the same.
    """

    path: Path
    mechanism: Mechanism | QuantileMechanism | LabelMechanism | None = None
    proved: tuple[str, ...] = ()
    reason: str = ""
    seconded: str = ""

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
        if isinstance(self.mechanism, LabelMechanism):
            return {"valid": True, **label_summary(self.mechanism), "promise": label_promise(self.mechanism)}
        if isinstance(self.mechanism, QuantileMechanism):
            return {"valid": True, **quantile_summary(self.mechanism), "promise": quantile_promise(self.mechanism)}
        return {
            "valid": True,
            **summary(self.mechanism),
            "promise": promise(self.mechanism),
            "tight_epsilon": f"{self.mechanism.effective_epsilon():.12g}",
            "claimed_not_checked": self.mechanism.claimed,
            **({"seconded": self.seconded} if self.seconded else {}),
        }


@used_like("ib.verify('m.json')", path=A_PATH)
def verify(path: str | os.PathLike[str], *, second: str | None = None) -> Verdict:
    """Check a passport of any kind, a release record, a record of several answers or a ledger from scratch.

    A file that was changed, or is not private, is a verdict with a reason; one that cannot be read is an OSError.
    second: a program that judges the passport as well, such as `inbounds-check`, which is extracted from the
    machine-checked proof; where the two do not agree, the file is refused.

    >>> import inbounds as ib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ib.catalog.uniform(ib.count(3), 1).save(f"{folder}/m.json")
    ...     ib.verify(f"{folder}/m.json").valid
    True
    """
    file = Path(path)
    found = _verdict(file)
    return found if second is None else _seconded(found, second)


def _verdict(file: Path) -> Verdict:
    try:
        sentences = _proved_together(file)
        if sentences is not None:
            return Verdict(file, proved=tuple(sentences))
        kind = format_of(file)
        if kind == LABEL_PASSPORT.format:
            return _labels(file)
        return _quantile(file) if kind == QUANTILE_PASSPORT.format else Verdict(file, passport_of(file))
    except (LedgerError, PassportError) as refusal:
        return Verdict(file, reason=str(refusal))


def _quantile(file: Path) -> Verdict:
    mechanism = load_quantile(file)
    return Verdict(file, mechanism, tuple(quantile_proved(mechanism)))


def _labels(file: Path) -> Verdict:
    mechanism = load_labels(file)
    return Verdict(file, mechanism, (label_promise(mechanism), *mechanism.law.proof_steps()))


def _seconded(found: Verdict, program: str) -> Verdict:
    """The verdict where the other checker says the same of query, epsilon and law; otherwise a refusal."""
    if found.proved and found.mechanism is None:
        raise ValueError(f"{program} judges passports only, and {found.path} is none; verify it without")
    said, private = _said_by(program, found.path), _private(found)
    if said.startswith("private") == private:
        return replace(found, seconded=program)
    ours = "private" if private else "not private"
    return Verdict(
        found.path, reason=f"the checkers do not agree: the passport is {ours} here, {program} says {said!r}"
    )


def _private(found: Verdict) -> bool:
    """Whether query, epsilon and law are private together, whatever is claimed of them."""
    try:
        return bool(promised(content_of(found.path, "mechanism passport")))
    except PassportError:
        return found.valid


def _said_by(program: str, file: Path) -> str:
    """The line that a checker prints of a file."""
    found = shutil.which(program)
    if found is None:
        raise ValueError(f"{program} must be a program; `make proof` builds coq/build/inbounds-check")
    done = subprocess.run([found, os.fspath(file)], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode == NO_VERDICT:
        raise ValueError(f"{program} has no verdict on this kind of passport; verify it without")
    if done.returncode not in (0, 1):
        raise ValueError(f"{program} must say private or refused, it failed: {done.stderr.strip()[:200]!r}")
    return done.stdout.strip()


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


LEDGERS = {
    "inbounds ledger": "an exported ledger; inbounds verify {file} checks it",
    "inbounds ledger head": "the head of a ledger; inbounds ledger verify LEDGER --head {file} compares the two",
}
"""What is no passport but is handed over with some, and where it belongs."""


def passport_of(file: Path) -> Mechanism:
    """The mechanism of a passport; for a released table the way to its record, for a ledger the way to check it."""
    way = LEDGERS.get(format_of(file) or "")
    if way:
        raise PassportError(f"{file} is {way.format(file=file)}")
    try:
        return load(file)
    except (PassportError, UnicodeDecodeError) as reason:
        record = file.with_name(f"{file.name}.release.json")
        if not record.exists():
            raise
        raise PassportError(f"{file} is a released table; give its record, {record}") from reason
