"""What a package says of itself on an index page: addresses, and a README whose links lead somewhere.

All addresses follow from one setting, `repository` in pyproject.toml, which the site reads too. While it is empty,
links within the repository are only words and its pictures are left out.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)]+)\)\n*")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")


def addresses(repository: str) -> dict[str, str]:
    """The addresses of a project by the names that index pages know."""
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def described(readme: str, repository: str, version: str) -> str:
    """The README as it is read away from the repository, at this version of it."""
    if not repository:
        return LINK.sub(r"\1", PICTURE.sub("", readme))
    pictures = PICTURE.sub(rf"![\1]({repository}/raw/v{version}/\2)\n\n", readme)
    return LINK.sub(rf"[\1]({repository}/blob/v{version}/\2)", pictures)


class OwnWords(MetadataHookInterface):
    """Fills in `readme` and `urls`, which pyproject.toml declares dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        root, repository = Path(self.root), self.config["repository"]
        source = (root / "src" / "inbounds" / "__init__.py").read_text("utf-8")
        (version,) = re.findall(r'^__version__ = "([^"]+)"', source, re.M)
        text = described((root / "README.md").read_text("utf-8"), repository, version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = addresses(repository)
