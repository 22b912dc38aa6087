"""The tables of a curator's database: accounts, grants, questions and issued answers.

Spending on people is in the ledger. These tables limit accounts and find the stored answer of a question.
"""

from inbounds.ledger.schema import ORIGIN, SchemaVersion

APPLICATION = 0x696E6263
"""application_id of a curator's tables in SQLite: "inbc"."""

SCHEMA = "inbounds_curator"
"""The schema of these tables in a PostgreSQL database."""


def _tables(whole: str, strict: str) -> tuple[str, ...]:
    """Return the statements that create the tables.

    bases: questions without their epsilon; a family has those that differ in their groups only. columns: the group
    columns, as JSON. rows: of their tables. questions.digits: the epsilon, so that texts are ordered as numbers.

    accounts.held, given.rows: rows that an account holds, of its tables and one for each key. seen: the ledger's id and
    its last head, at most one row. mechanisms: which mechanisms drew the answer of a question, by passport digest.
    evaluations: for which questions data was read, and when their answers leave.
    """
    return (
        f"""CREATE TABLE accounts (
  name TEXT NOT NULL PRIMARY KEY,
  role TEXT NOT NULL CHECK (role IN ('analyst', 'owner')),
  token TEXT NOT NULL UNIQUE,
  made TEXT NOT NULL,
  revoked TEXT,
  held {whole} NOT NULL DEFAULT 0 CHECK (held >= 0)
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
        f"""CREATE TABLE bases (
  base TEXT NOT NULL PRIMARY KEY,
  family TEXT NOT NULL,
  columns TEXT NOT NULL,
  rows {whole} NOT NULL CHECK (rows > 0)
){strict}""",
        "CREATE INDEX bases_family ON bases (family)",
        f"""CREATE TABLE questions (
  key TEXT NOT NULL PRIMARY KEY,
  dataset TEXT NOT NULL,
  base TEXT NOT NULL REFERENCES bases (base),
  epsilon TEXT NOT NULL,
  digits TEXT NOT NULL,
  question TEXT NOT NULL,
  time TEXT NOT NULL
){strict}""",
        "CREATE INDEX questions_base ON questions (base, digits)",
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
  time TEXT NOT NULL,
  rows {whole} NOT NULL DEFAULT 1 CHECK (rows > 0)
){strict}""",
        "CREATE INDEX given_account ON given (account, key)",
        "CREATE INDEX given_time ON given (account, time, id)",
        f"""CREATE TABLE requests (
  account TEXT NOT NULL REFERENCES accounts (name),
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  given TEXT NOT NULL,
  PRIMARY KEY (account, key)
){strict}""",
        f"""CREATE TABLE seen (
  id TEXT NOT NULL PRIMARY KEY,
  entries {whole} NOT NULL CHECK (entries > 0),
  sha256 TEXT NOT NULL
){strict}""",
        f"""CREATE TABLE mechanisms (
  key TEXT NOT NULL REFERENCES questions (key),
  sha256 TEXT NOT NULL,
  PRIMARY KEY (key, sha256)
){strict}""",
        f"""CREATE TABLE evaluations (
  key TEXT NOT NULL PRIMARY KEY REFERENCES questions (key),
  dataset TEXT NOT NULL,
  until {whole} NOT NULL,
  finished {whole} NOT NULL CHECK (finished IN (0, 1)),
  reopened TEXT
){strict}""",
        "CREATE INDEX evaluations_dataset ON evaluations (dataset, finished)",
    )


SQLITE = (SchemaVersion((f"PRAGMA application_id = {APPLICATION}", *_tables("INTEGER", " STRICT"))),)
POSTGRES = (SchemaVersion(_tables("BIGINT", "")), ORIGIN)
