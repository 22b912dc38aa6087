"""What several test files share: a second opinion on privacy, written without the package's own arithmetic."""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import flint
import hypothesis
import pytest

from golden import Golden
from storms.servers import PostgresServer

# The same examples on every run: a failure is the change's, not the draw's. HYPOTHESIS_PROFILE=default explores.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
# The first counterexample will do: for whoever asks only whether there is one.
hypothesis.settings.register_profile(
    "unshrunk", derandomize=True, deadline=None, phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate)
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Nothing that collecting makes is garbage: looking for some takes a third of it, and again in every test.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


PRECISION = 500
TOTAL = 2**62


class Judge:
    """Decides privacy from the definition: every ordered pair of neighbours, every output, Fractions and arb."""

    def __init__(self) -> None:
        self._enclosures: dict[Fraction, tuple[Fraction, Fraction]] = {}

    def exp(self, x: Fraction) -> tuple[Fraction, Fraction]:
        """Rational numbers below and above exp(x), less than 2**-400 apart in relative terms."""
        if x not in self._enclosures:
            before, flint.ctx.prec = flint.ctx.prec, PRECISION
            try:
                ball = flint.arb(flint.fmpq(x.numerator, x.denominator)).exp()
                self._enclosures[x] = _rational(ball.lower()), _rational(ball.upper())
            finally:
                flint.ctx.prec = before
        return self._enclosures[x]

    def pairs(self, query: Any) -> list[tuple[int, int, Fraction]]:
        """All neighbouring answers j < k with their distance, from the values of the answers alone."""
        values = list(query.answers)
        rule = type(query.neighbours).__name__
        found = []
        for j, k in combinations(range(len(values)), 2):
            apart = values[k] - values[j]
            if rule == "AllPairs" or (rule == "Reach" and apart <= query.neighbours.steps * query.answers.unit):
                found.append((j, k, Fraction(1)))
            elif rule == "Metric":
                found.append((j, k, apart / query.neighbours.unit))
        return found

    def private(self, weights: Any, query: Any, epsilon: Fraction) -> bool:
        """Whether weights (outputs × answers, whole numbers) are exactly epsilon-private for the query."""
        columns = [[int(w) for w in column] for column in zip(*weights, strict=True)]
        for j, k, distance in self.pairs(query):
            low, high = self.exp(epsilon * distance)
            for a, b in zip(columns[j], columns[k], strict=True):
                less, more = min(a, b), max(a, b)
                if more * low.denominator <= low.numerator * less:
                    continue
                assert more * high.denominator > high.numerator * less, "too close to call at this precision"
                return False
        return True

    def distribution(self, weights: Any, query: Any) -> bool:
        """Whether weights have the query's shape, are non-negative whole numbers and sum to 2**62 per column."""
        rows = [[int(w) for w in row] for row in weights]
        outputs, answers = len(query.outputs), len(query.answers)
        return (
            len(rows) == outputs
            and all(len(row) == answers and min(row) >= 0 for row in rows)
            and all(sum(column) == TOTAL for column in zip(*rows, strict=True))
        )

    def certifies(self, mechanism: Any) -> bool:
        """The whole promise of a mechanism, judged anew."""
        weights = mechanism.weights.tolist()
        return self.distribution(weights, mechanism.query) and self.private(weights, mechanism.query, mechanism.epsilon)


def _rational(point: Any) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.fixture(scope="session")
def judge() -> Judge:
    return Judge()


# --- designs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _design_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Design each request of a plan once in a session, whichever worker asks first; what is loaded is certified again.

    Tests of the designs themselves import `design_request`, which stays as it is.
    """
    designs: Any = sys.modules.get("inbounds.statistics.designs")
    if designs is None:
        return
    folder, own = _shared_folder(tmp_path_factory, "designed once"), designs.design_request

    @cache
    def design_request(query: Any, epsilon: Fraction, options: Any) -> Any:
        file = folder / f"{designs.DesignRequest(query, epsilon, options).digest}.json"
        if file.exists():
            return designs.certify_document(designs.PASSPORT.load(file))
        start = time.process_time()
        made = own(query, epsilon, options)
        if time.process_time() - start > WORTH_SHARING:
            made.save(file)
        return made

    designs.design_request = design_request


@pytest.fixture(scope="session", autouse=True)
def _simulate_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Simulate the expected errors of a plan's statistic once in a session, whichever worker asks first.

    Tests of the simulation itself import `expect_levels`, which stays as it is.
    """
    expected = sys.modules.get("inbounds.releases.expected")
    if expected is None:
        yield
        return
    folder, own = _shared_folder(tmp_path_factory, "simulated once"), expected.expect_levels

    def expect_levels(plan: Any, k: int, entry: Any, sizes: Any, cache: Any = None, *progress: Any) -> Any:
        return own(plan, k, entry, sizes, folder, *progress)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(expected, "expect_levels", expect_levels)
        yield


def _shared_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of this session that all workers share."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / name
    folder.mkdir(exist_ok=True)
    return folder


WORTH_SHARING = 0.05
"""Seconds of a design that another worker would rather read."""


@pytest.fixture(scope="session", autouse=True)
def _open_duckdb_once() -> Iterator[None]:
    """Let all sources share one DuckDB database in memory, which takes 13 ms to open; each has its own connection.

    What a release stores is temporary, and so belongs to its connection. Files of DuckDB are opened as always.
    """
    sources = sys.modules.get("inbounds.sources.open")
    if sources is None:
        yield
        return
    import duckdb
    import ibis

    with duckdb.connect() as database, pytest.MonkeyPatch.context() as patched:
        patched.setattr(sources, "_connect_in_memory", lambda: ibis.duckdb.from_connection(database.cursor()))
        yield


# --- the command line -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """What a command left, as subprocess.run says it."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def one_line(self) -> str:
        """Everything on one line, however the terminal broke it."""
        return " ".join((self.stdout + self.stderr).split())


@pytest.fixture(scope="session", autouse=True)
def _build_command_line_once() -> Iterator[None]:
    """Let all calls share the tree of commands, which takes 10 ms to build; plugins are found anew each time."""
    import typer.main
    import typer.testing

    from inbounds.cli import app

    build, built = typer.main.get_command, cache(typer.main.get_command)

    def get_command(instance: Any) -> Any:
        if instance is not app:
            return build(instance)
        command = built(instance)
        vars(command).pop("plugins", None)
        return command

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(typer.main, "get_command", get_command)
        patched.setattr(typer.testing, "_get_command", get_command)
        yield


def _ran(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Done:
    from inbounds.cli import main

    monkeypatch.setattr(sys, "argv", ["inbounds", *words])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    left = capsys.readouterr()
    return Done(code, left.out, left.err)


@pytest.fixture
def inbounds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`inbounds("verify", file)`: the command line in this process."""
    return lambda *words: _ran(words, monkeypatch, capsys)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`command(folder, "verify", file)`: the command line in this process, run in a folder."""

    def run(folder: Path, *words: str) -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return _ran(words, monkeypatch, capsys)

    return run


@pytest.fixture(scope="session")
def started() -> Any:
    """`started("verify", file)`: the command line as people start it, in a process of its own."""

    def run(*words: str, stdin: str = "") -> Done:
        words = (sys.executable, "-m", "inbounds", *words)
        done = subprocess.run(words, input=stdin, capture_output=True, text=True)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


# --- texts ------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the golden files in tests/texts anew")


@pytest.fixture
def golden(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Golden:
    """`golden("verify", done.stdout)`: the text is that of tests/texts/verify.txt. A terminal has 80 columns."""
    from inbounds.cli.app import out

    monkeypatch.setattr(out, "_width", 80)
    return Golden(pytestconfig.getoption("--update"))


# --- kills inside a write ---------------------------------------------------------------------------------


class Moments:
    """Looks at a folder before every call that opens for writing, renames, removes or changes a file in it.

    What is there at that moment is what a kill at that moment would leave. look: called with the folder; raises
    what is wrong. A file that is opened for writing under one of the names in `whole` is wrong by itself: it would
    be seen in parts.
    """

    def __init__(self, folder: Path, whole: set[str], look: Callable[[Path], None]) -> None:
        self.folder, self.whole, self.look, self.wrong, self.seen = folder, whole, look, "", 0

    def __call__(self, event: str, words: tuple[Any, ...]) -> None:
        opened = event == "open" and isinstance(words[0], str | bytes | os.PathLike) and words[2] & WRITES
        if not (opened or event in ("os.rename", "os.remove", "os.chmod", "os.truncate")) or self.wrong:
            return
        if opened and Path(os.fsdecode(words[0])).name in self.whole:
            self.wrong = f"{os.fsdecode(words[0])} is written in place"
        self.seen += 1
        _MOMENTS.remove(self)  # looking opens files as well
        try:
            self.look(self.folder)
        except AssertionError as reason:
            self.wrong = f"before {event} {words[:2]}: {reason}"
        finally:
            _MOMENTS.append(self)


WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_MOMENTS: list[Moments] = []


def _watch(event: str, words: tuple[Any, ...]) -> None:
    for moments in tuple(_MOMENTS):
        moments(event, words)


sys.addaudithook(_watch)  # for good; it sees nothing while nobody watches


@pytest.fixture
def every_moment() -> Any:
    """`with every_moment(folder, whole, look):` — `look` holds at every moment, and at the end."""

    @contextmanager
    def watched(folder: Path, whole: set[str], look: Callable[[Path], None]) -> Iterator[None]:
        moments = Moments(folder, whole, look)
        _MOMENTS.append(moments)
        try:
            yield
        finally:
            _MOMENTS.remove(moments)
        assert not moments.wrong, moments.wrong
        assert moments.seen > 1
        look(folder)

    return watched


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session in local mode on a real JVM, one for all tests."""
    pytest.importorskip("pyspark", reason="PySpark is not installed (extra spark)")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed, Spark cannot run")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)  # workers need the packages of this interpreter
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2,2]").appName("inbounds tests")
        options = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").is_dir() else []
    if not found:
        pytest.skip("PostgreSQL is not installed (Debian package postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
    home = Path(tempfile.mkdtemp())  # pytest's own folders are closed to the user postgres
    server = PostgresServer(found[-1], home)
    yield server
    server.stop_at_once()
    shutil.rmtree(home)


@pytest.fixture(scope="session")
def postgres(postgres_server: PostgresServer) -> str:
    """The URL of a PostgreSQL server of our own."""
    return postgres_server.url
