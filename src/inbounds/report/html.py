"""One self-contained HTML page for a mechanism or a comparison: plain words, inline SVG, no request to anywhere."""

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from inbounds.errors import TooLarge
from inbounds.files import passport
from inbounds.loss import Prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import Reading, answer_values, percent, readings
from inbounds.mechanism.law import MATRIX_LIMIT
from inbounds.numbers import decimal
from inbounds.read.compare import Comparison, shown
from inbounds.report import svg, words
from inbounds.report.layout import document, table

MOST_ROWS = 21
"""More published values than this are shown as an even selection."""

MOST_HEATMAPS = 6
MOST_CURVES = 8

RARE = 1e-9
"""Values published less often are left out of the readings: no reader will ever see one."""


def page(what: Mechanism | Comparison, prior: Prior = None, level: float = 0.9) -> str:
    """The report as HTML text. prior, level: for what a published value means."""
    if isinstance(what, Comparison):
        return document("Mechanisms compared", _comparison(what))
    return document(_title(what), _mechanism(what, prior, level))


def save(what: Mechanism | Comparison, path: str | os.PathLike[str], prior: Prior = None, level: float = 0.9) -> None:
    """Write the report; one file, nothing beside it."""
    Path(path).write_text(page(what, prior, level), "utf-8")


def card(mechanism: Mechanism) -> str:
    """What a notebook shows for a mechanism: the promise in words over the heatmap."""
    about = f"<p><b>{escape(str(mechanism.origin))}</b> · {escape(words.subject(mechanism.query))}</p>"
    about += f"<p>{escape(words.promise(mechanism))}</p>"
    return f'<div style="max-width:30em">{about}{_heatmap(mechanism)}</div>'


def comparison_table(comparison: Comparison) -> str:
    """All columns of a comparison, losses first; the best of each is bold and starred."""
    split = 3 * len(comparison.losses)
    losses, rest = comparison.columns[:split], comparison.columns[split:]
    return _starred(comparison, losses, codes=False) + _starred(comparison, rest, codes=True)


def _starred(comparison: Comparison, columns: Sequence[str], *, codes: bool) -> str:
    rows = []
    for row in comparison.rows:
        texts = [(shown(row.values[column]), comparison.marks(row, column)) for column in columns]
        cells = [f"<b>{text} ★</b>" if best else text for text, best in texts]
        rows.append([escape(row.name), *cells, *([escape(row.codes)] if codes else [])])
    return table(["mechanism", *columns, *(["properties"] if codes else [])], rows)


# --- a mechanism ------------------------------------------------------------------------------------------


def _mechanism(m: Mechanism, prior: Prior, level: float) -> Iterable[str]:
    yield f"<h1>{escape(_title(m))}</h1>"
    yield f'<p class="sub">{escape(str(m.origin))}, epsilon {decimal(m.epsilon)}</p>'
    yield "<h2>What it promises</h2>"
    yield f"<p>{escape(words.promise(m))} Here {escape(words.relation(m.query))}.</p>"
    yield (
        "<p>The promise covers one report. Further reports about the same people add up: two reports at this "
        "epsilon promise twice the epsilon.</p>"
    )
    yield "<h2>How wrong will it be?</h2>"
    yield f"<p>{escape(words.accuracy(m))}</p>"
    yield _measures(m)
    if _small(m):
        yield from _pictures(m, prior, level)
    yield "<h2>How it treats the true answers</h2>"
    yield _properties(m)
    yield "<h2>How this was proved</h2><p>In whole numbers only, without rounding:</p>"
    yield "<ul>" + "".join(f"<li>{escape(step)}</li>" for step in words.proof(m)) + "</ul>"
    yield from _passport(m)


def _pictures(m: Mechanism, prior: Prior, level: float) -> Iterable[str]:
    yield "<h2>What a published value means</h2>"
    before = "every true answer is equally likely beforehand" if prior is None else "the given prior holds beforehand"
    rows = readings(m, level, prior, "absolute" if m.query.ordered else "zero-one")
    yield f"<p>For a reader to whom {before}. The last column holds even if a tenth of that belief is wrong.</p>"
    yield _readings(rows)
    yield "<h2>The whole mechanism</h2>"
    yield "<p>How likely each report (up) is for each true answer (across): darker is likelier.</p>"
    yield f"<figure>{_heatmap(m)}</figure>"
    names = _names(m)
    if m.query.ordered:
        yield "<h2>Error for every true answer</h2>"
        yield f"<figure>{svg.bars(m.loss_per_answer(), names, 'true answer', 'expected absolute error')}</figure>"
    likeliest = max(range(len(rows)), key=lambda k: (rows[k].chance > 0, -abs(k - len(rows) // 2)))
    reading = rows[likeliest]
    inside = [k for k, answer in enumerate(answer_values(m.query).tolist()) if answer in set(reading.answers)]
    yield f"<h2>Example: {escape(_value(reading.output))} was published</h2>"
    yield f"<p>{escape(str(reading))} (dark bars).</p>"
    after = m.posterior(reading.output, prior)
    yield f"<figure>{svg.bars(after, names, 'true answer', 'probability afterwards', inside)}</figure>"


def _measures(m: Mechanism) -> str:
    rows = []
    if m.query.ordered:
        for name, loss in (("absolute error", "absolute"), ("squared error", "squared")):
            rows.append([name, f"{m.loss(loss):.4g}", f"{m.worst_loss(loss):.4g}", _after_remap(m, loss)])
        rows.append(["root of the squared error", "", f"{m.rmse().max():.4g}", ""])
        rows.append(["bias, in size", f"{np.abs(m.bias()).mean():.4g}", f"{np.abs(m.bias()).max():.4g}", ""])
    rows.append(
        [
            "not the truth",
            *(f"{v:.4g}" for v in (m.loss("zero-one"), m.worst_loss("zero-one"))),
            _after_remap(m, "zero-one"),
        ]
    )
    if m.query.ordered:
        ends = m.end_probability()
        rows.append(["an end of the range", f"{ends.mean():.4g}", f"{ends.max():.4g}", ""])
    head = ["", "average", "worst true answer", "after best guess"]
    return table(head, rows)


def _after_remap(m: Mechanism, loss: str) -> str:
    return f"{m.bayes_loss(loss):.4g}" if _small(m) else "not computed at this size"


def _readings(rows: Sequence[Reading]) -> str:
    seen = [r for r in rows if r.chance >= RARE]
    chosen = np.unique(np.linspace(0, len(seen) - 1, min(len(seen), MOST_ROWS)).round().astype(int))
    head = ["published", "how often", "true answer", "with", "best guess", "with, if a tenth is wrong"]
    body = []
    for k in chosen:
        r = seen[k]
        span = str(r).split("true answer ")[-1].rsplit(" with ", 1)[0] if r.answers else "–"
        sure = (
            [percent(r.probability), _value(r.best_guess), f"at least {percent(r.at_least)}"]
            if r.answers
            else ["–"] * 3
        )
        body.append([escape(text) for text in (_value(r.output), _often(r.chance), span, *sure)])
    notes = [f"{len(chosen)} of the {len(seen)} values that occur are shown."] if len(chosen) < len(seen) else []
    if len(seen) < len(rows):
        notes.append(f"{len(rows) - len(seen)} of {len(rows)} values are published less than once in a billion times.")
    return table(head, body) + (f"<p class=sub>{' '.join(notes)}</p>" if notes else "")


def _often(chance: float) -> str:
    return f"{100 * chance:.1f} %" if chance >= 0.0005 else "under 0.1 %"


def _properties(m: Mechanism) -> str:
    try:
        held = m.properties()
    except TooLarge:
        return "<p>Not computed at this size.</p>"
    rows = [
        [name.replace("_", " "), words.MEANING[name], str(holding) if holding else "no"]
        for name, holding in held.items()
    ]
    return table(["property", "meaning", "holds"], [[escape(text) for text in row] for row in rows])


def _passport(m: Mechanism) -> Iterable[str]:
    yield "<h2>Passport</h2>"
    found = passport(m)
    rows = [["construction", str(m.origin)], ["written up in", m.origin.reference or "–"]]
    rows.append(["tight epsilon", f"{m.effective_epsilon():.9g} (promised: {decimal(m.epsilon)})"])
    if m.optimality is not None:
        best = m.optimality
        rows.append(["optimality", f"{best.objective} {best.value:.9g}; nothing private is below {best.bound:.9g}"])
    rows.append(["claimed, not checked", "; ".join(words.claimed(m))])
    rows.append(["sha256", found["sha256"]])
    yield table(["", ""], [[escape(text) for text in row] for row in rows], plain=True)
    yield (
        "<p>The digest belongs to the mechanism's passport file. <code>inbounds verify passport.json</code> checks "
        "the file from scratch and prints the same digest.</p>"
    )


# --- a comparison -----------------------------------------------------------------------------------------


def _comparison(c: Comparison) -> Iterable[str]:
    query = c.rows[0].mechanism.query
    yield "<h1>Mechanisms compared</h1>"
    yield f'<p class="sub">{escape(words.subject(query))}; {escape(words.relation(query))}</p>'
    yield "<h2>What they promise</h2>"
    for epsilon in sorted({row.mechanism.epsilon for row in c.rows}):
        one = next(row.mechanism for row in c.rows if row.mechanism.epsilon == epsilon)
        yield f"<p>{escape(words.promise(one))}</p>"
    first = c.losses[0]
    yield "<h2>Side by side</h2>"
    yield (
        f"<p>★ marks the best of a column; best on average for {escape(first)} loss: "
        f"{escape(', '.join(c.best(first)))}. <em>worst</em>: under the true answer served worst. "
        "<em>bayes</em>: after the best guess for every report. <em>truth</em>: least probability of reporting "
        "the truth. <em>information</em>: bits a report tells.</p>"
    )
    yield comparison_table(c)
    yield f"<p class=sub>{escape(words.LEGEND)}</p>"
    if all(_small(row.mechanism) for row in c.rows):
        yield from _comparison_pictures(c)
    yield "<h2>Passports</h2>"
    digests = [[escape(row.name), row.mechanism.sha256] for row in c.rows]
    yield table(["mechanism", "sha256 of its passport"], digests, plain=True)
    if c.left_out:
        yield "<h2>Left out</h2>"
        yield table(["mechanism", "why"], [[escape(a), escape(b)] for a, b in c.left_out.items()], plain=True)


def _comparison_pictures(c: Comparison) -> Iterable[str]:
    ranked = c.sorted().rows
    names = _names(ranked[0].mechanism)
    if ranked[0].mechanism.query.ordered:
        which = f"The {MOST_CURVES} with the least average loss" if len(ranked) > MOST_CURVES else "All of them"
        yield f"<h2>Error for every true answer</h2><p>{which}, best first.</p>"
        curves = {row.name: row.mechanism.loss_per_answer() for row in ranked[:MOST_CURVES]}
        yield f"<figure>{svg.lines(curves, names, 'true answer', 'expected absolute error')}</figure>"
    shown_here = ranked[:MOST_HEATMAPS]
    top = max(float(row.mechanism.matrix.max()) for row in shown_here)
    yield "<h2>The mechanisms</h2>"
    yield "<p>How likely each report (up) is for each true answer (across), darker is likelier, on one scale.</p>"
    pictures = (f"<figure>{_heatmap(row.mechanism, top, row.name)}</figure>" for row in shown_here)
    yield f'<div class="side">{"".join(pictures)}</div>'


# --- shared -----------------------------------------------------------------------------------------------


def _title(m: Mechanism) -> str:
    return f"A private {words.subject(m.query)}" if m.query.ordered else f"Privately {words.subject(m.query)}"


def _heatmap(m: Mechanism, top: float | None = None, title: str = "") -> str:
    if not _small(m):
        outputs, answers = m.query.shape
        return f"<p>({outputs} × {answers}: too large to draw)</p>"
    reports = [_value(value) for value in m.query.reported.tolist()]
    return svg.heatmap(m.matrix, _names(m), reports, top or float(m.matrix.max()), title)


def _small(m: Mechanism) -> bool:
    return m.query.shape[0] * m.query.shape[1] <= MATRIX_LIMIT


def _names(m: Mechanism) -> list[str]:
    return [_value(answer) for answer in answer_values(m.query).tolist()]


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
