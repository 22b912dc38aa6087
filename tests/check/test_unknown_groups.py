"""Records of groups that the data holds, in the browser."""

import copy
import json

import pytest

import inbounds as ib
from releases.test_unknown_groups import (  # noqa: F401 - a fixture
    FORGERIES,
    ODD,
    STRANGE,
    forge,
    frame,
    many,
    released,
)

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


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_browser_reads_keys_that_look_like_something_else_and_no_numbers_of_nobody(kind, checker, tmp_path):
    strange = frame([(f"p{k}", STRANGE[k % len(STRANGE)], k % 3 > 0) for k in range(600)])
    nobody = frame([("p", "a", True)]).assign(size="small", age=1)
    made = (
        ib.release(many(), strange, cache=tmp_path),
        ib.release(many(**ODD), nobody, cache=tmp_path, allow_useless=True),
    )
    written = [done.write(tmp_path / f"{k}.{kind}").path for k, done in enumerate(made)]
    records = [json.loads(path.with_name(path.name + ".release.json").read_text()) for path in written]
    verdicts = checker.judged_together([[r, path.read_bytes()] for r, path in zip(records, written, strict=True)])
    assert [verdict[:2] for verdict in verdicts] == [("partly", True)] * 2, verdicts
