"""Files of statistics packages: a release takes names and cells, a draft also labels and missing codes."""

import tomllib
from datetime import date

import pytest

from inbounds.plan.draft import draft_plan
from inbounds.sources.open import Source, column_names, open_table
from sources.reading import read_cells

pandas, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")

FRAME = pandas.DataFrame(
    {
        "region": ["Øst", "b", "", "d"],
        "sex": [1.0, 2.0, -9.0, None],
        "day": [date(2024, 1, 31), None, date(2020, 2, 2), date(1950, 12, 1)],
    }
)
TEXTS = {
    "region": ["Øst", "b", "", "d"],
    "sex": ["1", "2", "-9", None],
    "day": ["2024-01-31", None, "2020-02-02", "1950-12-01"],
}


def write(path):
    if path.suffix == ".sav":
        labels, missing = {1.0: "female", 2.0: "male", -9.0: "refused"}, [-9, {"lo": -99, "hi": -90}]
        pyreadstat.write_sav(FRAME, path, variable_value_labels={"sex": labels}, missing_ranges={"sex": missing})
    elif path.suffix == ".dta":
        pyreadstat.write_dta(FRAME, path)
    else:
        pyreadstat.write_xport(FRAME.replace({"Øst": "East"}), path)
    return Source(path=str(path))


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt"])
def test_cells_are_read_as_texts_and_codes_stay_codes(tmp_path, ending):
    source = write(tmp_path / f"t{ending}")
    cells = read_cells(source)
    expected = TEXTS if ending != ".xpt" else {**TEXTS, "region": ["East", "b", "", "d"]}
    assert cells == expected
    assert column_names(source, open_table(source)) == ["region", "sex", "day"]


def test_bytes_that_are_not_in_the_encoding_of_the_file_become_question_marks(tmp_path):
    source = write(tmp_path / "t.sav")
    content = (tmp_path / "t.sav").read_bytes()
    (tmp_path / "t.sav").write_bytes(content.replace("Øst".encode(), b"\xff\xfest"))
    assert read_cells(source)["region"] == ["\ufffd\ufffdst", "b", "", "d"]


def test_a_draft_copies_labels_and_missing_codes_with_a_warning(tmp_path):
    draft = draft_plan(write(tmp_path / "t.sav"), tmp_path / "plan.toml")
    column = tomllib.loads(draft)["columns"]["sex"]
    assert column["labels"] == {"1": "female", "2": "male"}
    assert "-9" in column["missing_codes"]
    assert "Software often makes such lists from the data" in draft
    assert tomllib.loads(draft)["draft"] is True
