"""Mutation testing of the ledger and the checkers: small faults planted one at a time, each to be found by the tests.

    python tests/mutants.py [ledger | checkers | MODULE …] [--part 1/4]

A fault is one comparison, connective, negation, sum or whole number changed, one refusal left out, or one comparison
inside a statement of SQL changed. Every fault runs the fast tests of its module in a process of its own and must make
one of them fail. A survivor that no test can tell apart is listed in EQUIVALENT with the reason; any other is printed
and makes the script exit with 1.
"""

import ast
import copy
import importlib.abc
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
SECONDS = 180

TARGETS = {
    "ledger": {
        "inbounds.ledger.amounts": ["tests/ledger/test_ledger.py"],
        "inbounds.ledger.entries": ["tests/ledger/test_ledger.py"],
        "inbounds.ledger.people": ["tests/ledger/test_ledger.py", "tests/ledger/test_ledger_release.py"],
        "inbounds.ledger.checking": ["tests/ledger/test_ledger.py"],
        "inbounds.ledger.ledger": ["tests/ledger/test_ledger.py", "tests/ledger/test_ledger_machine.py"],
        "inbounds.ledger.sqlite": ["tests/ledger/test_ledger.py", "tests/ledger/test_ledger_power.py"],
        "inbounds.ledger.importing": ["tests/ledger/test_ledger_release.py"],
        "inbounds.tables.booking": ["tests/ledger/test_ledger_release.py"],
    },
    "checkers": {
        "inbounds.trusted.certify": ["tests/test_certify.py", "tests/test_exact.py"],
    },
}

EQUIVALENT: dict[str, str] = {
    "inbounds.ledger.amounts:4096 + 1": "how many prices are remembered",
    "inbounds.ledger.checking:4096 + 1": "how many prices are remembered",
}
"""Survivors that change no verdict: the fault as it is printed, and why it cannot be seen."""

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip
SQL = (("SELECT ", "UPDATE "), ((">=", ">"), (" > ?", " >= ?"), ("+ ?", "- ?"), ("DESC", "ASC"), (" AND ", " OR ")))


def faults(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Every fault of a module: what and where it is, and the module with it."""
    for k, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node):
            other = copy.deepcopy(tree)
            twin = next(n for i, n in enumerate(ast.walk(other)) if i == k)
            change(twin)
            yield f"{getattr(node, 'lineno', 0)}: {what}", ast.fix_missing_locations(_without_refusals(other))


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    text = ast.unparse(node) if isinstance(node, ast.expr | ast.Raise) else ""
    if isinstance(node, ast.Compare):
        for j, op in enumerate(node.ops):
            if type(op) in SWAPS:
                yield f"{type(op).__name__} in {text}", lambda n, j=j, op=op: n.ops.__setitem__(j, SWAPS[type(op)]())
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPS:
        yield f"{type(node.op).__name__} in {text}", lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"not in {text}", lambda n: setattr(n, "op", ast.UAdd()) or setattr(n, "lost", True)
    elif isinstance(node, ast.Raise):
        yield f"left out: {text[:60]}", lambda n: setattr(n, "left_out", True)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} + 1", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(SQL[0]):
        for old, new in SQL[1]:
            if old in node.value:
                yield (
                    f"{old} as {new} in {node.value[:50]!r}",
                    lambda n, old=old, new=new: setattr(n, "value", n.value.replace(old, new, 1)),
                )


def _without_refusals(tree: ast.Module) -> ast.Module:
    class Left(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.stmt:
            return ast.Pass() if hasattr(node, "left_out") else node

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
            self.generic_visit(node)
            return node.operand if hasattr(node, "lost") else node

    changed: ast.Module = Left().visit(tree)
    return changed


class Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with its fault."""

    def __init__(self, module: str, code: object) -> None:
        self.module, self.code = module, code

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self.module:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(_file(name)))

    def exec_module(self, module: object) -> None:
        module.__file__ = str(_file(self.module))  # type: ignore[attr-defined]
        exec(self.code, vars(module))  # type: ignore[arg-type]


def _file(module: str) -> Path:
    return SOURCE.joinpath(*module.split(".")).with_suffix(".py")


def found(module: str, code: object, tests: list[str]) -> bool:
    """Whether the tests notice, in a process that has not yet imported the package."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    import signal

    import pytest

    signal.alarm(SECONDS)  # a fault that never ends is found as well
    sys.meta_path.insert(0, Planted(module, code))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    base = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    words = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", f"--basetemp={base}/t", *tests]
    code_of = int(pytest.main(words))
    import shutil

    shutil.rmtree(base, ignore_errors=True)
    os._exit(code_of)


def main(words: list[str]) -> int:
    import flint  # noqa: F401 - imported once, for all children
    import numpy  # noqa: F401

    part, parts = (int(x) for x in (words[words.index("--part") + 1] if "--part" in words else "1/1").split("/"))
    os.chdir(ROOT)
    every = {module: (name, tests) for name, group in TARGETS.items() for module, tests in group.items()}
    asked = {module: tests for module, (name, tests) in every.items() if name in words or module in words}
    wanted = asked or {module: tests for module, (_, tests) in every.items()}
    count, survivors = 0, []
    for module, tests in wanted.items():
        if found(module, compile(_file(module).read_text("utf-8"), str(_file(module)), "exec"), tests):
            return _say(f"the tests of {module} fail without a fault") or 2
        for k, (what, tree) in enumerate(faults(ast.parse(_file(module).read_text("utf-8")))):
            name = f"{module}:{what}"
            if k % parts != part - 1:
                continue
            count += 1
            if not found(module, compile(tree, str(_file(module)), "exec"), tests):
                survivors.append(name)
                _say("survived" if _key(name) not in EQUIVALENT else "equivalent", name)
    open_ones = [name for name in survivors if _key(name) not in EQUIVALENT]
    _say(f"{count} faults, {count - len(survivors)} found, {len(survivors) - len(open_ones)} equivalent, {open_ones=}")
    return int(bool(open_ones))


def _say(*words: str) -> None:
    print(*words, flush=True)  # noqa: T201 - a script for people


def _key(name: str) -> str:
    """A fault without its line, which moves."""
    module, _, rest = name.partition(":")
    return f"{module}:{rest.partition(': ')[2]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
