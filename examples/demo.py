"""make demo: private counts of small groups from real data, five ways to make them, one table to choose from."""

import sys

import numpy as np
from rich.console import Console

import inbounds as ib
from inbounds.data import adult
from inbounds.report import terminal, words

SIZE, EPSILON = 20, 1
out = Console(highlight=False, width=min(Console().width, 110))


def groups_of_adults() -> np.ndarray:
    """How many of each 20 consecutive people of the Adult data earn more than 50,000 dollars a year."""
    high = adult().high_income
    groups = len(high) // SIZE
    return high[: groups * SIZE].reshape(groups, SIZE).sum(axis=1)


def mechanisms() -> dict[str, ib.Mechanism]:
    """The usual way first, then ours."""
    query = ib.count(SIZE)
    return {
        "clamped Laplace": ib.catalog.snapped_laplace(query, EPSILON),
        "truncated geometric": ib.catalog.truncated_geometric(query, EPSILON),
        "explicit fair": ib.catalog.explicit_fair(query, EPSILON),
        "optimal, absolute error": ib.optimal(query, EPSILON),
        "optimal, fair and monotone": ib.catalog.variant_2(query, EPSILON),
    }


def measured(truth: np.ndarray, mechanism: ib.Mechanism) -> list[str]:
    """Averages over all groups and a hundred releases, beside the tight epsilon of the mechanism."""
    error = mechanism.sample(np.tile(truth, 100)) - np.tile(truth, 100)
    return [
        f"{np.abs(error).mean():.3f}",
        f"{np.sqrt((error**2).mean()):.3f}",
        f"{(error == 0).mean():.1%}",
        f"{mechanism.worst_loss():.3f}",
        f"{mechanism.effective_epsilon():.6g}",
    ]


def main() -> None:
    truth, made = groups_of_adults(), mechanisms()
    best = made["optimal, fair and monotone"]
    out.print(
        f"[bold]How many of {SIZE} people earn over 50,000 dollars?[/] {len(truth)} groups of the Adult data\n"
    )
    rows = [
        [f"group {k + 1}", str(truth[k]), *(str(m.sample(int(truth[k]))) for m in made.values())] for k in range(8)
    ]
    out.print(terminal.columns(f"One private release, epsilon {EPSILON}", ["", "true", *made], rows))
    out.print("[dim]The true column is shown because this is a public data set; a release would not have it.[/]\n")
    names = ["mechanism", "mean error", "RMSE", "exactly right", "worst answer", "tight epsilon"]
    table = [[name, *measured(truth, mechanism)] for name, mechanism in made.items()]
    out.print(terminal.columns(f"All {len(truth)} groups, released 100 times each", names, table))
    out.print(
        terminal.heatmap(best, "\nWhat is reported (down) for each true count (across): optimal, fair and monotone")
    )
    out.print(f"\n{words.promise(best)}")
    best.save("demo-mechanism.json")
    out.print("Proof: [bold].venv/bin/inbounds verify demo-mechanism.json[/]")
    try:
        from inbounds.report.figures import heatmaps
    except ImportError:
        sys.exit(0)
    chosen = ("clamped Laplace", "optimal, absolute error", "optimal, fair and monotone")
    heatmaps([made[name] for name in chosen], chosen).savefig("demo.png", dpi=110)
    out.print("Picture: [bold]demo.png[/]")


if __name__ == "__main__":
    main()
