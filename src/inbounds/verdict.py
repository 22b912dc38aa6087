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
from typing import Any

from inbounds.checker import NoRule, check_record, compute_proved_bound, connect
from inbounds.errors import LedgerError, PassportError, TooLarge
from inbounds.exact import format_cost
from inbounds.files import (
    CHAIN,
    COLLECTION,
    COMPOSITION,
    DRAW,
    LEDGER,
    LEDGER_HEAD,
    MECHANISM,
    PERMANENT_REPORTS,
    RELEASE,
    Document,
    FileFormat,
    FileLike,
    Json,
    LoadedFile,
)
from inbounds.mechanism import AnyMechanism
from inbounds.mechanism.load import PASSPORT, certify_law_only
from inbounds.mechanism.passport import passport_summary
from inbounds.report.wording import describe_checkers, describe_proof, format_guarantee

NO_VERDICT = 3
"""The exit code of a checker for a file of a kind that it has no rule for."""


NOT_CHECKED = (
    "that the stored draws came from the data, were drawn once, and by nothing but these mechanisms",
    "that plan, sizes and bounds were fixed before anybody looked at the data",
    "the name of the source, the edition, the versions, and columns of the plan that no number is about",
    "the entry of the ledger that the record names (verify the ledger), its time, and its advice on useless statistics",
)
"""Statements that a release record cannot prove."""


def file_formats() -> dict[str, FileFormat[Any]]:
    """Return every file format, by its name."""
    from inbounds.accounting.chain import CHAIN_RECORD
    from inbounds.accounting.composition_record import COMPOSITION_RECORD
    from inbounds.ledger.verify import EXPORT, HEAD_FILE
    from inbounds.local.collector import COLLECTION_FILE
    from inbounds.local.permanent import PERMANENT_FILE
    from inbounds.releases.drawing import STORED_DRAW
    from inbounds.releases.verify import RELEASE_RECORD

    tables = RELEASE_RECORD, STORED_DRAW, EXPORT, HEAD_FILE
    known = (PASSPORT, COMPOSITION_RECORD, CHAIN_RECORD, *tables, COLLECTION_FILE, PERMANENT_FILE)
    return {file_format.name: file_format for file_format in known}


@dataclass(frozen=True)
class Verdict:
    """The result of checking a file: a certified mechanism, or sentences; or the reason for a refusal.

    proved: what was checked, in sentences. reason: why the file is refused, or why there is no verdict. is_decided:
    False if this checker has no rule for something in the file, so that it neither holds nor is refused. unchecked:
    claims of the file that were not recomputed. seconded: the second checker, if it was run and agrees. note: how a
    passport is connected to the records given with it. bound: a proved lower bound for the loss of any private
    mechanism, if it was computed.
    """

    path: Path
    mechanism: AnyMechanism | None = None
    proved: tuple[str, ...] = ()
    reason: str = ""
    is_decided: bool = True
    seconded: str = ""
    unchecked: tuple[str, ...] = ()
    note: str = ""
    bound: float | None = None

    @property
    def proves_bound(self) -> bool:
        """Return whether the bound in the passport was proved here, up to a millionth of it."""
        best = None if self.mechanism is None else self.mechanism.optimality
        return best is not None and self.bound is not None and self.bound >= best.bound - 1e-6 * abs(best.bound) - 1e-12

    @property
    def unchecked_claims(self) -> tuple[str, ...]:
        """Return the claims in a mechanism's passport that were not recomputed here."""
        claims = () if self.mechanism is None else self.mechanism.unchecked_claims
        return claims[:-1] if self.proves_bound else claims

    @property
    def is_valid(self) -> bool:
        """Return whether everything in the file that can be checked is true; False also if there is no verdict."""
        return self.is_decided and not self.reason

    def __str__(self) -> str:
        if not self.is_decided:
            return f"undecided {self.path}: {self.reason}"
        if not self.is_valid:
            return f"refused {self.path}: {self.reason}"
        if self.mechanism is None:
            return f"checked {self.path}: {'; '.join(self.proved)}"
        note = f"; {self.note}" if self.note else ""
        cost = format_cost(self.mechanism.epsilon, self.mechanism.delta)
        return f"proved {self.path}: {self.mechanism.query.describe()}, {cost}{note}"

    def _tight_epsilon(self) -> Json:
        """Return the tight epsilon of the mechanism, if it is computed for its law."""
        try:
            return {} if self.mechanism is None else {"tight_epsilon": f"{self.mechanism.tight_epsilon():.12g}"}
        except TooLarge:
            return {}

    def to_json(self) -> Json:
        """Return plain JSON values; for a mechanism its passport without the weights. "valid" is None if undecided."""
        if not self.is_decided:
            return {"valid": None, "reason": self.reason}
        if not self.is_valid:
            return {"valid": False, "reason": self.reason}
        note = {"note": self.note} if self.note else {}
        if self.mechanism is None:
            claimed = {"claimed_not_checked": list(self.unchecked)} if self.unchecked else {}
            return {"valid": True, "checked": "; ".join(self.proved), **claimed}
        return {
            "valid": True,
            **passport_summary(self.mechanism),
            "promise": format_guarantee(self.mechanism),
            "checkers": describe_checkers(self.mechanism),
            **self._tight_epsilon(),
            "claimed_not_checked": self.unchecked_claims,
            **({"proved_bound": repr(self.bound)} if self.bound is not None else {}),
            **({"seconded": self.seconded} if self.seconded else {}),
            **note,
        }


def verify(
    file: FileLike,
    *,
    passports: Iterable[FileLike] = (),
    second: str | None = None,
    optimality: bool = False,
) -> Verdict:
    """Check a passport of any kind, a release record, a composition record or a ledger from scratch.

    file: its path, or its content if it was already loaded; every file is read once. The table of a release record must
    be beside it; every published cell is recomputed from the draws in the record. passports: of the mechanisms of a
    release record; each is certified and connected by its digest to the numbers it drew. Mechanisms without a passport
    are designed again. second: a program that also judges the passport, such as `inbounds-check`, which is extracted
    from the machine-checked proof; if the two disagree, the file is refused. optimality: also compute a lower bound for
    the loss of every private mechanism; without it the bound in a passport is not checked.

    Returns a verdict with a reason if the file was changed or is not private, and one that is not decided if a release
    has a statistic of a kind that the checker has no rule for. Raises OSError if it cannot be read.

    >>> import inbounds as ib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ib.catalog.uniform(ib.count(3), 1).save(f"{folder}/m.json")
    ...     ib.verify(f"{folder}/m.json").is_valid
    True
    """
    passport_files, path = list(passports), _path(file)
    try:
        loaded = file if isinstance(file, Document) else LoadedFile.load(file)
    except PassportError as refusal:
        return Verdict(path, reason=str(refusal))
    if passport_files and loaded.format != RELEASE:
        raise ValueError(f"passports need a release record, got {path}; verify them separately")
    verdict = _verify_loaded(loaded, path, passport_files)
    if optimality and verdict.mechanism is not None and verdict.mechanism.optimality is not None:
        bound = compute_proved_bound(PASSPORT.load(loaded).content)
        verdict = replace(verdict, bound=None if bound is None else math.nextafter(float(bound), -math.inf))
    return verdict if second is None else _check_second_opinion(verdict, loaded, second)


def verify_all(files: Sequence[FileLike], *, second: str | None = None) -> list[Verdict]:
    """Check several files; passports among them are connected to the release records among them.

    A record gets the passports whose digests it names, and those that no record names.
    """
    loaded_or_refused = [_load_or_verdict(file) for file in files]
    loaded = [file for file in loaded_or_refused if not isinstance(file, Verdict)]
    records = [file for file in loaded if file.format == RELEASE]
    record_digests = [_digests_named(record) for record in records]
    passports = [(file, _stated_digest(file)) for file in loaded if file.format == MECHANISM]
    verdicts = []
    for file in loaded_or_refused:
        if isinstance(file, Verdict):
            verdicts.append(file)
        elif file.format == RELEASE:
            digests_here = record_digests[records.index(file)]
            others = {digest for digests in record_digests if digests is not digests_here for digest in digests}
            others -= digests_here
            fitting = [passport for passport, digest in passports if digest not in others]
            verdicts.append(_verify_or_refuse(file, fitting, None))
        else:
            verdicts.append(_note_owners(_verify_or_refuse(file, [], second), file, records, record_digests))
    return verdicts


def _note_owners(
    verdict: Verdict, passport: "LoadedFile | Document", records: Sequence[Any], record_digests: Sequence[set[str]]
) -> Verdict:
    """Add to the verdict on a passport the names of the records whose numbers it drew."""
    if not records or passport.format != MECHANISM or not verdict.is_valid:
        return verdict
    digest = _stated_digest(passport)
    owners = [_path(record).name for record, digests in zip(records, record_digests, strict=True) if digest in digests]
    note = f"it drew numbers of {', '.join(owners)}" if owners else "it belongs to no number of the records given"
    return replace(verdict, note=note)


def _path(file: FileLike) -> Path:
    if isinstance(file, Document):
        return file.path or Path("document")
    return file.path if isinstance(file, LoadedFile) else Path(file)


def _load_or_verdict(file: FileLike) -> "LoadedFile | Document | Verdict":
    """Load a file; return a refusal if it cannot be read."""
    try:
        return file if isinstance(file, Document) else LoadedFile.load(file)
    except OSError as reason:
        return Verdict(_path(file), reason=reason.strerror or str(reason))
    except PassportError as refusal:
        return Verdict(_path(file), reason=str(refusal))


def _verify_or_refuse(file: "LoadedFile | Document", passports: Sequence[FileLike], second: str | None) -> Verdict:
    """Verify a file; return a refusal if the table beside a record cannot be read."""
    try:
        return verify(file, passports=passports, second=second)
    except OSError as reason:
        return Verdict(_path(file), reason=reason.strerror or str(reason))


def _values(file: "LoadedFile | Document") -> Any:
    """Return the envelope of a file as plain values, valid or not; {} if it is not an object."""
    values = file.to_json() if isinstance(file, Document) else file.values
    return values if isinstance(values, dict) else {}


def _stated_digest(file: "LoadedFile | Document") -> str:
    return str(_values(file).get("sha256", ""))


def _digests_named(record: "LoadedFile | Document") -> set[str]:
    """Return the digests of passports that a record names, whether or not the record is valid."""
    try:
        return {str(line["sha256"]) for line in _values(record)["content"]["mechanisms"]}
    except (LookupError, TypeError):
        return set()


def table_named(record: "LoadedFile | Document") -> str:
    """Return the table that a release record names, if that is a plain name; "" for any other file."""
    if record.format != RELEASE:
        return ""
    try:
        name = _values(record)["content"]["table"]["file"]
    except (LookupError, TypeError):
        return ""
    return name if isinstance(name, str) and Path(name).name == name else ""


def find_table(record: "LoadedFile | Document") -> list[Path]:
    """Return the table that a release record names, if it is beside it; empty for any other file."""
    name = table_named(record)
    beside = _path(record).with_name(name) if name else None
    return [beside] if beside is not None and beside.is_file() else []


def _verify_loaded(file: "LoadedFile | Document", path: Path, passports: Sequence[FileLike]) -> Verdict:
    try:
        if isinstance(file, LoadedFile) and file.is_database:
            return _verify_ledger_file(file)
        if file.format == RELEASE:
            return _verify_release(file, path, passports)
        if file.format == LEDGER:
            return Verdict(path, proved=tuple(file_formats()[LEDGER].read(file).sentences()))
        if file.format in (COMPOSITION, CHAIN):
            return Verdict(path, proved=(str(file_formats()[file.format].read(file)),))
        return _mechanism_verdict(load_passport_of(file), path)
    except NoRule as missing:
        return Verdict(path, reason=str(missing), is_decided=False)
    except (LedgerError, PassportError) as refusal:
        return Verdict(path, reason=str(refusal))


def _verify_ledger_file(file: LoadedFile) -> Verdict:
    """Verify a ledger in a SQLite database."""
    from inbounds.ledger.ledger import verify_ledger
    from inbounds.ledger.sqlite import has_ledger_header

    if not has_ledger_header(file.data):
        raise PassportError(f"{file.path} is a database, but no ledger; give a passport, a release record or a ledger")
    return Verdict(file.path, proved=tuple(verify_ledger(str(file.path)).sentences()))


def _mechanism_verdict(mechanism: AnyMechanism, path: Path) -> Verdict:
    return Verdict(path, mechanism, (format_guarantee(mechanism), *describe_proof(mechanism)))


def _verify_release(file: "LoadedFile | Document", path: Path, passports: Sequence[FileLike]) -> Verdict:
    """Check a release record with its table and the passports of its mechanisms."""
    from inbounds.releases.recompute import check_release
    from inbounds.releases.verify import RELEASE_RECORD

    record = RELEASE_RECORD.load(file)
    if not passports:
        return Verdict(path, proved=tuple(check_release(record)), unchecked=NOT_CHECKED)
    lines = check_record(record.to_json()).lines
    certified = {str(_path(passport)): _certify_passport(passport) for passport in passports}
    connection = connect(lines, {name: passport.to_json() for name, (_, passport) in certified.items()})
    if connection.missing and connection.strays:
        raise PassportError(
            f"the passports given are not those of the record: none has the digest stated for {connection.missing[0]}, "
            f"and {connection.strays[0]} drew no number of it"
        )
    mechanisms = {passport.sha256: mechanism for mechanism, passport in certified.values()}
    sentences = [f"{name} drew {', '.join(owners)}" for name, owners in connection.connected.items()]
    sentences += [f"no passport was given for {', '.join(connection.missing)}"] if connection.missing else []
    sentences += [f"{', '.join(connection.strays)} drew no number of this record"] if connection.strays else []
    return Verdict(path, proved=(*check_release(record, mechanisms), *sentences), unchecked=NOT_CHECKED)


def _certify_passport(file: FileLike) -> tuple[AnyMechanism, Document]:
    """Return the mechanism of a passport that was given with a record, and its document."""
    try:
        passport = PASSPORT.load(file)
        return PASSPORT.read(passport), passport
    except PassportError as refusal:
        raise PassportError(f"the passport {_path(file)} is refused: {refusal}") from None


def _check_second_opinion(verdict: Verdict, file: "LoadedFile | Document", program: str) -> Verdict:
    """Return the verdict if the second checker finds the same query, epsilon and law; otherwise a refusal."""
    if verdict.mechanism is None and (verdict.proved or not verdict.is_decided):
        raise ValueError(f"{program} judges passports only, and {verdict.path} is none; verify it without")
    opinion, private = _run_checker(program, verdict.path), _is_private(verdict, file)
    if opinion.startswith("private") == private:
        return replace(verdict, seconded=program)
    ours = "private" if private else "not private"
    return Verdict(
        verdict.path, reason=f"the checkers do not agree: the passport is {ours} here, {program} says {opinion!r}"
    )


def _is_private(verdict: Verdict, file: "LoadedFile | Document") -> bool:
    """Return whether query, epsilon and law are private together, whatever the passport claims."""
    try:
        return bool(certify_law_only(file))
    except PassportError:
        return verdict.is_valid


def _run_checker(program: str, file: Path) -> str:
    """Return the line that a checker prints about a file."""
    executable = shutil.which(program)
    if executable is None:
        raise ValueError(f"{program} must be a program; `make proof` builds coq/build/inbounds-check")
    process = subprocess.run([executable, os.fspath(file)], capture_output=True, text=True, check=False)  # noqa: S603
    if process.returncode == NO_VERDICT:
        raise ValueError(f"{program} has no verdict on this kind of passport; verify it without")
    if process.returncode not in (0, 1):
        raise ValueError(f"{program} must say private or refused, it failed: {process.stderr.strip()[:200]!r}")
    return process.stdout.strip()


OTHER_FILES = {
    LEDGER: "an exported ledger; inbounds verify {file} checks it",
    LEDGER_HEAD: "the head of a ledger; inbounds ledger verify LEDGER --head {file} compares the two",
    DRAW: "a stored draw, which belongs in its ledger",
    COLLECTION: "a collection of reports, which is read with its mechanism",
    PERMANENT_REPORTS: "a memory of permanent reports, which stays with the person",
}
"""Formats that are not passports, with a description and the command for each."""


def load_passport_of(file: "LoadedFile | Document") -> AnyMechanism:
    """Load the mechanism of a passport. For another kind of file the error names the command for it."""
    path = _path(file)
    if file.format in OTHER_FILES:
        raise PassportError(f"{path} is {OTHER_FILES[file.format].format(file=path)}")
    try:
        return PASSPORT.read(file)
    except PassportError as reason:
        record = path.with_name(f"{path.name}.release.json")
        if not record.exists():
            raise
        raise PassportError(f"{path} is a released table; give its record, {record}") from reason
