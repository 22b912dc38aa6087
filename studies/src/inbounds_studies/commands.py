"""studies: the tables and figures of the papers, recomputed."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds.cli.app import AsJson, Commands, err, out
from inbounds.cli.completion import complete_prefix
from inbounds.report import terminal

studies = Commands(help="The tables and figures of the papers, recomputed.")


def complete_ids(incomplete: str) -> list[str]:
    """Studies by their ids, papers by their numbers, and all."""
    from inbounds_studies import listed

    ids = list(listed())
    return complete_prefix((*ids, *dict.fromkeys(name.partition("-")[0] for name in ids), "all"), incomplete)


Ids = Annotated[
    list[str], typer.Argument(metavar="ID", help="Studies, or papers (003), or all.", autocompletion=complete_ids)
]
KINDS = ("csv", "tex", "svg", "png")
Out = Annotated[Path, typer.Option("--out", help="Directory for ID.csv, ID.tex, ID.svg and ID.png.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer points and repetitions, same code.")]
Seed = Annotated[int, typer.Option(help="Seed of the simulated studies.")]
Cores = Annotated[int, typer.Option(help="Processes; 0 takes all cores.")]


@studies.command("list")
def list_(as_json: AsJson = False) -> None:
    """List every study with its id, and what became of the paper's claims.

    Example: [bold]inbounds studies list[/]
    """
    from inbounds_studies import listed
    from inbounds_studies.claims import claims_of, verdict_of

    found = [(s, "simulated" if s.simulated else "exact", claims_of(s.id)) for s in listed().values()]
    if as_json:
        typer.echo(json.dumps([
            {"id": s.id, "title": s.title, "kind": kind,
             "settings": s.settings_json, "note": s.note,
             "verdict": verdict_of(claims) if claims else None, "claims": [claim.to_json() for claim in claims]}
            for s, kind, claims in found
        ]))  # fmt: skip
        return
    rows = [[s.id, s.title, kind, verdict_of(claims) if claims else ""] for s, kind, claims in found]
    out.print(terminal.columns("", ["id", "study", "result", "claims"], rows, right=4))
    out.print("run one with: inbounds studies run ID --out figures")


@studies.command("settings")
def settings_(id_: Annotated[str, typer.Argument(metavar="ID", help="A study.")], as_json: AsJson = False) -> None:
    """List what can be set in a study: printed in the paper, inferred from it, or chosen here.

    Example: [bold]inbounds studies settings 000-fig4[/]
    """
    from inbounds_studies import find

    study = find(id_)
    if as_json:
        typer.echo(json.dumps(study.settings_json))
        return
    rows = [[name, json.dumps(each["value"]), each["origin"]] for name, each in study.settings_json.items()]
    out.print(terminal.columns(study.title, ["setting", "value", "origin"], rows, right=3))
    if study.note:
        out.print(study.note)
    name = next(iter(study.settings_json), "name").replace("_", "-")
    out.print(f"set them with: inbounds studies run {id_} --{name} VALUE, lists as A,B,C")


@studies.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    ids: Ids,
    out_dir: Out = Path("figures"),
    quick: Quick = False,
    seed: Seed = 0,
    cores: Cores = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files of an earlier run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute studies to the papers' settings, or to others; write their data and figures.

    Every setting that `inbounds studies settings ID` lists is an option too; lists are written A,B,C.

    Example: [bold]inbounds studies run 003-fig10 --out figures/[/]

    Example: [bold]inbounds studies run 003-fig9 --alphas 0.8,0.9 --sizes 2,4,8[/]
    """
    from inbounds_studies import Crew, matching

    names, texts = split_settings([*ids, *context.args])
    chosen = matching(names)
    settings = [study.parse_settings(texts) for study in chosen]  # before any work is done
    there = [path for study in chosen for kind in KINDS if (path := out_dir / f"{study.id}.{kind}").exists()]
    if there and not overwrite:
        raise ValueError(f"--out must not hold {there[0].name} yet, got {out_dir}; give another, or --overwrite")
    written = []
    with Crew(cores or _available()) as crew:
        for study, changed in zip(chosen, settings, strict=True):
            crew.watch = _Progress(f"{study.id} {study.title}")
            started = time.perf_counter()
            result = study.run(quick=quick, seed=seed, crew=crew, **changed)
            paths = [str(path) for path in result.save(out_dir, study.id)]
            took, rows = time.perf_counter() - started, len(result.table)
            written.append({"id": study.id, "rows": rows, "seconds": round(took, 3), "files": paths})
            if not as_json:
                out.print(f"[bold]{study.id}[/]  {study.title}: {rows} rows, {took:.1f} s", soft_wrap=True)
    if as_json:
        typer.echo(json.dumps(written))
    else:
        out.print(
            f"CSV, LaTeX, SVG and PNG of {len(written)} {'study' if len(written) == 1 else 'studies'} in {out_dir}"
        )


def split_settings(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Split the words of a command into ids and settings, written --name VALUE or --name=VALUE.

    >>> split_settings(["003-fig9", "--alphas", "0.8,0.9", "--max-size=4"])
    (['003-fig9'], {'alphas': '0.8,0.9', 'max_size': '4'})
    """
    ids, settings, rest = list[str](), dict[str, str](), iter(words)
    for word in rest:
        if not word.startswith("--"):
            ids.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        text = value if equals else next(rest, None)
        if text is None:
            raise ValueError(f"--{name} must have a value; inbounds studies settings ID lists the settings of a study")
        settings[name.replace("-", "_")] = text
    return ids, settings


def _available() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Progress:
    """A bar on terminals, nothing elsewhere."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __call__(self, results: Iterable[Any], total: int) -> Iterator[Any]:
        from rich.progress import track

        return iter(track(results, self.title, total, console=err, transient=True, disable=not err.is_terminal))
