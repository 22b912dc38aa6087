"""The package as it is shipped: built, installed where nothing else is, and used."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import inbounds as ib

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
TABLE = "'groups': {'by': ['a'], 'keys': ['1'], 'size': 3}, 'columns': {'b': {'low': 0, 'high': 1}}, "
TABLE += "'statistics': [{'mean': 'b'}], 'privacy': {'epsilon': 1}"
EXTRAS = {
    "tables": "ib.release({'source': {'path': 'x.csv'}, " + TABLE + "})",
    "figures": "from inbounds.report import figures; figures.heatmaps([ib.catalog.uniform(ib.count(2), 1)])",
    "local": "from inbounds.local import files; from pathlib import Path; list(files.read(Path('x.parquet'), ['a']))",
    "transport": "ib.distance.transport([1, 0], [0, 1], [[0, 1], [1, 0]])",
    "frames": "ib.compare(ib.count(2), 1).to_pandas()",
    "opendp": "from inbounds.mechanism.adapters import opendp_measurement as f; f(ib.catalog.uniform(ib.count(2), 1))",
}


def call(*command: str | Path, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command away from the working copy, so that only what is installed is found."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "COV_"))}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def interpreter(version: str) -> Path | None:
    """A Python of this version on this machine: ours, pyenv's, or one on the path."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return Path(sys.executable)
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    path = [Path(folder) / f"python{version}" for folder in os.get_exec_path()]
    runs = (python for python in (*pyenv, *path) if python.is_file() and _answers(python, version))
    return next(runs, None)


def _answers(python: Path, version: str) -> bool:
    told = subprocess.run([python, "-V"], capture_output=True, text=True, check=False).stdout
    return told.startswith(f"Python {version}.")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "venv", folder / "builder", cwd=folder)
    python = folder / "builder" / "bin" / "python"
    call(python, "-m", "pip", "install", "-q", "build", "twine", cwd=folder)
    call(python, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module", params=VERSIONS)
def clean(request, built, tmp_path_factory) -> Path:
    """The Python of a new environment that holds the wheel and what it requires, without extras."""
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"Python {request.param} is not on this machine")
    folder = tmp_path_factory.mktemp(f"env{request.param}")
    call(found, "-m", "venv", folder, cwd=built)
    python = folder / "bin" / "python"
    (wheel,) = built.glob("*.whl")
    call(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel, cwd=built)
    return python


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    source = {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src" / "inbounds").rglob("*") if file.is_file()}
    source = {name for name in source if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == source
    assert {"inbounds/py.typed", "inbounds/__main__.py"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_index_would_take_both_and_show_the_readme(built):
    """What `twine check` looks at, with its warnings as errors; and the README has no link that leads nowhere."""
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    call(built / "builder" / "bin" / "twine", "check", "--strict", wheel, sdist, cwd=built)
    packed = zipfile.ZipFile(wheel)
    (place,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
    told = packed.read(place).decode()
    assert "\nDescription-Content-Type: text/markdown\n" in told
    assert "**Differentially private answers that stay in bounds" in told
    assert not re.search(r"\]\((?!https?://|#)", told.partition("\n\n")[2])


def test_the_sdist_holds_what_the_tests_and_the_pages_need(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    asked = "pyproject.toml README.md LICENSE CHANGELOG.md SECURITY.md CONTRIBUTING.md constraints.txt mkdocs.yml"
    assert {*asked.split(), "hatch_build.py", "tests/walks/test_wheel.py", "docs/index.md"} <= names
    assert "src/inbounds/py.typed" in names
    assert {"studies/pyproject.toml", "studies/src/inbounds_studies/py.typed", "studies/tests/test_studies.py"} <= names


def test_the_command_is_installed_and_says_its_version(clean, tmp_path):
    told = call(clean.parent / "inbounds", "--version", cwd=tmp_path).stdout
    assert told == call(clean, "-m", "inbounds", "--version", cwd=tmp_path).stdout == f"inbounds {ib.__version__}\n"


def test_what_is_imported_is_what_was_installed(clean, tmp_path):
    told = call(clean, "-c", "import inbounds; print(inbounds.__file__)", cwd=tmp_path).stdout
    assert Path(told.strip()).is_relative_to(clean.parents[1])


def test_every_module_of_the_core_imports_without_extras(clean, tmp_path):
    """A missing extra must be an error of the function that needs it, not of the import; pages and routes excepted."""
    code = "import importlib, pkgutil, inbounds\n"
    code += "walk = pkgutil.walk_packages(inbounds.__path__, 'inbounds.', onerror=lambda name: None)\n"
    code += "found = [m.name for m in walk if not m.name.startswith(('inbounds.curator.http', 'inbounds.studio.'))]\n"
    code += "[importlib.import_module(n) for n in found if not n.endswith('__main__')]; print(len(found))"
    assert int(call(clean, "-W", "error", "-c", code, cwd=tmp_path).stdout) > 200


@pytest.mark.parametrize(("words", "extra"), [("studio", "studio"), ("curator serve --demo", "curator")])
def test_a_command_names_the_extra_that_it_needs(clean, tmp_path, words, extra):
    refused = call(clean.parent / "inbounds", *words.split(), cwd=tmp_path, check=False)
    assert refused.returncode == 2
    assert f"inbounds[{extra}]" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_studies_say_how_to_install_them_and_are_a_command_once_they_are(clean, built, tmp_path):
    words = clean.parent / "inbounds", "studies", "list", "--json"
    refused = call(*words, cwd=tmp_path, check=False)
    assert refused.returncode == 2
    assert "pip install inbounds-studies" in refused.stderr
    call(built / "builder" / "bin" / "python", "-m", "build", "-w", "-o", tmp_path, ROOT / "studies", cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    call(clean, "-m", "pip", "install", "-q", "--no-deps", wheel, cwd=tmp_path)
    assert len(json.loads(call(*words, cwd=tmp_path).stdout)) >= 50


def test_a_design_made_here_and_there_is_the_same_mechanism(clean, tmp_path):
    """Also under another Python: same request, same whole numbers, and each reads the other's passport."""
    code = "import inbounds as ib\n"
    code += "for n, q in enumerate([ib.count(12), ib.mean(4, 0, 3), ib.extreme(0, 6)]):\n"
    code += "    ib.optimal(q, 0.5, properties=['fair'] if n == 0 else []).save(f'there{n}.json')"
    call(clean, "-W", "error", "-c", code, cwd=tmp_path)
    for n, query in enumerate([ib.count(12), ib.mean(4, 0, 3), ib.extreme(0, 6)]):
        here = ib.optimal(query, 0.5, properties=["fair"] if n == 0 else [])
        here.save(tmp_path / "here.json")
        there = ib.load(tmp_path / f"there{n}.json")
        assert (there.weights == here.weights).all()
        told = call(clean, "-m", "inbounds", "verify", "here.json", "--json", cwd=tmp_path).stdout
        assert json.loads(told)["sha256"] == json.loads((tmp_path / "here.json").read_text())["sha256"]


def test_a_changed_passport_is_refused_in_one_sentence(clean, tmp_path):
    path = tmp_path / "m.json"
    ib.catalog.explicit_fair(ib.count(4), 1).save(path)
    path.write_text(path.read_text().replace('"epsilon": "1"', '"epsilon": "2"'))
    refused = call(clean, "-m", "inbounds", "verify", path, cwd=tmp_path, check=False)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "digest" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_embedded_data_loads(clean, tmp_path):
    code = "from inbounds import data; print(len(data.adult()))"
    assert int(call(clean, "-c", code, cwd=tmp_path).stdout) > 30_000


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_is_named_in_one_sentence(clean, tmp_path, extra):
    code = "import sys, inbounds as ib\n"
    code += f"try:\n    {EXTRAS[extra]}\nexcept Exception as e: print(e)\nelse: sys.exit('nothing was missing')"
    (tmp_path / "x.csv").write_text("a,b\n1,1\n")
    told = call(clean, "-c", code, cwd=tmp_path).stdout.strip()
    assert f"inbounds[{extra}]" in told
    assert len(told.splitlines()) == 1


def test_types_are_seen_by_a_checker_outside(clean, tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text("import inbounds as ib\nreveal_type(ib.optimal(ib.count(3), 1).epsilon)\n")
    told = call(sys.executable, "-m", "mypy", "--python-executable", clean, "use.py", cwd=tmp_path, check=False).stdout
    assert '"fractions.Fraction"' in told
    assert "py.typed" not in told
