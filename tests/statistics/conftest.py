"""What tests of statistics share with those of releases."""

from releases.conftest import checks  # noqa: F401 - a fixture
