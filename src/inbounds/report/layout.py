"""The frame of every HTML report: one document, tables that stack on a narrow screen, one style sheet."""

from collections.abc import Iterable, Sequence
from html import escape

WIDE_FROM = 7
"""Tables with more columns need the whole width of a desktop screen."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, plain: bool = False) -> str:
    """A table that becomes a list of labelled values on a narrow screen. Cells are HTML."""
    top = (
        ""
        if plain and not any(head)
        else "<thead><tr>" + "".join(f"<th>{escape(n)}</th>" for n in head) + "</tr></thead>"
    )
    body = []
    for row in rows:
        first, *rest = row
        cells = "".join(
            f'<td data-label="{escape(n)}">{cell or "–"}</td>' for n, cell in zip(head[1:], rest, strict=True)
        )
        body.append(f'<tr><th data-label="{escape(head[0])}">{first}</th>{cells}</tr>')
    kind = "plain" if plain else "data wide" if len(head) > WIDE_FROM else "data"
    return f'<table class="{kind}">{top}<tbody>{"".join(body)}</tbody></table>'


def document(title: str, parts: Iterable[str]) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>\n"
    )


STYLE = """
:root{color-scheme:light}
body{margin:0;background:#fff;color:#1a1a1a;font:16px/1.5 system-ui,sans-serif}
main{max-width:68rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0 0}
h2{font-size:1.15rem;margin:2rem 0 .4rem;border-bottom:1px solid #bbb;padding-bottom:.2rem}
p{margin:.4rem 0;max-width:44rem}.sub{color:#444;overflow-wrap:anywhere}
figure{margin:.8rem 0;max-width:34rem}svg{width:100%;height:auto;display:block}
.side{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.5rem 1rem}.side figure{margin:0}
table{border-collapse:collapse;font-size:.9rem;margin:.6rem 0;max-width:100%}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
thead th{border-bottom:2px solid #555}.data td{font-variant-numeric:tabular-nums}.data b{white-space:nowrap}
tbody th{font-weight:600}.plain td{overflow-wrap:anywhere}code{background:#f0f0f0;padding:0 .2em}
@media (max-width:48rem){STACK}
@media (max-width:66rem){WIDE}
@media print{h2{break-after:avoid}figure,tr{break-inside:avoid}}
"""
STACK = """
.data thead{display:none}.data,.data tbody,.data tr,.data th,.data td{display:block}
.data tr{border-bottom:2px solid #555;padding:.3rem 0;max-width:32rem}.data th::before{content:attr(data-label) " "}
.data th,.data td{border:0;padding:.05rem 0}
.data td{display:flex;justify-content:space-between;gap:1rem;text-align:right}
.data td::before{content:attr(data-label);color:#444;text-align:left;flex:none;max-width:60%}
"""
STYLE = STYLE.replace("STACK", STACK).replace("WIDE", STACK.replace(".data", ".data.wide"))
