"""Errors of many counts under one (epsilon, delta), beside the Gaussian paths of OpenDP and of dp-accounting.

    python bench/repeated_noise.py          writes docs/benchmarks/repeated-noise.md

Nothing is sampled: errors are those of the laws, all answers equally likely. OpenDP's scale is the least, to 1e-4, for
which its own map of `uses` discrete Gaussians, by concentrated privacy, stays within (epsilon, delta). dp-accounting's
is the same with its privacy-loss distributions. Each law gets what is best for it afterwards: the output with the least
expected error for each of its results, as ours.
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from harness import machine, one_thread

one_thread()

import numpy as np  # noqa: E402
from pages import machine_line, publish  # noqa: E402

import inbounds as ib  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "repeated-noise.md"
USES, RANGES = (10, 20, 50, 100, 200), (200, 1000)
BUDGETS = (("4", "1e-6"), ("1", "1e-6"), ("1", "1e-9"))
CLOSE = 1e-4


def opendp_fits(scale: float, uses: int, epsilon: float, delta: float) -> bool:
    """Whether OpenDP promises (epsilon, delta) of so many discrete Gaussians."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    one = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale)
    together = dp.c.make_zCDP_to_approxDP(dp.c.make_composition([one] * uses))
    return bool(dp.c.make_fix_delta(together, delta).map(1)[0] <= epsilon)


def accountant_fits(scale: float, uses: int, epsilon: float, delta: float) -> bool:
    """Whether dp-accounting finds at most this delta of so many discrete Gaussians."""
    from dp_accounting.pld.privacy_loss_distribution import from_discrete_gaussian_mechanism

    one = from_discrete_gaussian_mechanism(scale, value_discretization_interval=1e-4)
    return bool(one.self_compose(uses).get_delta_for_epsilon(epsilon) <= delta)


def least_scale(fits: Callable[[float], bool]) -> float:
    low, high = 0.1, 1.0
    while not fits(high):
        low, high = high, 2 * high
    while high > low * (1 + CLOSE):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def gaussian_errors(scale: float, size: int) -> tuple[float, float]:
    """The mean error of a discrete Gaussian, and of its best outputs in the range."""
    most = int(12 * scale) + 1
    noise = np.exp(-(np.arange(-most, most + 1) ** 2) / (2 * scale**2))
    noise /= noise.sum()
    answers, values = np.arange(size + 1), np.arange(-most, size + most + 1)
    law = np.zeros((len(values), size + 1))
    for answer in answers:
        law[answer : answer + len(noise), answer] = noise
    best = (law @ np.abs(answers[:, None] - answers)).min(axis=1).sum() / (size + 1)
    return float(noise @ np.abs(np.arange(-most, most + 1))), float(best)


def main() -> None:
    lines, ratios, behind = [], [], []
    for size in RANGES:
        for epsilon, delta in BUDGETS:
            for uses in USES:
                query, total = ib.count(size), Fraction(epsilon)
                parts = ib.optimal(query, total / uses).optimality
                exact, adaptive = (
                    ib.noise_for_uses(query, uses, epsilon, delta, adaptive=how) for how in (False, True)
                )
                peers = []
                for fits in (opendp_fits, accountant_fits):
                    scale = least_scale(lambda s, fits=fits, k=uses, e=float(epsilon), d=float(delta): fits(s, k, e, d))
                    peers.append(gaussian_errors(scale, size))
                assert parts is not None
                numbers = (parts.value, exact.error, adaptive.error, *peers[0], peers[1][1])
                row = (
                    f"0..{size}",
                    epsilon,
                    delta,
                    uses,
                    *(f"{number:.3g}" for number in numbers),
                    f"{exact.shape:.2f}",
                )
                lines.append(f"| {' | '.join(map(str, row))} |")
                ratios.append([peers[0][1] / exact.error, peers[1][1] / exact.error, peers[0][1] / adaptive.error])
                behind.append(exact.error / parts.value - 1)
                print(row, flush=True)
    rows = []
    for name, column in zip(
        ("OpenDP / ours", "dp-accounting / ours", "OpenDP / ours, one order"), zip(*ratios, strict=True), strict=True
    ):
        rows.append(f"| {name} | {min(column):.2f} | {float(np.median(column)):.2f} | {max(column):.2f} |")
    publish(
        PAGE,
        "# Noise for many answers\n\n"
        "The mean error of each of k counts under one (epsilon, delta), all answers equally likely "
        "(`bench/repeated_noise.py`). Equal parts are optimal designs at epsilon / k, without a delta. Ours are "
        "`ib.noise_for_uses`, exactly accounted and at one Rényi order. OpenDP adds discrete Gaussian noise and "
        "converts concentrated privacy; dp-accounting accounts the same noise by privacy-loss distributions. Tumult "
        "Analytics could not be installed here. Peers' results are mapped to the best outputs in the range too; "
        "without that, OpenDP's numbers have the error of the column *unbounded*. All cases are published. Equal parts "
        f"are better in {sum(more > 0 for more in behind)} of {len(behind)} cases, by {max(behind):.1%} at most: few "
        "answers need no delta. The exactly accounted noise, ours or Gaussian, must be declared before; that of one "
        "order need not.\n\n"
        "| error of | least | median | most |\n|---|---|---|---|\n" + "\n".join(rows) + "\n\n## Cases\n\n"
        "| range | epsilon | delta | k | equal parts | ours | ours, one order | OpenDP, unbounded | OpenDP "
        "| dp-accounting | shape |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n" + "\n".join(lines) + f"\n\n{machine_line(machine())}\n",
    )


if __name__ == "__main__":
    main()
