"""`verify`: check a file from scratch and return a `Verdict`.

Commands, the service and the studio's pages all show this value. The checks themselves are in `checker`, `mechanism`
and `ledger`.
"""

import math
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inbounds.checker import check_record, compute_proved_bound, connect
from inbounds.errors import LedgerError, PassportError
from inbounds.exact import format_decimal
from inbounds.files import RELEASE, Json, detect_format, read_json_file
from inbounds.mechanism import Mechanism
from inbounds.mechanism.labels import LabelMechanism
from inbounds.mechanism.labels.load import load_label_mechanism
from inbounds.mechanism.labels.passport import label_passport_summary
from inbounds.mechanism.load import certify_law_only, load, mechanism_from_json
from inbounds.mechanism.passport import LABEL_PASSPORT, PASSPORT, QUANTILE_PASSPORT, passport_summary
from inbounds.mechanism.quantiles import QuantileMechanism
from inbounds.mechanism.quantiles.load import load_quantile, quantile_mechanism_from_json
from inbounds.mechanism.quantiles.passport import quantile_passport_summary
from inbounds.report.quantile_text import describe_quantile_proof, describe_quantile_query, format_quantile_guarantee
from inbounds.report.wording import describe_query, format_guarantee, format_label_guarantee

NO_VERDICT = 3
"""The exit code of a checker for a kind of passport that it does not know."""


NOT_CHECKED = (
    "that the stored draws came from the data, were drawn once, and by nothing but these mechanisms",
    "that plan, sizes and bounds were fixed before anybody looked at the data",
    "the name of the source, the edition, the versions, and columns of the plan that no number is about",
    "the entry of the ledger that the record names (verify the ledger), its time, and its advice on useless statistics",
)
"""What no record proves."""

PASSPORTS = (PASSPORT.format, QUANTILE_PASSPORT.format)
"""The formats of files that certify the mechanisms of a release."""


@dataclass(frozen=True)
class Verdict:
    """What was proved about a file: a certified mechanism, or sentences; or the reason for a refusal.

    unchecked: claims of the file that were not recomputed here. seconded: the second checker, if it was asked and
    agrees. note: how a passport is connected to the records that were given with it. bound: the least loss that any
    private mechanism can have, if that was solved for and proved.
    """

    path: Path
    mechanism: Mechanism | QuantileMechanism | LabelMechanism | None = None
    proved: tuple[str, ...] = ()
    reason: str = ""
    seconded: str = ""
    unchecked: tuple[str, ...] = ()
    note: str = ""
    bound: float | None = None

    @property
    def proves_bound(self) -> bool:
        """Whether the bound in the passport was proved here, up to a millionth of it."""
        best = self.mechanism.optimality if isinstance(self.mechanism, Mechanism) else None
        return best is not None and self.bound is not None and self.bound >= best.bound - 1e-6 * abs(best.bound) - 1e-12

    @property
    def unchecked_claims(self) -> tuple[str, ...]:
        """The claims in a mechanism's passport that were not recomputed here."""
        claims = self.mechanism.unchecked_claims if isinstance(self.mechanism, Mechanism) else ()
        return claims[:-1] if self.proves_bound else claims

    @property
    def is_valid(self) -> bool:
        """Whether everything in the file that can be checked is true."""
        return not self.reason

    def __str__(self) -> str:
        if not self.is_valid:
            return f"refused {self.path}: {self.reason}"
        if self.mechanism is None:
            return f"checked {self.path}: {'; '.join(self.proved)}"
        note = f"; {self.note}" if self.note else ""
        return f"proved {self.path}: {_subject(self.mechanism)}, epsilon {format_decimal(self.mechanism.epsilon)}{note}"

    def to_json(self) -> Json:
        """Return plain JSON values; for a mechanism its passport without the weights."""
        if not self.is_valid:
            return {"valid": False, "reason": self.reason}
        note = {"note": self.note} if self.note else {}
        if self.mechanism is None:
            claimed = {"claimed_not_checked": list(self.unchecked)} if self.unchecked else {}
            return {"valid": True, "checked": "; ".join(self.proved), **claimed}
        if isinstance(self.mechanism, LabelMechanism):
            return {
                "valid": True,
                **label_passport_summary(self.mechanism),
                "promise": format_label_guarantee(self.mechanism),
                **note,
            }
        if isinstance(self.mechanism, QuantileMechanism):
            summary = {
                **quantile_passport_summary(self.mechanism),
                "promise": format_quantile_guarantee(self.mechanism),
            }
            return {"valid": True, **summary, **note}
        return {
            "valid": True,
            **passport_summary(self.mechanism),
            "promise": format_guarantee(self.mechanism),
            "tight_epsilon": f"{self.mechanism.tight_epsilon():.12g}",
            "claimed_not_checked": self.unchecked_claims,
            **({"proved_bound": repr(self.bound)} if self.bound is not None else {}),
            **({"seconded": self.seconded} if self.seconded else {}),
            **note,
        }


def _subject(mechanism: Mechanism | QuantileMechanism | LabelMechanism) -> str:
    """Return what a mechanism reports about. Its name is left out, because nothing proves a name."""
    if isinstance(mechanism, QuantileMechanism):
        return describe_quantile_query(mechanism.query)
    return describe_query(mechanism.query)


def verify(
    path: str | os.PathLike[str],
    *,
    passports: Iterable[str | os.PathLike[str]] = (),
    second: str | None = None,
    optimality: bool = False,
) -> Verdict:
    """Check a passport of any kind, a release record, a record of several answers or a ledger from scratch.

    Of a release record every published cell is recomputed from the draws in it; its table must be beside it.
    passports: of its mechanisms, each of which is certified and connected to the numbers it drew by its digest; those
    that are not given are designed again. A file that was changed, or is not private, is a verdict with a reason; one
    that cannot be read is an OSError. second: a program that judges the passport as well, such as `inbounds-check`,
    which is extracted from the machine-checked proof; where the two do not agree, the file is refused. optimality: also
    solve for what no private mechanism loses less than; without it the bound in a passport is claimed, not checked.

    >>> import inbounds as ib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ib.catalog.uniform(ib.count(3), 1).save(f"{folder}/m.json")
    ...     ib.verify(f"{folder}/m.json").is_valid
    True
    """
    file, passport_files = Path(path), [Path(passport) for passport in passports]
    if passport_files and detect_format(file) != RELEASE:
        raise ValueError(f"passports must come along with a release record, got {file}; verify them by themselves")
    verdict = _verdict(file, passport_files)
    if optimality and verdict.is_valid and isinstance(verdict.mechanism, Mechanism):
        solved = compute_proved_bound(read_json_file(file, "mechanism passport"))
        verdict = replace(verdict, bound=None if solved is None else math.nextafter(float(solved), -math.inf))
    return verdict if second is None else _check_second_opinion(verdict, second)


def verify_all(paths: Sequence[str | os.PathLike[str]], *, second: str | None = None) -> list[Verdict]:
    """Check several files; passports among them are connected to the release records among them.

    A record gets the passports whose digests it names, and those that no record names.
    """
    files = [Path(path) for path in paths]
    kinds = [_kind(file) for file in files]
    records = [file for file, kind in zip(files, kinds, strict=True) if kind == RELEASE]
    named = {record: _digests_named(record) for record in records}
    passports = {file: _digest(file) for file, kind in zip(files, kinds, strict=True) if kind in PASSPORTS}
    verdicts = []
    for file in files:
        if file in named:
            others = {digest for record in records if record != file for digest in named[record]} - named[file]
            verdicts.append(_readable(file, [one for one, digest in passports.items() if digest not in others], None))
            continue
        verdict = _readable(file, [], second)
        if records and file in passports and verdict.is_valid:
            owners = [record.name for record in records if passports[file] in named[record]]
            drawn_by = (
                f"it drew numbers of {', '.join(owners)}" if owners else "it belongs to no number of the records given"
            )
            verdict = replace(verdict, note=drawn_by)
        verdicts.append(verdict)
    return verdicts


def _readable(file: Path, passports: Sequence[Path], second: str | None) -> Verdict:
    """Return a verdict also for a file that cannot be read."""
    try:
        return verify(file, passports=passports, second=second)
    except OSError as reason:
        return Verdict(file, reason=reason.strerror or str(reason))


def _kind(file: Path) -> str | None:
    try:
        return detect_format(file)
    except OSError:
        return None


def _digest(file: Path) -> str:
    content = read_json_file(file, "passport")
    return str(content.get("sha256", ""))


def _digests_named(record: Path) -> set[str]:
    """Return the digests of passports that a record names, whether or not the record is valid."""
    try:
        return {str(line["sha256"]) for line in read_json_file(record, "release record")["mechanisms"]}
    except (PassportError, LookupError, TypeError):
        return set()


def find_table(record: Path) -> list[Path]:
    """Return the table beside a release record, as a tuple; empty for any other file."""
    if detect_format(record) != RELEASE:
        return []
    try:
        name = read_json_file(record, "release record")["table"]["file"]
    except (PassportError, LookupError, TypeError):
        return []
    plain = isinstance(name, str) and Path(name).name == name
    return [record.with_name(name)] if plain and record.with_name(name).is_file() else []


def _verdict(file: Path, passports: Sequence[Path]) -> Verdict:
    try:
        kind = detect_format(file)
        if kind == RELEASE:
            return _release(file, passports)
        sentences = _proved_together(file)
        if sentences is not None:
            return Verdict(file, proved=tuple(sentences))
        if kind == LABEL_PASSPORT.format:
            return _labels(file)
        return _quantile(file) if kind == QUANTILE_PASSPORT.format else Verdict(file, load_passport_of(file))
    except (LedgerError, PassportError) as refusal:
        return Verdict(file, reason=str(refusal))


def _release(file: Path, passports: Sequence[Path]) -> Verdict:
    """Check a release record with its table and the passports of its mechanisms."""
    from inbounds.releases.recompute import check_release

    if not passports:
        return Verdict(file, proved=tuple(check_release(file)), unchecked=NOT_CHECKED)
    lines = check_record(read_json_file(file, "release record")).lines
    certified = {passport: _certify_passport(passport) for passport in passports}
    contents = {str(passport): content for passport, (_, content) in certified.items()}
    connection = connect(lines, contents)
    if connection.missing and connection.strays:
        raise PassportError(
            f"the passports given are not those of the record: none has the digest stated for {connection.missing[0]}, "
            f"and {connection.strays[0]} drew no number of it"
        )
    mechanisms = {content["sha256"]: mechanism for mechanism, content in certified.values()}
    sentences = [f"{name} drew {', '.join(owners)}" for name, owners in connection.connected.items()]
    sentences += [f"no passport was given for {', '.join(connection.missing)}"] if connection.missing else []
    sentences += [f"{', '.join(connection.strays)} drew no number of this record"] if connection.strays else []
    return Verdict(file, proved=(*check_release(file, mechanisms), *sentences), unchecked=NOT_CHECKED)


def _certify_passport(passport: Path) -> tuple[Mechanism | QuantileMechanism, Json]:
    """Return the mechanism of a passport that was given with a record, and its JSON values."""
    try:
        content = read_json_file(passport, "mechanism passport")
        quantile = isinstance(content, dict) and content.get("format") == QUANTILE_PASSPORT.format
        return (quantile_mechanism_from_json(content) if quantile else mechanism_from_json(content)), content
    except PassportError as refusal:
        raise PassportError(f"the passport {passport} is refused: {refusal}") from None


def _quantile(file: Path) -> Verdict:
    mechanism = load_quantile(file)
    return Verdict(file, mechanism, tuple(describe_quantile_proof(mechanism)))


def _labels(file: Path) -> Verdict:
    mechanism = load_label_mechanism(file)
    return Verdict(file, mechanism, (format_label_guarantee(mechanism), *mechanism.law.proof_steps()))


def _check_second_opinion(verdict: Verdict, program: str) -> Verdict:
    """Return the verdict if the second checker finds the same query, epsilon and law; otherwise a refusal."""
    if verdict.proved and verdict.mechanism is None:
        raise ValueError(f"{program} judges passports only, and {verdict.path} is none; verify it without")
    opinion, private = _run_checker(program, verdict.path), _is_private(verdict)
    if opinion.startswith("private") == private:
        return replace(verdict, seconded=program)
    ours = "private" if private else "not private"
    return Verdict(
        verdict.path, reason=f"the checkers do not agree: the passport is {ours} here, {program} says {opinion!r}"
    )


def _is_private(verdict: Verdict) -> bool:
    """Return whether query, epsilon and law are private together, whatever the passport claims."""
    try:
        return bool(certify_law_only(read_json_file(verdict.path, "mechanism passport")))
    except PassportError:
        return verdict.is_valid


def _run_checker(program: str, file: Path) -> str:
    """Return the line that a checker prints about a file."""
    executable = shutil.which(program)
    if executable is None:
        raise ValueError(f"{program} must be a program; `make proof` builds coq/build/inbounds-check")
    done = subprocess.run([executable, os.fspath(file)], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode == NO_VERDICT:
        raise ValueError(f"{program} has no verdict on this kind of passport; verify it without")
    if done.returncode not in (0, 1):
        raise ValueError(f"{program} must say private or refused, it failed: {done.stderr.strip()[:200]!r}")
    return done.stdout.strip()


def _proved_together(file: Path) -> Sequence[str] | None:
    """Return what is proved about a file of several answers; None if it is not such a file."""
    from inbounds.ledger.ledger import FORMAT as LEDGER
    from inbounds.ledger.ledger import verify_ledger
    from inbounds.ledger.sqlite import is_ledger

    kind = detect_format(file)
    if is_ledger(file) or kind == LEDGER:
        return verify_ledger(str(file)).sentences()
    from inbounds.accounting import chain, composition_record
    from inbounds.accounting.multilevel import MULTILEVEL

    for known, load_it in (
        (composition_record.COMPOSITION, composition_record.load_composition),
        (MULTILEVEL, chain.load_chain),
    ):
        if kind == known.format:
            return [str(load_it(file))]
    return None


LEDGERS = {
    "inbounds ledger": "an exported ledger; inbounds verify {file} checks it",
    "inbounds ledger head": "the head of a ledger; inbounds ledger verify LEDGER --head {file} compares the two",
}
"""Files that are not passports but are often given in their place, and the command for each."""


def load_passport_of(file: Path) -> Mechanism:
    """Load the mechanism of a passport.

    For a released table the error names its record, and for a ledger the command that checks it.
    """
    way = LEDGERS.get(detect_format(file) or "")
    if way:
        raise PassportError(f"{file} is {way.format(file=file)}")
    try:
        return load(file)
    except (PassportError, UnicodeDecodeError) as reason:
        record = file.with_name(f"{file.name}.release.json")
        if not record.exists():
            raise
        raise PassportError(f"{file} is a released table; give its record, {record}") from reason
