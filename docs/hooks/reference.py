"""For the site: a page for every object, under the name that people import; and the version in the header.

What `inbounds.__all__` names gets a page in the section of its module. Objects one meets without importing them, such
as what a call returns, are listed in `MORE`.
"""

import importlib
import inspect
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.structure.files import File, Files

import inbounds as ib

SECTIONS = {
    "Queries": ("inbounds.query",),
    "Mechanisms": ("inbounds.mechanism", "inbounds.catalog", "inbounds.exact"),
    "Design": ("inbounds.design", "inbounds.losses", "inbounds.priors", "inbounds.properties"),
    "Reading": ("inbounds.evaluate", "inbounds.verdict", "inbounds.report"),
    "Tables": ("inbounds.releases",),
    "The ledger": ("inbounds.ledger",),
    "The curator": ("inbounds.curator",),
    "Local privacy": ("inbounds.local",),
    "Repeated questions": ("inbounds.accounting", "inbounds.attack", "inbounds.perturbation", "inbounds.sideinfo"),
    "Errors": ("inbounds.errors",),
}
MORE = (
    *("query.with_outputs", "query.outputs.OutputCells"),
    *(
        "mechanism.Origin",
        "mechanism.Optimality",
        "mechanism.PropertyCheck",
        "mechanism.unbiased",
        "mechanism.measures",
    ),
    *("mechanism.bayes", "mechanism.exact_measures", "mechanism.Channel", "mechanism.laws"),
    *("catalog.geometric", "catalog.fair", "catalog.response", "catalog.laplace", "catalog.fine_outputs"),
    "catalog.staircase",
    *("catalog.optimized", "catalog.graphs", "design.quantiles.choose.QuantileDesign", "properties"),
    *("design.refinement.RefinementResult", "design.refinement.Refutation", "design.refinement.ClosenessResult"),
    *("evaluate.recommend.Recommendation", "verdict.Verdict", "report.figures", "report.html"),
    *(
        "releases.pipeline.preview_release",
        "releases.pipeline.ReleasePreview",
        "releases.pipeline.Release",
        "releases.passports.find_mechanism",
        "releases.recompute.recompute_table",
    ),
    *(
        "ledger.Charge",
        "ledger.StoredAnswer",
        "ledger.Population",
        "ledger.LedgerHead",
        "ledger.LedgerReport",
        "ledger.Entry",
    ),
    *("curator.curator.Curator", "curator.client.CuratorClient", "curator.question.Question", "curator.answer.Answer"),
    *("curator.answer.AnswerCost", "curator.preview.QuestionPreview", "curator.dataset.Dataset"),
    *("curator.accounts.Account", "curator.accounts.Grant", "curator.exposure", "curator.settings.Settings"),
    *("curator.settings.ServiceLimits", "curator.evaluations.DatasetStatus", "curator.errors"),
    *("local.estimates", "local.survey", "local.permanent", "local.reconstruct"),
    *("sideinfo", "sideinfo.sensitivity", "sideinfo.smooth"),
)


class Documented(NamedTuple):
    """An object with a page: how people write it, where it is defined, its first sentence."""

    shown: str
    path: str
    about: str

    @property
    def address(self) -> str:
        """A file's name that differs from all others in more than case."""
        name = self.shown.removeprefix("ib.").removeprefix("inbounds.")
        last = name.rpartition(".")[2]
        return f"reference/{name}{'-class' if last[:1].isupper() else ''}.md"

    @property
    def section(self) -> str:
        return next(name for name, modules in SECTIONS.items() if self.path.startswith(modules))


def documented() -> list[Documented]:
    """Every object with a page, in the order of the navigation."""
    imported = [_named(f"ib.{name}", getattr(ib, name)) for name in ib.__all__ if not name.startswith("__")]
    met = [_named(f"inbounds.{path}", _found(path)) for path in MORE]
    return [one for section in SECTIONS for one in [*imported, *met] if one.section == section]


def _found(path: str) -> Any:
    try:
        return importlib.import_module(f"inbounds.{path}")
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(f"inbounds.{module}"), name)


def _named(shown: str, value: Any) -> Documented:
    path = value.__name__ if inspect.ismodule(value) else f"{value.__module__}.{value.__qualname__}"
    about = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    return Documented(shown, path, about)


def on_config(config: Any) -> None:
    """The objects in the navigation; the version, and the repository where pyproject.toml names one."""
    pages: dict[str, list[dict[str, str]]] = {section: [] for section in SECTIONS}
    for one in documented():
        pages[one.section].append({one.shown: one.address})
    (place,) = (entry for entry in config.nav if "Reference" in entry)
    place["Reference"] += [{name: pages[name]} for name in pages]
    settings = tomllib.loads(Path(config.config_file_path).with_name("pyproject.toml").read_text("utf-8"))
    config.repo_url = settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"] or None
    config.repo_name = "repository"
    config.site_name = f"{config.site_name} {ib.__version__}"
    config.copyright = f"{config.site_name} · {settings['project']['license']}"


def on_files(files: Files, config: Any) -> Files:
    for one in documented():
        files.append(File.generated(config, one.address, content=_page(one)))
    return files


def _page(one: Documented) -> str:
    options = f'heading: "{one.shown}"\n      toc_label: "{one.shown}"\n      heading_level: 1'
    return f"---\ntitle: {one.shown}\n---\n\n::: {one.path}\n    options:\n      {options}\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The list of all objects, on the first page of the reference."""
    if page.file.src_uri != "reference.md":
        return markdown
    return "\n".join([markdown, *(line for section in SECTIONS for line in _listed(section))])


def _listed(section: str) -> list[str]:
    rows = [f"| [`{one.shown}`]({one.address}) | {one.about} |" for one in documented() if one.section == section]
    return [f"\n## {section}\n", "| | |", "|---|---|", *rows]
