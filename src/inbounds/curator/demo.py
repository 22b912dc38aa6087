"""A demonstration curator: embedded data, an analyst and an owner, everything in one folder."""

from pathlib import Path

import numpy as np

from inbounds.curator.curator import Curator
from inbounds.curator.settings import load_settings
from inbounds.data import adult
from inbounds.optional import import_optional

AGES = {"17-24": 25, "25-34": 35, "35-44": 45, "45-54": 55, "55-64": 65, "65 and more": 1000}
"""Age groups, and where each ends."""

SETTINGS = f"""\
# The curator of `inbounds curator serve --demo`: {len(AGES) * 2} groups of people of the UCI "Adult" data.

[datasets.adult]
title = "32,561 people of the 1994 US census: age, sex and income (UCI Adult)"
edition = "1994"

[datasets.adult.source]
path = "adult.parquet"

[datasets.adult.people]
name = "adults"

[datasets.adult.budget]
epsilon = 10

[datasets.adult.groups]
by = ["sex", "age_group"]
keys = {{ sex = ["female", "male"], age_group = {list(AGES)} }}
max_size = 6000

[datasets.adult.columns.age]
low = 17
high = 90

[datasets.adult.columns.sex]
labels = ["female", "male"]

[datasets.adult.columns.income]
labels = ["at most 50K", "above 50K"]
"""

FILE = "curator.toml"


def write_demo(folder: Path) -> Path:
    """Write the data and the settings to a folder unless they are there; return the settings' file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    if not file.exists():
        _write_data(folder / "adult.parquet")
        file.write_text(SETTINGS, "utf-8")
    return file


def open_demo(folder: Path, cap: str = "5") -> tuple[Curator, dict[str, str]]:
    """Open the curator of a folder; return it with the tokens of accounts that are new."""
    curator = Curator(load_settings(write_demo(folder)))
    names = {account.name for account in curator.accounts()}
    tokens = {}
    if "analyst" not in names:
        tokens["analyst"] = curator.add_account("analyst", {"adult": cap})
    if "owner" not in names:
        tokens["owner"] = curator.add_account("owner", role="owner")
    return curator, tokens


def _write_data(file: Path) -> None:
    pyarrow, people = import_optional("pyarrow", "curator"), adult()
    import_optional("pyarrow.parquet", "curator")
    groups = np.array(list(AGES))[np.searchsorted(list(AGES.values()), people.age, side="right")]
    table = pyarrow.table(
        {
            "age": people.age,
            "sex": np.where(people.male, "male", "female"),
            "age_group": groups,
            "income": np.where(people.high_income, "above 50K", "at most 50K"),
        }
    )
    pyarrow.parquet.write_table(table, file)
