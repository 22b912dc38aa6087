"""make docs: count the words of the documentation, and check their spelling.

Counted are words with a letter, outside code blocks, on all pages that people write. Pages that scripts write are not
counted: commands, statistics and the reference, the papers' studies. Pages of benchmarks are.

Spelling: lower-case words of five letters or more must be English, in `words.txt`, or between backquotes.
`python docs/words.py --learn` adds the words that are neither to `words.txt`; read the difference.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from spellchecker import SpellChecker

DOCS = Path(__file__).parent
ROOT = DOCS.parent
DICTIONARY = DOCS / "words.txt"
MOST = 70_000
"""Words that the documentation may have."""

GENERATED = ("commands.md", "reference.md", "statistics.md", "studies/")
FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2 *$", re.M | re.S)
NOT_PROSE = re.compile(r"`[^`]*`|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)]*\)|<[^>]*>|https?://\S+", re.S)
WORD = re.compile(r"(?<![\w\\])[a-z]{5,}(?![\w])")


def pages() -> Iterator[Path]:
    """Yield the pages that people write."""
    for page in sorted(DOCS.rglob("*.md")):
        if not str(page.relative_to(DOCS)).startswith(GENERATED):
            yield page


def prose(page: Path) -> str:
    """Return the text of a page without its code blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def count_words(page: Path) -> int:
    """Count the words with a letter."""
    return sum(any(letter.isalpha() for letter in word) for word in prose(page).split())


def find_unknown(page: Path, english: SpellChecker, ours: set[str]) -> set[str]:
    """Return the lower-case words of a page that neither dictionary has."""
    words = set(WORD.findall(NOT_PROSE.sub(" ", prose(page)))) - ours
    return set(english.unknown(words))


def main(arguments: list[str]) -> int:
    """Print the count and unknown words; return 1 if there are any, or too many words."""
    ours, english = set(DICTIONARY.read_text("utf-8").split()), SpellChecker(language="en")
    front = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    unknown = {page: find_unknown(page, english, ours) for page in (*pages(), *front)}
    if arguments == ["--learn"]:
        DICTIONARY.write_text("\n".join(sorted(ours.union(*unknown.values()))) + "\n", "utf-8")
        return 0
    total = sum(map(count_words, pages()))
    sys.stdout.write(f"docs: {total:,} words of at most {MOST:,}\n")
    for page, words in unknown.items():
        for word in sorted(words):
            sys.stdout.write(f"{page.relative_to(ROOT)}: {word} is not in docs/words.txt\n")
    return int(total > MOST or any(unknown.values()))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
