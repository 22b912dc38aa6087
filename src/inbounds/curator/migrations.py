"""The tables of a curator: accounts, what they may ask, and which questions were asked; as steps, like a ledger's.

What was spent on people is in the ledger. What is here bounds accounts, and finds the stored answer of a question.
"""

from inbounds.ledger.migrations import Step

APPLICATION = 0x696E6263
"""application_id of a curator's tables in SQLite: "inbc"."""

SCHEMA = "inbounds_curator"
"""All of them, in a PostgreSQL database."""


def _tables(whole: str, strict: str) -> tuple[str, ...]:
    return (
        f"""CREATE TABLE accounts (
  name TEXT NOT NULL PRIMARY KEY,
  role TEXT NOT NULL CHECK (role IN ('analyst', 'owner')),
  token TEXT NOT NULL UNIQUE,
  made TEXT NOT NULL,
  revoked TEXT
){strict}""",
        f"""CREATE TABLE grants (
  account TEXT NOT NULL REFERENCES accounts (name),
  dataset TEXT NOT NULL,
  cap {whole} CHECK (cap > 0),
  spent {whole} NOT NULL DEFAULT 0 CHECK (spent >= 0),
  level TEXT,
  PRIMARY KEY (account, dataset),
  CHECK (spent <= cap)
){strict}""",
        f"""CREATE TABLE questions (
  key TEXT NOT NULL PRIMARY KEY,
  dataset TEXT NOT NULL,
  base TEXT NOT NULL,
  family TEXT NOT NULL,
  epsilon TEXT NOT NULL,
  question TEXT NOT NULL,
  time TEXT NOT NULL
){strict}""",
        "CREATE INDEX questions_base ON questions (base)",
        "CREATE INDEX questions_family ON questions (family)",
        f"""CREATE TABLE given (
  id TEXT NOT NULL PRIMARY KEY,
  account TEXT NOT NULL REFERENCES accounts (name),
  dataset TEXT NOT NULL,
  key TEXT NOT NULL REFERENCES questions (key),
  question TEXT NOT NULL,
  how TEXT NOT NULL,
  recipe TEXT,
  level TEXT,
  units {whole} NOT NULL CHECK (units >= 0),
  time TEXT NOT NULL
){strict}""",
        "CREATE INDEX given_account ON given (account, dataset)",
        f"""CREATE TABLE requests (
  account TEXT NOT NULL REFERENCES accounts (name),
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  given TEXT NOT NULL,
  PRIMARY KEY (account, key)
){strict}""",
    )


def _seen(whole: str, strict: str) -> Step:
    """Version 2: the ledger's id and the last head that was seen of it, in at most one row."""
    return Step(
        (
            f"""CREATE TABLE seen (
  id TEXT NOT NULL PRIMARY KEY,
  entries {whole} NOT NULL CHECK (entries > 0),
  sha256 TEXT NOT NULL
){strict}""",
        )
    )


def _rows(whole: str) -> Step:
    """Version 3: how many rows an account holds, of the tables that it was given and one for each of its keys."""
    return Step(
        (
            f"ALTER TABLE given ADD COLUMN rows {whole} NOT NULL DEFAULT 1 CHECK (rows > 0)",
            f"ALTER TABLE accounts ADD COLUMN held {whole} NOT NULL DEFAULT 0 CHECK (held >= 0)",
            "UPDATE accounts SET held = (SELECT count(*) FROM given WHERE account = accounts.name)"
            " + (SELECT count(*) FROM requests WHERE account = accounts.name)",
            "DROP INDEX given_account",
            "CREATE INDEX given_account ON given (account, key)",
        )
    )


def _mechanisms(strict: str) -> Step:
    """Version 4: which mechanisms drew the answer of a question, by the digests of their passports."""
    return Step(
        (
            f"""CREATE TABLE mechanisms (
  key TEXT NOT NULL REFERENCES questions (key),
  sha256 TEXT NOT NULL,
  PRIMARY KEY (key, sha256)
){strict}""",
        )
    )


def _evaluations(whole: str, strict: str) -> Step:
    """Version 5: for which questions data was read, and when their answers leave. What was asked before is finished."""
    return Step(
        (
            f"""CREATE TABLE evaluations (
  key TEXT NOT NULL PRIMARY KEY REFERENCES questions (key),
  dataset TEXT NOT NULL,
  until {whole} NOT NULL,
  finished {whole} NOT NULL CHECK (finished IN (0, 1)),
  reopened TEXT
){strict}""",
            "CREATE INDEX evaluations_dataset ON evaluations (dataset, finished)",
            "INSERT INTO evaluations SELECT key, dataset, 0, 1, NULL FROM questions",
        )
    )


SQLITE = (
    Step((f"PRAGMA application_id = {APPLICATION}", *_tables("INTEGER", " STRICT"))),
    _seen("INTEGER", " STRICT"),
    _rows("INTEGER"),
    _mechanisms(" STRICT"),
    _evaluations("INTEGER", " STRICT"),
)
POSTGRES = (
    Step(_tables("BIGINT", "")),
    _seen("BIGINT", ""),
    _rows("BIGINT"),
    _mechanisms(""),
    _evaluations("BIGINT", ""),
)
