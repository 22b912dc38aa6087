"""The heatmap of a terminal tells what the page tells."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.report.terminal import SHADES, heatmap, scale, shade


def lines(n: int, epsilon: str = "1") -> tuple[ib.Mechanism, list[str]]:
    mechanism = ib.catalog.truncated_geometric(ib.count(n), epsilon)
    return mechanism, heatmap(mechanism).plain.splitlines()


def test_reports_go_up_and_true_answers_across_as_on_the_page():
    mechanism, (head, *rows, ticks, across, _) = lines(4)
    assert head == "published"
    assert [row.split()[0] for row in rows] == list("43210")
    assert (ticks.split(), across.strip()) == (list("01234"), "true answer")
    told = np.array([[float(text) for text in row.split()[1:]] for row in rows])
    assert told == pytest.approx(mechanism.matrix[::-1], abs=5e-4)


@pytest.mark.parametrize("n", [15, 35])
def test_every_cell_is_shaded_by_its_probability(n):
    mechanism, (_, *rows, _, _, legend) = lines(n)
    top, width = mechanism.matrix.max(), 2 if n == 15 else 1
    for row, probabilities in zip(rows, mechanism.matrix[::-1], strict=True):
        assert row[4:] == "".join(shade(p, top) * width for p in probabilities)
    assert legend == scale(top, numbers=False)
    assert max(map(len, rows)) <= 80


def test_shades_never_fall_and_only_zero_is_blank():
    shades = [SHADES.index(shade(p, 0.25)) for p in np.linspace(0, 0.25, 1001)]
    assert shades == sorted(shades)
    assert shades.count(0) == 1
    assert set(shades) == set(range(len(SHADES)))


def test_the_scale_names_the_upper_end_of_every_shade():
    for k, part in enumerate(scale(0.25, numbers=False).split("  ")[1:], 1):
        mark, _, end = part.split()
        assert shade(float(end), 0.25) == mark == SHADES[k]


def test_a_tick_stands_under_its_column():
    _, (*_, ticks, _, _) = lines(15)
    assert all(ticks[4 + 2 * k :].startswith(str(k)) for k in range(11))
