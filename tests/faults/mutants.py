"""Mutation testing of the ledger and the checkers: small faults planted one at a time, each to be found by the tests.

    python tests/faults/mutants.py [ledger | checkers | MODULE …]

A fault is one comparison, connective, negation, sum or whole number changed, one refusal left out, or one comparison
inside a statement of SQL changed; how much a cache remembers (`maxsize`) is none. Every fault runs the fast tests of
its module in a process of its own and must make one of them fail; the process is a fork of one that has imported and
collected everything, and the fault is put into the function where it is, so that most are found in a few hundredths
of a second. A survivor that no test can tell apart is listed in EQUIVALENT with the reason; any other is printed and
makes the script exit with 1.
"""

import ast
import copy
import gc
import importlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
SECONDS = 180
"""Of processor time for all tests of a fault outside of functions, and a tenth of what they may take by the clock."""

FOUND = 3
"""The status of a child whose fault a test has found."""

ENDLESS = (-signal.SIGPROF, -signal.SIGALRM)
"""The statuses of a child in which a test did not end."""

ONCE = ("inbounds", "ibis", "pandas", "scipy", "sqlglot")
"""Packages that tests import when they need them: seconds, which every child would spend again."""

QUICK = 0.5
"""Seconds of a test that may be tried first."""

PATIENCE = 5
"""Seconds of processor time that a test may take beyond ten times its own; a fault that never ends is found too.

Processor time, because a busy machine would otherwise find faults that no test finds.
"""

WAITING = 60
"""Seconds of the clock that a test may take beyond twenty times its own; a fault that waits for ever is found too."""

WITHOUT_LONG = [
    f"--deselect=tests/trusted/test_certify.py::{name}"
    for name in (
        "test_garbage_is_certified_exactly_or_refused_with_a_reason",
        "test_a_noise_table_passes_exactly_when_its_written_out_matrix_is_private",
        "test_the_checker_agrees_with_the_definition_on_weights_near_the_border",
        "test_what_is_private_with_room_to_spare_is_never_refused",
        "test_audit_equals_the_largest_log_ratio_over_all_pairs",
    )
]
"""Searches of many seconds, which would make a survivor wait for all of them; the others must do."""

TARGETS = {
    "ledger": {
        "inbounds.ledger.units": ["tests/ledger/test_ledger.py", "tests/ledger/test_ledger_deltas.py"],
        "inbounds.ledger.charges": [
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_ledger_draws.py",
            "tests/ledger/test_ledger_deltas.py",
        ],
        "inbounds.ledger.entries": ["tests/ledger/test_ledger.py"],
        "inbounds.ledger.population": [
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_ledger_release.py",
            "tests/ledger/test_ledger_periods.py",
            "tests/ledger/test_ledger_deltas.py",
        ],
        "inbounds.ledger.verify": [
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_ledger_draws.py",
            "tests/ledger/test_ledger_periods.py",
            "tests/ledger/test_ledger_deltas.py",
        ],
        "inbounds.ledger.queries": [
            "tests/ledger/test_ledger_queries.py",
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_ledger_draws.py",
        ],
        "inbounds.ledger.store": [
            "tests/ledger/test_ledger_queries.py",
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_ledger_turns.py",
        ],
        "inbounds.ledger.schema": ["tests/ledger/test_ledger.py", "tests/ledger/test_ledger_draws.py"],
        "inbounds.ledger.ledger": [
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_ledger_draws.py",
            "tests/ledger/test_ledger_deltas.py",
            "tests/ledger/test_ledger_periods.py",
            "tests/ledger/test_ledger_backup.py",
            "tests/ledger/test_ledger_queries.py",
            "tests/ledger/test_ledger_machine.py",
        ],
        "inbounds.ledger.sqlite": [
            "tests/ledger/test_ledger_sqlite.py",
            "tests/ledger/test_ledger_queries.py",
            "tests/ledger/test_ledger.py",
            "tests/ledger/test_ledger_backup.py",
            "tests/ledger/test_ledger_locks.py",
        ],
        "inbounds.files.open_files": ["tests/ledger/test_ledger_locks.py"],
        "inbounds.ledger.import_release": ["tests/ledger/test_ledger_release.py"],
        "inbounds.releases.charge_session": [
            "tests/releases/test_charge_session.py",
            "tests/releases/test_editions.py",
            "tests/ledger/test_ledger_release.py",
        ],
    },
    "checkers": {
        "inbounds.trusted.certify": [
            "tests/trusted/test_certify_border.py",
            "tests/trusted/test_certify.py",
            "tests/trusted/test_approximate.py",
            "tests/local/test_labels.py",
            "tests/graphs/test_check_edges.py",
            *WITHOUT_LONG,
        ],
        "inbounds.trusted.bounds": ["tests/test_exact.py", "tests/trusted/test_certify.py", *WITHOUT_LONG],
    },
}

EQUIVALENT: dict[str, str] = {
    "inbounds.trusted.bounds:8 + 1 in r = 8": "one squaring more: still at or below exp, within the error stated",
    "inbounds.trusted.bounds:64 + 1 in EXP_BITS + 64": "one guard bit more: nearer to exp, still at or below it",
    "inbounds.trusted.certify:64 + 1 in CLIQUES_AT_A_TIME = 64": "how many cliques are looked at together",
    "inbounds.trusted.certify:1 + 1 in max(1, PAIRS_AT_A_TIME // outputs)": "how many edges are looked at together",
    "inbounds.trusted.certify:1 + 1 in 1 << 14": "how many pairs are looked at together",
    "inbounds.trusted.certify:14 + 1 in 1 << 14": "how many pairs are looked at together",
    "inbounds.trusted.certify:1 + 1 in -1": "numpy takes any negative number for what is left of a shape",
    "inbounds.trusted.certify:6 + 1 in max(len(ratio) + 2, 6)": "one digit more, which stays 0",
    "inbounds.trusted.certify:2 + 1 in len(ratio) + 2": "one digit more, which stays 0",
    "inbounds.trusted.certify:Sub in len(table) - 1": "matters for a table of one weight, which has no neighbour",
    "inbounds.trusted.certify:1 + 1 in len(table) - 1": "matters for a table of one weight, which has no neighbour",
    "inbounds.trusted.certify:Sub in len(sums) - 1": "a reach is at most the size, and there are more sums",
    "inbounds.trusted.certify:1 + 1 in len(core) // 2 + 1": (
        "a sum beyond the middle is within the ratio when the weights beside each other and the outermost sums are"
    ),
    "inbounds.trusted.certify:Sub in run - skip": (
        "a sum that meets the core is within the ratio when the weights beside each other and the outermost sums are"
    ),
    "inbounds.files.open_files:1 + 1 in 1 << 20": "how many bytes are read at once",
    "inbounds.files.open_files:20 + 1 in 1 << 20": "how many bytes are read at once",
    "inbounds.ledger.population:Or in self.remaining is None or self.budget is None": (
        "both are None where there is no cap"
    ),
    "inbounds.ledger.ledger:16 + 1 in secrets.token_hex(16)": "an id of more bytes is as good",
    "inbounds.ledger.ledger:Gt in number > self._seen.number": "an entry that is seen again has the same digest",
    "inbounds.ledger.ledger:0 + 1 in 0 if head is not None else -mark": "entry 1 is no charge, so none is closed by it",
    "inbounds.ledger.ledger:left out: raise LedgerError(f'{self.place} was damaged: its charge und": (
        "people of a ledger never go, and the missing charge ends in the same error"
    ),
    "inbounds.ledger.sqlite:left out: raise LedgerError(f'{self.place} cannot be written to, so no": (
        "the database refuses to write, in the same error"
    ),
    "inbounds.ledger.sqlite:left out: raise LedgerError(f'{self.place} is a ledger of version {tak": (
        "the database refuses to bring it forward, in the same error"
    ),
    "inbounds.ledger.queries:0 + 1 in row[0]": "where no people are found, their rule is missing like their name",
    "inbounds.ledger.queries:10000 + 1 in PAGE = 10000": "how many entries are read at once",
    'inbounds.ledger.queries: AND  as  OR  in "SELECT people, facts FROM entries WHERE kind = \'ch"': (
        "only charges have a source, and it is compared again"
    ),
    "inbounds.ledger.sqlite:Lt in sqlite3.sqlite_version_info < OLDEST": "a version has three numbers, OLDEST two",
    "inbounds.ledger.sqlite:100 + 1 in HEADER = 100": "one byte more than anybody looks at",
    "inbounds.ledger.sqlite:Gt in time.monotonic() > deadline": "the very moment at which patience ends",
    "inbounds.ledger.verify:0 + 1 in (entry.people, rule, epsilon, delta, entry.units, 0, every, period)": (
        "`totals` puts what was added up in its place"
    ),
}
"""Faults that change no verdict, as they would be printed, and why they cannot be seen; they are not planted."""

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip
SQL = (("SELECT ", "UPDATE "), ((">=", ">"), (" > ?", " >= ?"), ("+ ?", "- ?"), ("DESC", "ASC"), (" AND ", " OR ")))


Change = Callable[[Any], object]


def places(tree: ast.Module) -> Iterator[tuple[int, str, Change]]:
    """Every fault that a module can have: in which node, what and where it is, and how it is made."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for k, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node, parents.get(node, node)):
            yield k, f"{getattr(node, 'lineno', 0)}: {what}", change


def faults(module: str) -> Iterator[tuple[str, ast.Module]]:
    """Every fault of a module that is not EQUIVALENT, and the module with it."""
    tree = _tree(module)
    for k, what, change in places(tree):
        if _key(module, what) not in EQUIVALENT:
            other = copy.deepcopy(tree)
            change(next(node for i, node in enumerate(ast.walk(other)) if i == k))
            yield what, ast.fix_missing_locations(_without_refusals(other))


def _changes(node: ast.AST, parent: ast.AST) -> Iterator[tuple[str, Change]]:
    text = ast.unparse(node) if isinstance(node, ast.expr | ast.Raise) else ""
    if isinstance(node, ast.Compare):
        for j, op in enumerate(node.ops):
            if type(op) in SWAPS:
                yield f"{type(op).__name__} in {text}", partial(_swap_comparison, j, SWAPS[type(op)])
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPS:
        yield f"{type(node.op).__name__} in {text}", lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"not in {text}", _lose_not
    elif isinstance(node, ast.Raise):
        yield f"left out: {text[:60]}", lambda n: setattr(n, "left_out", True)
    elif isinstance(node, ast.Constant) and type(node.value) is int and getattr(parent, "arg", "") != "maxsize":
        yield f"{node.value} + 1 in {ast.unparse(parent)[:70]}", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(SQL[0]):
        for old, new in SQL[1]:
            if old in node.value:
                yield f"{old} as {new} in {node.value[:50]!r}", partial(_replace_word, old, new)


def _swap_comparison(place: int, other: type[ast.cmpop], node: Any) -> None:
    node.ops[place] = other()


def _lose_not(node: Any) -> None:
    node.op, node.lost = ast.UAdd(), True


def _replace_word(old: str, new: str, node: Any) -> None:
    node.value = node.value.replace(old, new, 1)


def _without_refusals(tree: ast.Module) -> ast.Module:
    class Left(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.stmt:
            return ast.Pass() if hasattr(node, "left_out") else node

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
            self.generic_visit(node)
            return node.operand if hasattr(node, "lost") else node

    changed: ast.Module = Left().visit(tree)
    return changed


# --- a fault inside a function: planted in a process that has everything imported and collected --------------


def functions_of(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """The code of every function of a module and of its classes, by name and line."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    classes = [found for found in inner if not found.co_flags & inspect.CO_NEWLOCALS]
    own = {(found.co_qualname, found.co_firstlineno): found for found in inner if found not in classes}
    return own | {key: found for each in classes for key, found in functions_of(each).items()}


def planted(module: str, tree: ast.Module) -> dict[tuple[str, int], CodeType]:
    """The functions that a fault changes; none where it is outside of them all."""
    sound, file = functions_of(_compiled(module)), str(_file(module))
    return {key: code for key, code in functions_of(compile(tree, file, "exec")).items() if code != sound[key]}


def plant(module: str, changed: Mapping[tuple[str, int], CodeType]) -> None:
    """Put changed code into the functions themselves, whoever holds them by whatever name."""
    importlib.import_module(module)  # some are first imported by a command
    gc.unfreeze()  # tests freeze what collecting made, and frozen functions are not listed
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename == str(_file(module)):
            key = found.__code__.co_qualname, found.__code__.co_firstlineno
            if key in changed:
                found.__code__ = changed[key]


class Duration(NamedTuple):
    """How long a test takes without a fault, in seconds."""

    clock: float
    processor: float


class Planting:
    """A plugin of pytest: collects once, then runs the tests anew for every fault, in a child, the fast ones first."""

    def __init__(self, module: str, every: list[tuple[str, ast.Module]]) -> None:
        self.module, self.every, self.survivors, self.failed = module, every, list[str](), False

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        seconds = self.seconds_of(session.items)
        items = sorted(session.items, key=lambda item: seconds[item.nodeid].clock)
        for what, tree in self.every:
            killer = self.killer(items, seconds, planted(self.module, tree))
            if killer is None:
                self.survivors.append(what)
            elif seconds[items[killer].nodeid].clock < QUICK:
                items.insert(0, items.pop(killer))  # what found one fault often finds the next
        return True

    def seconds_of(self, items: list[Any]) -> dict[str, Duration]:
        """How long each test takes without a fault; they must all pass. All children have imported what they import."""
        source, sink = os.pipe()
        child = os.fork()
        if not child:
            found = {}
            for k, item in enumerate(items):
                start, worked = time.monotonic(), time.process_time()
                if self.fails(item, items[k + 1 : k + 2]):
                    os._exit(1)
                found[item.nodeid] = time.monotonic() - start, time.process_time() - worked
            with os.fdopen(sink, "w") as file:
                json.dump([found, sorted(name for name in sys.modules if name.partition(".")[0] in ONCE)], file)
            os._exit(0)
        os.close(sink)
        with os.fdopen(source) as file:
            text = file.read()
        os.waitpid(child, 0)
        if not text:
            raise AssertionError(f"the tests of {self.module} fail without a fault")
        durations, modules = json.loads(text)
        for name in modules:
            importlib.import_module(name)
        return {test: Duration(*seconds) for test, seconds in durations.items()}

    def killer(
        self, items: list[Any], seconds: Mapping[str, Duration], code: Mapping[tuple[str, int], CodeType]
    ) -> int | None:
        """Which test finds the fault, if one does; one that never ends is found by its time."""
        source, sink = os.pipe()
        child = os.fork()
        if not child:
            try:
                plant(self.module, code)
                for k, item in enumerate(items):
                    os.write(sink, b"t")
                    clock, processor = seconds[item.nodeid]
                    signal.setitimer(signal.ITIMER_PROF, PATIENCE + 10 * processor)
                    signal.alarm(int(WAITING + 20 * clock))
                    if self.fails(item, items[k + 1 : k + 2]):
                        os._exit(FOUND)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(sink)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status not in (0, FOUND, *ENDLESS):
            raise AssertionError(f"a fault of {self.module} could not be tried: status {status}")
        with os.fdopen(source, "rb") as file:
            return len(file.read()) - 1 if status else None

    def fails(self, item: Any, following: list[Any]) -> bool:
        self.failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[0] if following else None)
        return self.failed


def survivors_inside(module: str, every: list[tuple[str, ast.Module]], tests: list[str]) -> list[str]:
    """The faults inside functions that no test finds, from a child of this process."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        plugin = Planting(module, every)
        status = _tested(tests, plugin)
        os.write(sink, json.dumps(plugin.survivors).encode())
        os._exit(status)
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        content = file.read()
    if os.waitpid(child, 0)[1] or not content:
        raise AssertionError(f"the tests of {module} do not run without a fault")
    found: list[str] = json.loads(content)
    return found


# --- a fault outside of functions: planted while the module is imported --------------------------------------


class Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with its fault."""

    def __init__(self, module: str, code: CodeType) -> None:
        self.module, self.code = module, code

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name != self.module:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(_file(name)))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(_file(self.module))
        exec(self.code, vars(module))


def survives_import(module: str, tree: ast.Module, tests: list[str]) -> bool:
    """Whether no test notices, in a process that has not yet imported the package."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(10 * SECONDS)
    sys.meta_path.insert(0, Planted(module, compile(tree, str(_file(module)), "exec")))
    os._exit(_tested(tests))


def _tested(tests: list[str], *plugins: object) -> int:
    import pytest

    os.environ["HYPOTHESIS_PROFILE"] = "unshrunk"
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    base = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    words = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", f"--basetemp={base}/t", *tests]
    try:
        return int(pytest.main(words, plugins=list(plugins)))
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _file(module: str) -> Path:
    return SOURCE.joinpath(*module.split(".")).with_suffix(".py")


def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text("utf-8"))


@cache
def _compiled(module: str) -> CodeType:
    return compile(_file(module).read_text("utf-8"), str(_file(module)), "exec")


def survivors_of(module: str, tests: list[str]) -> tuple[int, list[str]]:
    """How many faults of a module are planted, and those that its tests do not find."""
    every = list(faults(module))
    inside = [fault for fault in every if planted(module, fault[1])]
    outside = [fault for fault in every if not planted(module, fault[1])]
    found = survivors_inside(module, inside, tests)
    return len(every), found + [what for what, tree in outside if survives_import(module, tree, tests)]


def unknown_equivalents() -> set[str]:
    """What EQUIVALENT lists and no module can have any more."""
    modules = [module for group in TARGETS.values() for module in group]
    return {*EQUIVALENT} - {_key(module, what) for module in modules for _, what, _ in places(_tree(module))}


def main(words: list[str]) -> int:
    import flint  # noqa: F401 - imported once, for all children
    import numpy  # noqa: F401

    os.chdir(ROOT)
    every = {module: tests for group in TARGETS.values() for module, tests in group.items()}
    wanted = [module for name, group in TARGETS.items() for module in group if {name, module} & {*words}] or [*every]
    unfound = 0
    for module in wanted:
        count, survivors = survivors_of(module, every[module])
        unfound += len(survivors)
        _say(f"{module}: {count} faults, {count - len(survivors)} found")
        for what in survivors:
            _say(f"  survived {_key(module, what)} (line {what.partition(':')[0]})")
    return int(unfound > 0)


def _say(*words: str) -> None:
    print(*words, flush=True)  # noqa: T201 - a script for people


def _key(module: str, what: str) -> str:
    """A fault without its line, which moves."""
    return f"{module}:{what.partition(': ')[2]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
