"""make studies, third step: the tables of claims on the pages here, from the CSV files of a full run.

python docs/studies/pages.py figures
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from inbounds_studies.claims import Claim, claims
from inbounds_studies.table import Table

HERE = Path(__file__).parent
START, END = "<!-- claims -->", "<!-- end of claims -->"


def page(mine: Sequence[Claim], source: Path) -> str:
    """One paper's claims with the numbers of a run."""
    tables = {claim.study: Table.read((source / f"{claim.study}.csv").read_text()) for claim in mine}
    return _rows(("claim", "verdict", "numbers"), (row(claim, tables[claim.study]) for claim in mine))


def row(claim: Claim, table: Table) -> tuple[str, str, str]:
    """What is claimed and where it was run; what became of it; printed and ours, the paper's mechanism and the best."""
    numbers = [f"printed → ours: {claim.agreement(table)}"] if claim.printed else []
    if claim.beside is not None:
        paper, best = claim.beside.paper(table), claim.beside.best(table)
        numbers.append(f"paper's → best: {paper:.4g} → {best:.4g} ({claim.beside.measure})")
    about = f"**{claim.place}** (`{claim.study}`): {claim.says}"
    return about, f"**{claim.verdict}**: {claim.found}", "<br>".join(numbers)


def index(everything: Sequence[Claim]) -> str:
    """All claims in one list."""
    return _rows(
        ("where", "claimed", "verdict", "test"),
        ((c.place, c.says, f"**{c.verdict}**: {c.found}", f"`{c.test}`") for c in everything),
    )


def _rows(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (names, ["---"] * len(names), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(path: Path, block: str) -> None:
    """Replace what stands between the marks."""
    text = path.read_text()
    before, rest = text.split(START)
    path.write_text(f"{before}{START}\n{block}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    figures = Path(sys.argv[1])
    for paper in sorted({claim.place[:3] for claim in claims()}):
        write(HERE / f"{paper}.md", page([c for c in claims() if c.study.startswith(paper)], figures))
    write(HERE / "index.md", index(claims()))
