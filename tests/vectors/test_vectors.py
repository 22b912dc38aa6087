"""Python's checker on the vectors; the folders `proof` and `check` have the same test for the other two."""

import pytest

from inbounds.errors import PassportError
from inbounds.mechanism import load
from vectors.write import FOLDER, LAWS, listed


@pytest.mark.parametrize("file", listed("accept"), ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_python_accepts(file):
    load.PASSPORT.read(file)


@pytest.mark.parametrize("file", listed("refuse"), ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_python_refuses(file):
    with pytest.raises(PassportError):
        load.PASSPORT.read(file)
    with pytest.raises(PassportError):
        load.certify_law_only(file)


@pytest.mark.parametrize("law", LAWS)
def test_the_files_are_those_that_are_written(law):
    written = {f"{verdict}/{name}.json" for verdict, name, _ in LAWS[law]()}
    assert {str(file.relative_to(FOLDER / law)) for file in (FOLDER / law).glob("*/*.json")} == written
