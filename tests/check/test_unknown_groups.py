"""Records of groups that the data holds, in the browser."""

import copy
import json

import pytest

import inbounds as ib
from releases.test_unknown_groups import FORGERIES, forge, frame, many, released  # noqa: F401 - a fixture

pytestmark = pytest.mark.browser


def test_the_browser_accepts_the_release_and_no_forgery(checker, released):  # noqa: F811
    record, table = json.loads((released / "t.csv.release.json").read_text()), (released / "t.csv").read_bytes()
    passports = [file.read_bytes() for file in (released / "passports").iterdir()]
    forged = [forge(copy.deepcopy(record), change) for change in FORGERIES.values()]
    verdicts = checker.judged_together(
        [[record, table], [record, table, *passports], *([lie, table] for lie in forged)]
    )
    assert [verdict for verdict, _, _ in verdicts[:2]] == ["partly", "partly"], verdicts[:2]
    assert all(private for _, private, _ in verdicts[:2])
    assert [name for name, said in zip(FORGERIES, verdicts[2:], strict=True) if said[0] != "refused"] == []


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_browser_reads_a_table_without_any_group(kind, checker, tmp_path):
    done = ib.release(many(), frame([("p", "a", True)]), cache=tmp_path).write(tmp_path / f"t.{kind}")
    record = json.loads((tmp_path / f"t.{kind}.release.json").read_text())
    ((verdict, private, said),) = checker.judged_together([[record, done.path.read_bytes()]])
    assert (verdict, private) == ("partly", True), said
