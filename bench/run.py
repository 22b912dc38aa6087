"""make bench: every comparison in one run, printed and written to docs/benchmarks (a page a part, growth.png).

`make bench ONLY=designing` runs one part. PATIENCE is the time a peer gets for one design, in seconds.
"""

import os
import re
import sys

from designing import CASES
from harness import RESULTS, Row, in_own_process, machine, table

from inbounds import Reach

PATIENCE = float(os.environ.get("PATIENCE", 60))
SLOWER = ("HiGHS simplex", "HiGHS interior point")
SMALL = ("cvxpy", "qif")


def gather(script: str, arguments: list[list[str]], timeout: float = 600) -> tuple[list[Row], list[str]]:
    rows, skipped = [], []
    for words in arguments:
        found, reason = in_own_process(script, *words, timeout=timeout)
        rows += found
        skipped += [reason] if reason else []
        print(".", end="", file=sys.stderr, flush=True)
    return rows, skipped


def sampling() -> str:
    rows, missing = gather("sampling.py", [["inbounds"], ["numpy"], ["opendp"], ["diffprivlib"]])
    return table("Sampling, million values a second", rows, unit="M/s") + _listed(missing)


def certifying() -> str:
    rows, missing = gather("certifying.py", [[]])
    return table("Certifying", rows) + _listed(missing)


def reading() -> str:
    rows, missing = gather("reading.py", [[]])
    return table("Reading a mechanism", rows) + _listed(missing)


def composing() -> str:
    rows, missing = gather("composing.py", [[]])
    return table("Composing and attacking", rows) + _listed(missing)


def reconstructing() -> str:
    rows, missing = gather("reconstructing.py", [["inbounds"], ["numpy"], ["qif"], ["steps"], ["client"]])
    return table("Reconstructing", rows) + _listed(missing)


def releasing() -> str:
    rows, missing = gather("releasing.py", [[]])
    return table("Releasing a table", rows) + _listed(missing)


def reproducing() -> str:
    rows, missing = gather("reproducing.py", [[]], timeout=1800)
    return table("The five papers", rows) + _listed(missing)


def designing() -> str:
    """Each design by us and by those peers that have a chance to finish it; the papers' program without properties."""
    jobs = []
    for case, (query, _, properties) in CASES.items():
        jobs.append(["inbounds", case])
        if len(query.answers) <= 301:
            jobs += [[who, case] for who in SLOWER]
        if len(query.answers) <= 101:
            chain = not properties and query.neighbours == Reach(1)
            jobs += [[who, case] for who in SMALL if who != "qif" or chain]
    rows, missing = gather("designing.py", jobs, timeout=PATIENCE)
    growth(rows)
    return table("Designing, absolute loss, epsilon 1/2", rows) + _listed(missing) + "\n![growth of time](growth.png)\n"


def growth(rows: list[Row]) -> None:
    """Time against the number of answers, for the two families that grow."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for axis, family in zip(axes, (r"count 0\.\.(\d+)", r"Variant 2, count 0\.\.(\d+)"), strict=True):
        for who in ("inbounds", *SLOWER):
            points = [
                (int(hit[1]), row.seconds) for row in rows if row.who == who and (hit := re.fullmatch(family, row.task))
            ]
            axis.loglog(*zip(*sorted(points), strict=True), marker="o", label=who) if points else None
        axis.set_title("no properties" if "Variant" not in family else "fair, monotone, symmetric")
        axis.set_xlabel("largest count n")
        axis.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds")
    axes[0].legend()
    figure.savefig(RESULTS / "growth.png", dpi=120)


def _listed(reasons: list[str]) -> str:
    return "".join(f"\n- {reason}" for reason in reasons) + "\n"


PARTS = {
    part.__name__: part
    for part in (sampling, certifying, designing, reading, releasing, reconstructing, composing, reproducing)
}


def main(chosen: list[str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    for name in chosen or PARTS:
        text = f"{PARTS[name]()}\n*Measured in one run on {machine()}.*\n"
        (RESULTS / f"{name}.md").write_text(text.replace("### ", "# ", 1), "utf-8")
        print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
