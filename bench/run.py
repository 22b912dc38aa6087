"""make bench: every comparison in one run, printed and written to docs/benchmarks.

Parts that write a page of their own (`OWN_PAGES`) come last. Hours on two cores; every part can be run alone.

`run.py designing` measures one part, `run.py --pages` only writes pages and figures from results.json anew.
PATIENCE is the time a peer gets for one design, in seconds.
"""

import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import figures
from harness import Row, machine, measured, one_thread
from pages import Result, index, page, rows_of, table
from parts import PARTS

TARGET = Path(__file__).parents[1] / "docs" / "benchmarks"
RESULTS = TARGET / "results.json"
OWN_PAGES = {
    "sweep": ("ours", "peers", "page"),
    **dict.fromkeys(("local", "covering", "adding", "quantiles", "graphs"), ("",)),
}
"""Scripts that write their pages themselves, and the words that each is run with, one run after the other.

They go on where they stopped; a run of the benchmark begins anew."""


def measure(name: str) -> Result:
    rows: list[Row] = []
    skipped = []
    for words in PARTS[name].jobs:
        found, reason = measured(f"{name}.py", words)
        rows += found
        skipped += [reason] if reason else []
        print(".", end="", file=sys.stderr, flush=True)
    once = list(dict.fromkeys(skipped))  # a peer that is missing is missing in every case
    return {"machine": machine(), "skipped": once, "rows": [asdict(row) for row in rows]}


def write_pages(results: dict[str, Result]) -> None:
    for name, result in results.items():
        (TARGET / f"{name}.md").write_text(page(name, PARTS[name], result), "utf-8")
        if PARTS[name].figure:
            figures.FIGURES[name](rows_of(result)).savefig(TARGET / f"{PARTS[name].figure}.png", dpi=figures.DPI)
    (TARGET / "index.md").write_text(index(results), "utf-8")
    figures.summary(results).savefig(TARGET / "summary.png", dpi=figures.DPI)


def main(words: list[str]) -> None:
    TARGET.mkdir(exist_ok=True)
    one_thread()
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    named = () if words == ["--pages"] else words or (*PARTS, *OWN_PAGES)
    for name in (name for name in named if name in PARTS):
        start = time.perf_counter()
        results[name] = measure(name)
        results = {part: results[part] for part in PARTS if part in results}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        listed = "".join(f"\nskipped: {reason}" for reason in results[name]["skipped"])
        spent = time.perf_counter() - start
        print(f"\n{PARTS[name].title}, {spent:.0f} s\n\n{table(rows_of(results[name]))}{listed}\n", flush=True)
    write_pages(results)
    for name in (name for name in named if name in OWN_PAGES):
        (TARGET / f"{name}.json").unlink(missing_ok=True)
        for stage in OWN_PAGES[name]:
            subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py")), *stage.split()], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
