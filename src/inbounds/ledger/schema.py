"""The tables of a ledger, as numbered steps that only lead forward. A released step never changes.

A ledger stores the checksum of every step it has taken. A ledger of another program or of a later version is refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inbounds.errors import LedgerError, UnknownVersion
from inbounds.files import sha256_hex
from inbounds.ledger.store import Run


@dataclass(frozen=True)
class SchemaVersion:
    """One step: statements that are carried out together or not at all."""

    statements: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Return the checksum of the statements."""
        return sha256_hex(";\n".join(self.statements))


APPLICATION = 0x696E6264
"""application_id of a ledger in SQLite: "inbd"."""

STEPS_TABLE = "CREATE TABLE steps (number INTEGER NOT NULL PRIMARY KEY, sha256 TEXT NOT NULL)"


def migrate(run: Run, steps: Sequence[SchemaVersion], place: str, exists: Callable[[Run], bool]) -> range:
    """Take the missing steps inside the caller's transaction; return their numbers.

    Raises LedgerError or UnknownVersion if the steps taken before are not ours.
    """
    if not exists(run):
        run(STEPS_TABLE)
    taken: dict[int, str] = dict(run("SELECT number, sha256 FROM steps ORDER BY number"))
    if list(taken) != list(range(1, len(taken) + 1)):
        raise LedgerError(f"{place} was changed: its steps are not numbered in order")
    if len(taken) > len(steps):
        raise UnknownVersion(
            f"{place} is a ledger of version {len(taken)}, not {len(steps)}; install a later inbounds to open it"
        )
    for number, step in zip(taken, steps, strict=False):
        if taken[number] != step.sha256:
            raise LedgerError(f"{place} was changed, or made by another program: its step {number} is not ours")
    missing = range(len(taken) + 1, len(steps) + 1)
    for number in missing:
        for statement in steps[number - 1].statements:
            run(statement)
        run("INSERT INTO steps VALUES (?, ?)", number, steps[number - 1].sha256)
    return missing


NEVER = {
    "entries": "entries of a ledger never change",
    "answers": "answers of a ledger never change",
    "draws": "draws of a ledger never change",
    "steps": "steps of a ledger never change",
}


def _tables(whole: str, content: str, strict: str) -> tuple[str, ...]:
    """Write the tables: people, entries, answers, and what was drawn under a charge."""
    return (
        f"""CREATE TABLE people (
  name TEXT NOT NULL PRIMARY KEY,
  rule TEXT NOT NULL CHECK (rule IN ('sum', 'zcdp')),
  epsilon TEXT,
  delta TEXT,
  budget {whole} CHECK (budget > 0),
  spent {whole} NOT NULL DEFAULT 0 CHECK (spent >= 0),
  every TEXT CHECK (every IN ('year', 'month')),
  period TEXT,
  earlier {whole} NOT NULL DEFAULT 0 CHECK (earlier BETWEEN 0 AND spent),
  answer_delta TEXT,
  delta_budget {whole} NOT NULL DEFAULT 0 CHECK (delta_budget >= 0),
  delta_spent {whole} NOT NULL DEFAULT 0 CHECK (delta_spent BETWEEN 0 AND delta_budget),
  delta_earlier {whole} NOT NULL DEFAULT 0 CHECK (delta_earlier BETWEEN 0 AND delta_spent),
  CHECK (spent <= budget),
  CHECK ((every IS NULL) = (period IS NULL) AND (every IS NULL OR budget IS NOT NULL))
){strict}""",
        f"""CREATE TABLE entries (
  number {whole} NOT NULL PRIMARY KEY,
  time TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('ledger', 'people', 'budget', 'period', 'charge', 'draw', 'answer')),
  people TEXT REFERENCES people (name),
  units {whole} CHECK (units >= 0),
  key TEXT,
  digest TEXT,
  facts TEXT NOT NULL,
  previous TEXT NOT NULL,
  sha256 TEXT NOT NULL
){strict}""",
        "CREATE UNIQUE INDEX entries_key ON entries (key, kind)",
        f"""CREATE TABLE answers (
  entry {whole} NOT NULL PRIMARY KEY REFERENCES entries (number),
  content {content} NOT NULL
){strict}""",
        f"""CREATE TABLE draws (
  entry {whole} NOT NULL PRIMARY KEY REFERENCES entries (number),
  content {content} NOT NULL
){strict}""",
    )


FALLS = """NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.name <> OLD.name OR NEW.rule <> OLD.rule
  OR (NEW.rule = 'zcdp' AND coalesce(NEW.delta, '') <> coalesce(OLD.delta, ''))
  OR coalesce(NEW.answer_delta, '') <> coalesce(OLD.answer_delta, '')
  OR (NEW.budget IS NULL) <> (OLD.budget IS NULL)
  OR coalesce(NEW.every, '') <> coalesce(OLD.every, '') OR NEW.period < OLD.period OR NEW.earlier < OLD.earlier
  OR (NEW.period = OLD.period AND (NEW.earlier <> OLD.earlier OR NEW.delta_earlier <> OLD.delta_earlier
    OR NEW.budget < OLD.budget OR NEW.delta_budget < OLD.delta_budget))
  OR (NEW.period > OLD.period AND (NEW.earlier <> OLD.spent OR NEW.delta_earlier <> OLD.delta_spent))
  OR (OLD.every IS NULL AND (NEW.budget < OLD.budget OR NEW.delta_budget < OLD.delta_budget
    OR NEW.earlier <> OLD.earlier OR NEW.delta_earlier <> OLD.delta_earlier))"""
"""Updates of people that a ledger never makes: what was spent never falls, nor a budget within its period; a period is
only left for a later one, with all that was spent before it."""

OUT_OF_ORDER = """NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM entries)
  OR NEW.previous <> coalesce((SELECT sha256 FROM entries ORDER BY number DESC LIMIT 1), NEW.previous)
  OR EXISTS (SELECT 1 FROM entries WHERE key = NEW.key AND kind = NEW.kind)"""
"""New entries that are not the next of the chain, or replace another one (INSERT OR REPLACE)."""


def _sqlite_trigger(name: str, when: str, words: str) -> str:
    return f"CREATE TRIGGER {name} {when} BEGIN SELECT RAISE(ABORT, '{words}'); END"


SQLITE = (
    SchemaVersion(
        (
            f"PRAGMA application_id = {APPLICATION}",
            *_tables("INTEGER", "BLOB", " STRICT"),
            *(
                _sqlite_trigger(f"{table}_{event.lower()}", f"BEFORE {event} ON {table}", words)
                for table, words in NEVER.items()
                for event in ("UPDATE", "DELETE")
            ),
            _sqlite_trigger(
                "entries_order",
                f"BEFORE INSERT ON entries WHEN {OUT_OF_ORDER}",
                "an entry must be the next of the chain",
            ),
            _sqlite_trigger(
                "draws_once",
                "BEFORE INSERT ON draws WHEN EXISTS (SELECT 1 FROM draws WHERE entry = NEW.entry)",
                NEVER["draws"],
            ),
            _sqlite_trigger("people_delete", "BEFORE DELETE ON people", "people of a ledger never go"),
            _sqlite_trigger(
                "people_update", f"BEFORE UPDATE ON people WHEN {FALLS}", "what was spent on people never falls"
            ),
            _sqlite_trigger(
                "people_once",
                "BEFORE INSERT ON people WHEN EXISTS (SELECT 1 FROM people WHERE name = NEW.name)",
                "people of a ledger are never replaced",
            ),
        )
    ),
)
"""The steps for SQLite: the first creates the tables and their triggers."""


ORIGIN = SchemaVersion(("CREATE TABLE origin (place TEXT NOT NULL, mark BIGINT NOT NULL)",))
"""A step for PostgreSQL: where the tables were made or accepted, in one row, and the mark of `Store.mark`."""


def _postgres_trigger(name: str, when: str, guard: str) -> str:
    return f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {guard}()"


def _postgres_guard(name: str, condition: str, words: str) -> str:
    return (
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF {condition} THEN "
        f"RAISE EXCEPTION '{words}'; END IF; RETURN NEW; END $$"
    )


POSTGRES = (
    SchemaVersion(
        (
            *_tables("BIGINT", "BYTEA", ""),
            *(_postgres_guard(f"{table}_never", "true", words) for table, words in NEVER.items()),
            _postgres_guard("people_never", "true", "people of a ledger never go"),
            _postgres_guard("entries_order", OUT_OF_ORDER, "an entry must be the next of the chain"),
            _postgres_guard("people_rise", FALLS, "what was spent on people never falls"),
            *(
                _postgres_trigger(f"{table}_never", f"BEFORE {events} ON {table} FOR EACH ROW", f"{table}_never")
                for table, events in {**dict.fromkeys(NEVER, "UPDATE OR DELETE"), "people": "DELETE"}.items()
            ),
            *(
                _postgres_trigger(f"{table}_kept", f"BEFORE TRUNCATE ON {table} FOR EACH STATEMENT", f"{table}_never")
                for table in (*NEVER, "people")
            ),
            _postgres_trigger("entries_order", "BEFORE INSERT ON entries FOR EACH ROW", "entries_order"),
            _postgres_trigger("people_rise", "BEFORE UPDATE ON people FOR EACH ROW", "people_rise"),
        )
    ),
    ORIGIN,
)
"""The same steps for PostgreSQL, and one for what SQLite keeps in the file's header."""
