"""Pages, pictures and tables for people: self-contained, complete, true to the numbers."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.evaluate.compare import compare
from inbounds.exact import format_decimal
from inbounds.mechanism.passport import to_passport
from inbounds.report import figures, html, svg, wording
from inbounds.report.templates import pick_evenly
from raising import rejects

c = ib.catalog
ODD_LABELS = ib.category(
    ["plain", '<b>bold</b> & "quoted"', "a label that is much too long to be written out anywhere"]
)

SUBJECTS = {
    "small": lambda: c.explicit_fair(ib.count(5), "0.5"),
    "designed": lambda: ib.optimal(ib.mean(5, 1, 5), "0.5"),
    "larger": lambda: c.truncated_geometric(ib.count(150), "0.5"),
    "labels": lambda: c.randomized_response(ODD_LABELS, 1),
    "cells": lambda: c.snapped_laplace(ib.count(9, outputs=4), 1),
    "metric": lambda: c.truncated_geometric(ib.ordinal(0, 6), 1),
    "noise table": lambda: c.truncated_geometric(ib.count(10**5), 1),
    "comparison": lambda: compare(ib.count(8), "0.5"),
    "compared labels": lambda: compare(ODD_LABELS, 1),
}
VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """Collects tags and text, and insists that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def pages():
    return {name: html.mechanism_page(make()) for name, make in SUBJECTS.items()}


# --- the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_page_is_well_formed_and_asks_nobody_for_anything(pages, name):
    """No script, no address, no image from outside; the policy forbids them as well."""
    page = Page(pages[name])
    assert "script" not in page.tags
    for key, value in page.attributes:
        assert key not in ("src", "srcset", "action", "background", "xlink:href")
        assert not key.startswith("on")
        if key == "href":
            assert value == "data:,"
    assert "http:" not in pages[name].replace("http-equiv", "")
    assert "https:" not in pages[name]
    assert "url(" not in pages[name]
    assert "default-src 'none'" in pages[name]


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_picture_is_well_formed_and_described(pages, name):
    """Each SVG parses as XML and has a label for readers who cannot see it."""
    text = pages[name]
    parts = [text[at : text.index("</svg>", at) + 6] for at in _places(text, "<svg")]
    assert bool(parts) == (name != "noise table")
    for part in parts:
        root = ET.fromstring(part)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert "NaN" not in part
        assert "nan" not in part


def _places(text, needle):
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


@pytest.mark.parametrize("name", [n for n in SUBJECTS if "compar" not in n])
def test_a_mechanism_page_says_what_the_mechanism_promises(pages, name):
    """Promise, relation, proof, digest; numbers as the mechanism gives them."""
    m = SUBJECTS[name]()
    text = Page(pages[name]).text
    assert wording.format_guarantee(m) in text
    assert m.query.describe_neighbours() in text
    assert all(step in text for step in wording.describe_proof(m))
    assert to_passport(m).sha256 in text
    assert f"{m.worst_loss('zero-one'):.4g}" in text
    if m.query.is_ordered:
        assert f"{m.loss():.3g}" in text


def test_a_comparison_page_marks_the_best_and_carries_every_digest(pages):
    """A star beside the best, in words which one it is, and a passport each."""
    found = SUBJECTS["comparison"]()
    text = Page(pages["comparison"]).text
    assert f"best on average for absolute loss: {', '.join(found.best('absolute'))}" in text
    stars = sum(found.marks(row, column) for row in found.rows for column in found.columns)
    assert pages["comparison"].count("★</b>") == stars
    for row in found.rows:
        assert to_passport(row.mechanism).sha256 in text


def test_a_comparison_page_counts_the_curves_it_draws(pages):
    """Two are not called eight."""
    two = ib.compare([ib.catalog.truncated_geometric(ib.count(4), 1), ib.catalog.explicit_fair(ib.count(4), 1)])
    assert "All of them, best first" in html.mechanism_page(two)
    assert len(SUBJECTS["comparison"]().rows) > 8
    assert "The 8 with the least average loss" in pages["comparison"]


@given(st.integers(1, 64 * 10**6), st.sampled_from([1, 3, 7, 10, 64, 128, 10**6, 10**7]))
def test_epsilons_are_written_exactly_and_in_one_form(numerator, denominator):
    """A decimal if six digits suffice, else a fraction; either reads back as the same number."""
    number = Fraction(numerator, denominator)
    text = format_decimal(number)
    assert Fraction(text) == number
    assert ("/" in text) == ((number * 10**6).denominator > 1)


def test_a_page_does_not_mix_fractions_and_decimals():
    page = Page(html.mechanism_page(ib.catalog.explicit_fair(ib.count(4), "4/5"))).text
    assert "epsilon 0.8" in page
    assert "promised: 0.8" in page
    assert "4/5" not in page


def test_labels_are_escaped_and_long_ones_shortened(pages):
    """Markup in a label is shown, not obeyed."""
    assert "<b>bold" not in pages["labels"]
    assert "&lt;b&gt;bold&lt;/b&gt; &amp;" in pages["labels"]
    drawn = pages["labels"].split("<svg")[1].split("</svg>")[0]
    assert "much too long" not in drawn
    assert "a label that is" in drawn


def test_values_that_never_occur_are_not_explained(pages):
    """Their number is."""
    m = SUBJECTS["designed"]()
    rare = sum(r.chance < html.RARE for r in m.interpretations())
    assert rare > 0
    assert f"{rare} of {len(m.query.outputs)} values are published less than" in Page(pages["designed"]).text


def test_the_stated_distance_holds_for_every_true_answer():
    """'within ±d with probability 90 % or more' is true, and not for the next smaller d."""
    m = SUBJECTS["small"]()
    d = int(wording.describe_accuracy(m, m.channel(), "").split("within ±")[1].split()[0])
    assert m.worst_loss(ib.threshold_loss(d)) <= 0.1
    assert m.worst_loss(ib.threshold_loss(d - 1)) > 0.1


def test_notebooks_show_the_heatmap_and_the_table():
    """_repr_html_ of a mechanism and of a comparison."""
    m = SUBJECTS["small"]()
    shown = m._repr_html_()
    assert shown.count("<svg") == 1
    assert wording.format_guarantee(m).split(" (")[0] in Page(shown).text.replace("&#x27;", "'")
    assert "too large" in SUBJECTS["noise table"]()._repr_html_()
    assert "★" in SUBJECTS["comparison"]()._repr_html_()


def test_a_prior_changes_what_a_published_value_means():
    """And the page says that one was given."""
    m = SUBJECTS["small"]()
    page = html.mechanism_page(m, prior=[1, 0, 0, 0, 0, 0])
    assert "the given prior holds" in page
    assert "true answer 0 with 100 %" in Page(page).text


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


MEASURE = (
    "<script>addEventListener('load',()=>{let w=innerWidth,b=[...document.querySelectorAll('main *')]"
    ".filter(e=>e.getBoundingClientRect().right>w+1).length;"
    "document.title=[w,document.documentElement.scrollWidth,b].join(' ')})</script>"
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--allow-file-access-from-files",
    "--virtual-time-budget=3000",
    "--dump-dom",
]


def browsed(folder, page, width):
    """(window width, scroll width, elements cut off, addresses asked for) of a page without its policy."""
    policy = page.index("<meta http-equiv")
    copy, frame, log = folder / "copy.html", folder / "frame.html", folder / "net.json"
    copy.write_text(page[:policy] + MEASURE + page[page.index(">", policy) + 1 :], "utf-8")
    # a frame of the wanted width, because headless windows have a least width of their own
    frame.write_text(
        f'<iframe id=f src="copy.html" style="width:{width}px;height:800px;border:0"></iframe><script>'
        "addEventListener('load',()=>setTimeout(()=>{document.title=f.contentDocument.title},500))</script>"
    )
    own = [f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"]
    command = [CHROMIUM, *FLAGS, *own, frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    window, scrolled, cut = map(int, done.stdout.split("<title>")[1].split("</title>")[0].split())
    requests = [e["params"] for e in json.loads(log.read_text())["events"] if "url" in (e.get("params") or {})]
    # what the browser asks on its own behalf has no origin
    asked = {r["url"] for r in requests if r.get("initiator", "not an origin") != "not an origin"}
    return window, scrolled, cut, {url for url in asked if not url.startswith(("file:", "data:"))}


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["small", "designed", "labels", "comparison"])
def test_a_browser_shows_the_page_without_cutting_and_without_requests(tmp_path, pages, name, width):
    """Nothing is wider than the window, and even without the policy the page asks for no address."""
    window, scrolled, cut, asked = browsed(tmp_path, pages[name], width)
    assert window == width
    assert scrolled <= width
    assert cut == 0
    assert asked == set()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
def test_the_browser_check_sees_a_wide_element_and_a_request(tmp_path, pages):
    """The twin that must fail."""
    spoiled = pages["small"].replace(
        "</main>", '<div style="width:2000px">x</div><img src="http://example.invalid/x.png"></main>'
    )
    _, scrolled, cut, asked = browsed(tmp_path, spoiled, 390)
    assert scrolled > 390
    assert cut > 0
    assert asked == {"http://example.invalid/x.png"}


# --- SVG --------------------------------------------------------------------------------------------------


def test_heatmap_colours_only_get_darker():
    """Lightness carries the value, so greys read the same."""

    def lightness(share):
        text = svg.cell_colour(share)
        return sum(int(text[k : k + 2], 16) for k in (1, 3, 5))

    shades = [lightness(share) for share in np.linspace(0, 1, 50)]
    assert shades == sorted(shades, reverse=True)
    assert shades[0] - shades[-1] > 400


def test_large_heatmaps_are_averaged_and_keep_their_mass():
    """Blocks of equal size hold the mean of their cells."""
    rng = np.random.default_rng(1)
    matrix = rng.random((120, 240))
    mean, answers, reports = svg.average_blocks(matrix, [str(k) for k in range(240)], [str(k) for k in range(120)])
    assert mean.shape == (60, 60)
    assert mean.mean() == pytest.approx(matrix.mean())
    assert mean[1, 2] == pytest.approx(matrix[2:4, 8:12].mean())
    assert (answers[2], reports[1]) == ("8", "2")


def test_small_heatmaps_write_every_value():
    """One number per cell, as in the matrix."""
    m = SUBJECTS["small"]()
    numbers = [e.text for e in ET.fromstring(html._heatmap(m.channel())).iter("text") if e.get("class") == "n"]
    expected = [f"{p:.2f}".removeprefix("0") for p in m.matrix.ravel()]
    assert numbers == expected


def test_a_curve_puts_every_size_at_its_place_and_names_those_that_have_room():
    """Sizes that are far apart are drawn far apart; names never overlap; the label says what is drawn."""
    drawn = ET.fromstring(svg.curve(np.array([1.0, 2.0, 51.0, 101.0]), np.array([4.0, 2.0, 1.0, 0.0]), "size", "error"))
    places = [tuple(map(float, pair.split(","))) for pair in drawn.find("polyline").get("points").split()]
    across, up = zip(*places, strict=True)
    assert across[2] - across[0] == pytest.approx(across[3] - across[2], abs=0.1)
    assert (across[1] - across[0]) * 50 == pytest.approx(across[2] - across[0], rel=0.05)
    assert up[3] - up[0] == pytest.approx(2 * (up[3] - up[1]), abs=0.1)
    texts = [e.text for e in drawn.iter("text")]
    assert {"1", "51", "101", "size", "error"} <= set(texts)
    assert "2" not in texts[5:]
    assert drawn.get("aria-label") == "error, by size"


@given(st.integers(0, 10**4), st.integers(2, 300))
def test_a_selection_has_both_ends_and_is_even(count, shown):
    chosen = pick_evenly(count, shown)
    assert len(chosen) == min(count, shown)
    assert chosen == sorted(set(chosen))
    if count:
        assert (chosen[0], chosen[-1]) == (0, count - 1)
        steps = np.diff(chosen)
        assert len(steps) == 0 or steps.max() - steps.min() <= 1


# --- matplotlib -------------------------------------------------------------------------------------------

FAMILIES = {"GM": c.truncated_geometric, "EM": c.explicit_fair, "UM": c.uniform}


@pytest.mark.long
def test_heatmaps_share_one_scale_and_show_small_values(tmp_path):
    """Several matrices, one colour bar; numbers up to eleven answers."""
    made = [make(ib.count(4), 1) for make in FAMILIES.values()]
    figure = figures.heatmaps(made, list(FAMILIES))
    images = [axis.images[0] for axis in figure.axes[:3]]
    assert {image.get_clim() for image in images} == {(0.0, max(float(m.matrix.max()) for m in made))}
    for image, m in zip(images, made, strict=True):
        assert np.array_equal(image.get_array(), m.matrix)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == [f"{p:.2f}".removeprefix("0") for p in made[0].matrix.ravel() if p >= 0.005]
    assert not figures.heatmaps([c.uniform(ib.count(20), 1)]).axes[0].texts
    figure.savefig(tmp_path / "h.png")
    figure.savefig(tmp_path / "h.svg")


@pytest.mark.parametrize(
    ("draw", "first"),
    [
        (lambda: figures.loss_against_epsilon(ib.count(6), ["0.5", 1], FAMILIES), (0.5, ib.count(6), 0.5)),
        (
            lambda: figures.loss_against_alpha(ib.count(6), ["0.5", "0.9"], FAMILIES),
            (0.5, ib.count(6), ib.epsilon_from_alpha("0.5")),
        ),
        (lambda: figures.loss_against_size({4: ib.count(4), 8: ib.count(8)}, 1, FAMILIES), (4, ib.count(4), 1)),
    ],
    ids=["epsilon", "alpha", "n"],
)
def test_curves_show_the_losses_and_differ_by_more_than_colour(draw, first):
    """One line per family, at the right place, each with its own marker."""
    figure = draw()
    lines = figure.axes[0].lines
    x, query, epsilon = first
    assert lines[-1].get_label() == "optimal"
    assert lines[-1].get_ydata()[0] == pytest.approx(ib.optimal(query, epsilon).loss())
    for line, (name, make) in zip(lines[:-1], FAMILIES.items(), strict=True):
        assert line.get_label() == name
        assert line.get_xdata()[0] == pytest.approx(x)
        assert line.get_ydata()[0] == pytest.approx(make(query, epsilon).loss())
    assert len({line.get_marker() for line in lines}) == len(lines)


def test_curves_follow_a_prior_and_take_names_of_the_catalog():
    prior = [5, 1, 1, 1, 1, 1, 1]
    figure = figures.loss_against_epsilon(ib.count(6), [1], ["truncated_geometric"], "squared", prior)
    named, best = figure.axes[0].lines
    assert named.get_ydata()[0] == pytest.approx(c.truncated_geometric(ib.count(6), 1).loss("squared", prior))
    assert best.get_ydata()[0] == pytest.approx(ib.optimal(ib.count(6), 1, "squared", prior).loss("squared", prior))
    sizes = {3: ib.count(3), 5: ib.count(5)}
    leaning = figures.loss_against_size(sizes, 1, ["uniform"], prior=lambda query: range(1, len(query.answers) + 1))
    expected = [c.uniform(query, 1).loss("absolute", range(1, len(query.answers) + 1)) for query in sizes.values()]
    assert leaning.axes[0].lines[0].get_ydata() == pytest.approx(expected)
    with rejects(ValueError, "family"):
        figures.loss_against_alpha(ib.count(2), ["0.5"], ["laplace"])


def test_error_per_answer_and_posterior_show_the_mechanism(tmp_path):
    """Heights are the measures; the credible set is hatched."""
    m = c.truncated_geometric(ib.count(6), 1)
    line = figures.error_per_answer({"GM": m}, "squared").axes[0].lines[0]
    assert line.get_ydata() == pytest.approx(m.loss_per_answer("squared"))
    figure = figures.posterior(m, 2)
    bars = figure.axes[0].patches
    assert [bar.get_height() for bar in bars] == pytest.approx(m.posterior(2).tolist())
    hatched = tuple(k for k, bar in enumerate(bars) if bar.get_hatch())
    assert hatched == m.credible_set(2).answers
    figure.savefig(tmp_path / "p.png")


def test_pictures_of_nothing_are_refused(golden):
    """A sentence, not an empty figure."""
    golden.errors(
        "wrong_figures",
        [
            lambda: figures.heatmaps([]),
            lambda: figures.error_per_answer([]),
            lambda: figures.error_per_answer([c.uniform(ib.count(2), 1), c.uniform(ib.count(3), 1)]),
            lambda: figures.error_per_answer([c.uniform(ODD_LABELS, 1)]),
            lambda: figures.loss_against_epsilon(ib.count(2), [1], {}),
        ],
    )


# --- commands ---------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    file = tmp_path / "m.json"
    c.truncated_geometric(ib.count(5), 2).save(file)
    return file


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False, env={"COLUMNS": "120"})


def test_read_says_what_a_published_value_means(saved):
    """One value, all values, and JSON."""
    one = run("interpret", saved, 3).output
    assert "published 3 → true answer 2–4 with 97 %" in one
    assert "published 2" not in one
    assert run("interpret", saved).output.count("published") == 6
    (row,) = json.loads(run("interpret", saved, 3, "--json").output)
    assert row["answers"] == [2, 3, 4]
    with rejects(ValueError, "output", about="5 and 4"):
        run("interpret", saved, 9)


def test_report_writes_the_page(saved, tmp_path):
    """The same as from Python."""
    to = tmp_path / "r.html"
    assert json.loads(run("report", saved, "--out", to, "--json").output) == {"report": str(to)}
    assert to.read_text("utf-8") == html.mechanism_page(ib.load(saved))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (ib.count(9), "true answers at most 1 apart are neighbours"),
        (ib.mean(10, 1, 5), "true answers at most 0.4 apart are neighbours"),
        (ib.interval(0, 1, "1/3", 6, allowance=0), "true answers at most 1/3 apart are neighbours"),
        (
            ib.interval(0, 1, "1/4", 4),
            "true answers at most 0.25 apart are neighbours, and 2.38e-07 more for the arithmetic behind them",
        ),
        (ib.extreme(0, 4), "any two true answers are neighbours"),
    ],
)
def test_neighbours_are_told_in_the_unit_of_the_answers(query, said):
    """A step of the grid may be smaller than any two answers are apart."""
    assert query.describe_neighbours() == said


@pytest.mark.parametrize(
    ("holes", "said"),
    [
        ([], ""),
        ([(8, 9)], "across the hole between 7.5 and 9.5; an output may tell the side"),
        ([(8, 16)], "across the hole between 7.5 and 16.5; an output may tell the side"),
        ([(3, 6), (8, 16)], "the answers fall into 3 parts, and an output may tell which"),
    ],
)
def test_the_promise_ends_at_holes_that_nobody_can_cross(holes, said):
    query = ib.interval(0, 24, 1, 24, holes=holes)
    text = wording.format_guarantee(ib.catalog.uniform(query, 1))
    assert said in text
    assert ("hole" in text) == bool(said)
