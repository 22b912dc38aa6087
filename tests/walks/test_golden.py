"""The golden files themselves: all are compared, and a difference is seen."""

import re
from pathlib import Path

import pytest

import inbounds as ib
from golden import TEXTS, Golden, without_varying
from raising import rejects

TESTS = Path(__file__).parents[1]


def test_every_golden_file_is_named_by_a_test() -> None:
    named = {
        name
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r"golden(?:\.(?:parts|errors))?\(\s*\"([a-z_]+)\"", file.read_text("utf-8"))
    }
    assert {file.stem for file in TEXTS.iterdir()} == named


def test_another_text_and_a_missing_file_fail_and_an_update_writes_the_file(tmp_path: Path) -> None:
    compare, update = Golden(False, tmp_path), Golden(True, tmp_path)
    with pytest.raises(pytest.fail.Exception):
        compare("text", "one")
    update("text", "one")
    compare("text", "one \n")
    with rejects(pytest.fail.Exception, about="-one\n+two"):
        compare("text", "two")
    update.parts("text", {"a": "1", "b": "2"})
    assert (tmp_path / "text.txt").read_text() == "=== a\n1\n\n=== b\n2\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"inbounds {ib.__version__}", "inbounds <version>"),
        (f"sha256 {'0a' * 32}", "sha256 <sha256>"),
        ("at 2026-11-02 10:15 UTC", "at <time> UTC"),
        ("at 2026-11-02T10:15:01.25+00:00.", "at <time>."),
        ("(gap 2.7e-14)", "(gap <gap>)"),
        ("within 429 units of 2^-62", "within <units> of 2^-62"),
        ("epsilon 1.0 on 2026-11-02: 10:15", "epsilon 1.0 on 2026-11-02: 10:15"),
    ],
)
def test_only_versions_digests_times_and_what_rounding_leaves_are_replaced(one: str, other: str) -> None:
    assert without_varying(one) == f"{other}\n"


def test_errors_are_compared_by_type_and_message_under_the_line_that_raises_them(tmp_path: Path) -> None:
    compare, update, missing = Golden(False, tmp_path), Golden(True, tmp_path), tmp_path / "missing"
    update.errors(
        "errors",
        [
            lambda: int("x"),
            lambda: missing.read_text(),
        ],
        hide=[tmp_path],
    )
    assert (tmp_path / "errors.txt").read_text() == (
        "=== int(\"x\")\nValueError: invalid literal for int() with base 10: 'x'\n\n"
        "=== missing.read_text()\nFileNotFoundError: [Errno 2] No such file or directory: '…/missing'\n"
    )
    with pytest.raises(pytest.fail.Exception):
        compare.errors("errors", [lambda: int("x")])


def test_a_call_that_raises_nothing_is_no_golden_error(tmp_path: Path) -> None:
    with rejects(pytest.fail.Exception, "nothing was raised:"):
        Golden(True, tmp_path).errors("errors", [lambda: int("1")])
    assert not (tmp_path / "errors.txt").exists()
