"""For the site: a notebook of the gallery becomes a page, with what its cells showed when they were run."""

import json
import re
from typing import Any

from mkdocs.structure.files import File, Files

NOTEBOOK = re.compile(r"(?<=[(/])([\w-]+)\.ipynb(?=[)#])")
FENCE = "````"


def on_config(config: Any) -> None:
    """The navigation names notebooks; the site has pages."""
    config.nav = json.loads(json.dumps(config.nav).replace(".ipynb", ".md"))


def on_files(files: Files, config: Any) -> Files:
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            notebook = json.loads(file.content_string)
            address = file.src_uri.removesuffix(".ipynb") + ".md"
            files.append(File.generated(config, address, content=page(notebook, file.name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A link to a notebook leads to its page."""
    return NOTEBOOK.sub(r"\1.md", markdown)


def page(notebook: dict[str, Any], name: str) -> str:
    """The Markdown of a notebook: its words, its code, what it showed, and where to get it."""
    title, *cells = [_markdown(cell) for cell in notebook["cells"]]
    here = f'<a href="{name}.ipynb" download>Download this notebook</a>'
    return "\n\n".join([title, *cells, f'<p class="notebook">{here}</p>'])


def _markdown(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text
    return "\n\n".join([f"{FENCE}python\n{text}\n{FENCE}", *map(_output, cell["outputs"])])


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"{FENCE}text\n{''.join(output['text']).rstrip()}\n{FENCE}"
    data = output["data"]
    if "image/png" in data:
        return f'<p><img alt="Figure drawn by the lines above" src="data:image/png;base64,{data["image/png"]}"></p>'
    if "text/html" in data:
        table = "".join(data["text/html"]).replace(' class="dataframe"', "")
        return f'<div class="shown">\n{table}\n</div>'
    return f"{FENCE}text\n{''.join(data['text/plain'])}\n{FENCE}"
