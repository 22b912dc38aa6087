"""make bench: every comparison in one run, printed and written to bench/results/benchmarks.md."""

from harness import RESULTS, Row, in_own_process, machine, table


def gather(script: str, arguments: list[list[str]]) -> tuple[list[Row], list[str]]:
    rows, skipped = [], []
    for words in arguments:
        found, reason = in_own_process(script, *words)
        rows += found
        skipped += [reason] if reason else []
    return rows, skipped


def main() -> None:
    sampling, missing = gather("sampling.py", [["inbounds"], ["numpy"], ["opendp"], ["diffprivlib"]])
    certifying, more = gather("certifying.py", [[]])
    parts = [
        f"# Benchmarks\n\n{machine()}\n",
        table("Sampling, million values a second", sampling, unit="M/s"),
        table("Certifying", certifying),
        *(f"- {reason}\n" for reason in missing + more),
    ]
    text = "\n".join(parts)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "benchmarks.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
