"""make studies, third step: the tables of claims on the pages here, from the CSV files of a full run.

python docs/studies/pages.py figures
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from inbounds_studies.claims import Claim, Numbers, claims
from inbounds_studies.table import Table

HERE = Path(__file__).parent
START, END = "<!-- claims -->", "<!-- end of claims -->"


def page(mine: Sequence[Claim], source: Path) -> str:
    """One paper's statements with numbers, read off the tables of a run."""
    tables = {claim.study: Table.read((source / f"{claim.study}.csv").read_text()) for claim in mine}
    return _rows(("claim", "verdict", "numbers"), (row(claim, tables[claim.study]) for claim in mine))


def row(claim: Claim, table: Table) -> tuple[str, str, str]:
    """What is claimed and where it was run; what became of it; printed and ours, the paper's mechanism and the best."""
    numbers = [f"printed → ours: {claim.numbers.agreement(table)}"] if claim.numbers.printed else []
    if (beside := claim.numbers.beside) is not None:
        paper, best = beside.paper(table), beside.best(table)
        numbers.append(f"paper's → best: {paper:.4g} → {best:.4g} ({beside.measure})")
    about = f"**{claim.place}** (`{claim.study}`): {claim.says}"
    return about, f"**{claim.verdict}**: {claim.found}", "<br>".join(numbers)


def index(everything: Sequence[Claim]) -> str:
    """What is false as printed, then all statements, one table for each paper."""
    wrong = ((c.place, c.says, c.found) for c in everything if c.verdict == "false")
    parts = ["### Errata\n\n" + _rows(("where", "printed", "instead"), wrong)]
    for paper in sorted({claim.place[:3] for claim in everything}):
        mine = [claim for claim in everything if claim.place.startswith(paper)]
        rows = ((c.place[4:], c.says, f"**{c.verdict}**: {c.found}", _basis(c), _tests(c)) for c in mine)
        parts.append(f"### {paper}\n\n" + _rows(("where", "stated", "verdict", "known by", "test"), rows))
    return "\n\n".join(parts)


def _basis(claim: Claim) -> str:
    """How the verdict is known; a proof with its place."""
    if claim.basis != "proof":
        return claim.basis
    titles = re.findall("^### (.+)$", (HERE / "proofs.md").read_text("utf-8"), re.M)
    (title,) = (title for title in titles if claim.id in title.split("; "))
    return f"[proof](proofs.md#{_anchor(title)})"


def _anchor(title: str) -> str:
    """Return what the site makes of a title in an address: letters, digits and single hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _tests(claim: Claim) -> str:
    """The tests as sentences, which break in a narrow column."""
    return "<br>".join(test.removeprefix("test_").replace("_", " ") for test in claim.tests)


def _rows(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (names, ["---"] * len(names), *([cell.replace("|", "\\|") for cell in row] for row in rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(path: Path, block: str) -> None:
    """Replace what stands between the marks."""
    text = path.read_text()
    before, rest = text.split(START)
    path.write_text(f"{before}{START}\n{block}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    figures = Path(sys.argv[1])
    for paper in sorted({claim.place[:3] for claim in claims()}):
        write(
            HERE / f"{paper}.md",
            page([c for c in claims() if c.place.startswith(paper) and c.numbers != Numbers()], figures),
        )
    write(HERE / "index.md", index(claims()))
