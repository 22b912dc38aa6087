"""Tables that were drawn in levels, for readers who are trusted differently: recomputed from the draws of the chain."""

import json
from contextlib import closing
from fractions import Fraction

import pytest

import inbounds as ib
from checker.plans import FRAME, plan_of
from checker.released import sign
from inbounds.checker import check_record
from inbounds.errors import PassportError
from inbounds.releases.aggregate import open_plan_source
from inbounds.releases.charge_session import ChargeSession
from inbounds.releases.levels import ChainedDraw
from inbounds.releases.pipeline import PreparedTable, draw_table, to_plan
from inbounds.releases.usefulness import CheckedDesign
from inbounds.releases.workload import ReleaseDesign, Workload
from inbounds.releases.write import write_release

EPSILONS = [Fraction(3), Fraction(1), Fraction(1, 2)]


@pytest.fixture(scope="module", params=[{"count": "c = 'p'"}, {"histogram": "d"}], ids=["count", "histogram"])
def record(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    plan = to_plan(plan_of([request.param], "public", design={"mechanism": "truncated_geometric"}), FRAME)
    designed = ReleaseDesign.from_workload(Workload.from_plan(plan), folder / "designs")
    design = CheckedDesign.from_design(designed, folder, allow_useless=True)
    with closing(open_plan_source(plan)) as source, ChargeSession.open(plan, None, None, None) as session:
        prepared = PreparedTable(design, ChainedDraw.from_design(designed, EPSILONS), source)
        kept = draw_table(session, prepared, session.charge())
    write_release(kept.table, kept.record, folder / "released.csv")
    return folder / "released.csv.release.json"


def test_all_levels_are_recomputed(record):
    verdict = ib.verify(record)
    assert verdict.is_valid, verdict.reason
    head, *rows = record.with_name("released.csv").read_text().splitlines()
    assert head.startswith("level of epsilon,")
    assert len(rows) == 4 * len(EPSILONS)


def forge(record, change, tmp_path):
    content = json.loads(record.read_text())["content"]
    change(content)
    signed = sign(content)
    (tmp_path / "released.csv").write_bytes(record.with_name("released.csv").read_bytes())
    (tmp_path / "released.csv.release.json").write_text(json.dumps(signed))
    return signed, tmp_path / "released.csv.release.json"


LIES = {
    "a level at more": lambda content: content["levels"][4].update(epsilon="2"),
    "a level above the plan": lambda content: [line.update(level="9", epsilon="9") for line in content["levels"][:3]],
    "levels that rise": lambda content: content["levels"].reverse(),
    "another size": lambda content: content["levels"][0].update(size=9),
    "a level left out": lambda content: content["levels"].pop(),
    "no levels": lambda content: content.pop("levels"),
    "chains of one level apart": lambda content: content["levels"][5].update(sha256="0" * 64),
    "a draw": lambda content: content["draws"].update(
        {name: " ".join([*line.split(" ")[::-1], "1"]) for name, line in content["draws"].items()}
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_levels_that_the_plan_does_not_allow_are_refused_by_rules_of_our_own(record, lie, tmp_path):
    content, file = forge(record, LIES[lie], tmp_path)
    with pytest.raises(PassportError):
        check_record(content)
    assert not ib.verify(file).is_valid


def test_a_chain_that_is_not_the_one_stated_is_refused(record, tmp_path):
    lie = lambda content: [line.update(sha256="0" * 64) for line in content["levels"]]  # noqa: E731
    assert not ib.verify(forge(record, lie, tmp_path)[1]).is_valid


def test_a_changed_cell_of_a_lower_level_is_refused(record, tmp_path):
    table = record.with_name("released.csv").read_text().splitlines()
    cells = table[-1].split(",")
    cells[4] = str(int(cells[4]) + 1)
    text = "\n".join([*table[:-1], ",".join(cells)]) + "\n"
    (tmp_path / "released.csv").write_text(text)
    file = tmp_path / "released.csv.release.json"
    file.write_text(json.dumps(sign(json.loads(record.read_text())["content"], text.encode())))
    assert not ib.verify(file).is_valid
