"""Old import paths: what moved is found under the names it had in version 0.1, for ever."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "inbounds.adapters": "inbounds.mechanism.adapters",
    "inbounds.attack.chain": "inbounds.accounting.chain",
    "inbounds.attack.compose": "inbounds.accounting.compose",
    "inbounds.attack.enumerated": "inbounds.accounting.enumerated",
    "inbounds.attack.figures": "inbounds.report.many_answers",
    "inbounds.attack.multilevel": "inbounds.accounting.multilevel",
    "inbounds.attack.pairs": "inbounds.accounting.pairs",
    "inbounds.attack.record": "inbounds.accounting.record",
    "inbounds.audit": "inbounds.mechanism.audit",
    "inbounds.bayes": "inbounds.mechanism.bayes",
    "inbounds.cauchy": "inbounds.sideinfo.cauchy",
    "inbounds.certify": "inbounds.trusted.certify",
    "inbounds.clamped": "inbounds.mechanism.clamped",
    "inbounds.cli.asking": "inbounds.cli.query_options",
    "inbounds.cli.told": "inbounds.cli.release",
    "inbounds.collect": "inbounds.local.collector",
    "inbounds.compare": "inbounds.read.compare",
    "inbounds.design.bound": "inbounds.design.bounds.bound",
    "inbounds.design.chains": "inbounds.design.routes.chains",
    "inbounds.design.counts": "inbounds.design.routes.counts",
    "inbounds.design.duality": "inbounds.design.bounds.duality",
    "inbounds.design.everyone": "inbounds.design.routes.everyone",
    "inbounds.design.fallback": "inbounds.design.routes.fallback",
    "inbounds.design.fill": "inbounds.design.routes.fill",
    "inbounds.design.flowchart": "inbounds.design.routes.flowchart",
    "inbounds.design.folded": "inbounds.design.routes.folded",
    "inbounds.design.geometric": "inbounds.design.routes.geometric",
    "inbounds.design.highs": "inbounds.design.solver.highs",
    "inbounds.design.master": "inbounds.design.solver.master",
    "inbounds.design.polish": "inbounds.design.solver.polish",
    "inbounds.design.pricing": "inbounds.design.solver.pricing",
    "inbounds.design.program": "inbounds.design.routes.program",
    "inbounds.design.rays": "inbounds.design.routes.rays",
    "inbounds.design.rows": "inbounds.design.routes.rows",
    "inbounds.design.simplex": "inbounds.design.solver.simplex",
    "inbounds.design.stairs": "inbounds.design.routes.stairs",
    "inbounds.distance": "inbounds.local.distance",
    "inbounds.estimate": "inbounds.local.reconstruct",
    "inbounds.exactly": "inbounds.mechanism.exactly",
    "inbounds.law": "inbounds.mechanism.law",
    "inbounds.neighbours": "inbounds.query.neighbours",
    "inbounds.prerounding": "inbounds.sideinfo.rounding",
    "inbounds.promise": "inbounds.read.promise",
    "inbounds.recommend": "inbounds.read.recommend",
    "inbounds.release": "inbounds.tables",
    "inbounds.sample": "inbounds.trusted.sample",
    "inbounds.sensitivity": "inbounds.sideinfo.sensitivity",
    "inbounds.smooth": "inbounds.sideinfo.smooth",
    "inbounds.spelling": "inbounds.mechanism.spelling",
    "inbounds.tables.credible": "inbounds.tables.answer",
    "inbounds.tables.csvfile": "inbounds.tables.sources.csvfile",
    "inbounds.tables.drafting": "inbounds.tables.plan.drafting",
    "inbounds.tables.expression": "inbounds.tables.condition",
    "inbounds.tables.formulas": "inbounds.tables.write",
    "inbounds.tables.frames": "inbounds.tables.sources.frames",
    "inbounds.tables.grammar": "inbounds.tables.condition.grammar",
    "inbounds.tables.inputs": "inbounds.tables.plan.reading",
    "inbounds.tables.lines": "inbounds.tables.errors",
    "inbounds.tables.oneline": "inbounds.tables.plan.oneline",
    "inbounds.tables.reading": "inbounds.tables.plan.reading",
    "inbounds.tables.sizes": "inbounds.tables.keys",
    "inbounds.tables.source": "inbounds.tables.sources.source",
    "inbounds.tables.together": "inbounds.tables.reopen",
    "inbounds.tables.wishes": "inbounds.tables.designs",
    "inbounds.tables.words": "inbounds.tables.record",
    "inbounds.utility": "inbounds.mechanism.measures",
}
"""Modules and packages, by the names they had."""

SPLIT = {
    "inbounds.exact": ("inbounds.numbers", "inbounds.trusted.bounds", "inbounds.mechanism.repair"),
    "inbounds.scale": ("inbounds.trusted.scale", "inbounds.query.cells"),
    "inbounds.tables.facts": ("inbounds.tables.columns", "inbounds.tables.keys"),
}
"""Modules whose contents went to several."""


NAMES = {
    "inbounds.files": ("inbounds.mechanism.passport", "inbounds.mechanism.reading"),
    "inbounds.tables.record": ("inbounds.tables.reopen",),
}
"""Modules that stayed while some of their names went elsewhere."""


def old_name(module: str, name: str) -> Any:
    """What a module's name stood for in version 0.1."""
    for place in () if name.startswith("_") else NAMES[module]:
        found = getattr(import_module(place), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def new_name(name: str) -> str | None:
    """Where a module is now, None if it did not move."""
    old = name
    while old:
        if old in MOVED:
            return MOVED[old] + name[len(old) :]
        old = old.rpartition(".")[0]
    return None


class _Redirect(Loader):
    """Puts the module that is meant under the old name."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name in SPLIT:
            for part in SPLIT[name]:
                module.__dict__.update({k: v for k, v in vars(import_module(part)).items() if not k.startswith("__")})
            return
        found = new_name(name)
        assert found is not None
        sys.modules[name] = import_module(found)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in SPLIT and new_name(fullname) is None:
            return None
        return ModuleSpec(fullname, _Redirect(), is_package=True)


class _Package(ModuleType):
    """The package: importing `inbounds.compare` by its old path must not replace the function `ib.compare`."""

    def __setattr__(self, name: str, value: object) -> None:
        moved = isinstance(value, ModuleType) and value.__name__ != f"{self.__name__}.{name}"
        if not (moved and name in self.__all__):
            super().__setattr__(name, value)


def keep_old_paths(package: str) -> None:
    """Let imports by the old names succeed."""
    sys.modules[package].__class__ = _Package
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # else a folder's new name would find its files once more, as other modules
