"""Releases of every kind, made once, and whether forgeries of them are believed."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import inbounds as ib
from checker.forgeries import Forgery, Original
from checker.plans import Case, cases
from checker.released import Published, publish
from inbounds.checker import check_cells, check_record, read_table
from inbounds.errors import PassportError
from inbounds.releases import adjust_reports
from inbounds.releases.accuracy import Coverage, StatisticModel
from inbounds.releases.workload import DesignCache, ReleaseDesign
from inbounds.statistics import ExpectedError
from inbounds.statistics.designs import load_or_design

Publishing = Callable[[Case], Published]


@pytest.fixture(scope="package")
def designs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Designs that releases and their verification share, so that tests are quick; other rooms see nothing of it."""
    folder = tmp_path_factory.mktemp("designs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inbounds.releases.recompute.default_cache_folder", lambda: folder)
        # What would help a useless statistic takes many designs, and is text that no rule of the checker reads.
        patch.setattr("inbounds.releases.usefulness._helps", lambda *given: ("epsilon 6 for the plan",))
        patch.setattr("inbounds.releases.recompute.DesignCache", partial(SharedCache, expected={}, coverage={}))
        # Few simulated groups: the accuracy of vectors is text as well.
        patch.setattr("inbounds.releases.vector_accuracy.STEPS", 1 << 20)
        # A design that is read again is certified again: once for all records that state its digest.
        patch.setattr("inbounds.releases.workload.load_or_design", cache(load_or_design))
        for adjust in ("_levels", "_crosstab"):
            patch.setattr(adjust_reports, adjust, remember_adjusted(getattr(adjust_reports, adjust)))
        yield folder


class SharedCache(DesignCache):
    """What was computed of the accuracy of the same mechanisms, for all records of the same plans."""

    def expected_error(self, model: StatisticModel) -> ExpectedError:
        key = model.key, model.mechanism.sha256
        if key not in self.expected:
            self.expected[key] = model.expected_error()
        return self.expected[key]

    def interval_coverage(self, designed: ReleaseDesign, k: int, s: int) -> Coverage:
        own: Any = self.coverage.setdefault(designed.designs[k][s].sha256, {})  # type: ignore[arg-type]
        return DesignCache(coverage=own).interval_coverage(designed, k, s)


def remember_adjusted(adjust: Callable[..., Any]) -> Callable[..., Any]:
    """Make the same draws add up once, for all records that keep them."""
    known: dict[str, Any] = {}

    def adjust_once(form: Any, statistic: Any) -> Any:
        key = json.dumps([{name: form[name] for name in form if name != "statistics"}, statistic])
        if key not in known:
            known[key] = adjust(form, statistic)
        return known[key]

    return adjust_once


@pytest.fixture(scope="package")
def published(tmp_path_factory: pytest.TempPathFactory, designs: Path) -> Publishing:
    """Releases a case, each once."""
    made: dict[str, Published] = {}

    def find(case: Case) -> Published:
        if case.name not in made:
            made[case.name] = publish(
                tmp_path_factory.mktemp("released"), case.plan, f"released{case.suffix}", cache=designs
            )
        return made[case.name]

    return find


@pytest.fixture(
    params=[pytest.param(case, id=case.name, marks=() if case.quick else pytest.mark.slow) for case in cases()]
)
def original(request: pytest.FixtureRequest, published: Publishing) -> Original:
    found = published(request.param)
    return Original.read(found.record, found.table)


@pytest.fixture
def passing_rules(tmp_path: Path, original: Original) -> Callable[[Iterable[Forgery]], list[str]]:
    """The names of forgeries that pass the checker's own rules."""
    table = tmp_path / f"released{original.suffix}"

    def passes(forgery: Forgery) -> bool:
        table.write_bytes(forgery.table)
        try:
            checked = check_record(forgery.record)
            assert checked.table is not None
            check_cells(checked, read_table(table, checked.table.sha256))
        except PassportError:
            return False
        return True

    return lambda made: [forgery.name for forgery in made if passes(forgery)]


@pytest.fixture
def passing(tmp_path: Path, original: Original) -> Callable[[Iterable[Forgery]], list[str]]:
    """The names of forgeries that pass everything that `verify` does."""
    file, table = tmp_path / "lie.release.json", tmp_path / f"released{original.suffix}"

    def passes(forgery: Forgery) -> bool:
        file.write_text(json.dumps(forgery.record), "utf-8")
        table.write_bytes(forgery.table)
        return ib.verify(file).is_valid

    return lambda made: [forgery.name for forgery in made if passes(forgery)]
