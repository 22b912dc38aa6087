"""For the site: formulas between dollars become MathML when it is built, so that no page loads a script for them."""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)


def on_page_content(html: str, **_: Any) -> str:
    """Every formula that pymdownx.arithmatex marked, as MathML."""
    return FORMULA.sub(_mathml, html)


def _mathml(found: re.Match[str]) -> str:
    tag, bracket, formula = found.groups()
    display = "block" if bracket == "[" else "inline"
    return f'<{tag} class="formula">{convert(unescape(formula).strip(), display=display)}</{tag}>'
