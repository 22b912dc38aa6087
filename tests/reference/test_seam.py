"""Entropy enters in one private place that no public argument, field, option or environment variable reaches."""

import ast
import inspect
import re

from reference import package

SEEDS = re.compile(r"seed|rng|draws|random(?!ise|ize)|generator|entropy|urandom", re.IGNORECASE)
SYSTEM = {"urandom", "getrandom", "SystemRandom"}
"""How Python reads the system's entropy for numbers; `secrets` makes ids and tokens, which decide no report."""

SIMULATIONS = {"attack"}
"""Commands that simulate, and never draw for people."""


def test_no_public_argument_of_a_draw_names_a_seed():
    for entry in package.release_entry_points():
        named = [name for name in inspect.signature(entry).parameters if SEEDS.search(name)]
        assert not named, (entry, named)


def test_the_check_sees_an_argument_that_does():
    """A twin that must be seen: simulations take a generator."""
    assert any(SEEDS.search(name) for name in inspect.signature(package.Mechanism.simulate).parameters)


def test_no_field_of_a_plan_a_question_or_settings_names_a_seed():
    assert not [name for name in package.declared_fields() if SEEDS.search(name)]


def test_no_command_but_those_that_simulate_takes_a_seed():
    options = package.command_options()
    assert len(options) > 20
    taking = {command for command, names in options.items() if any(SEEDS.search(name) for name in names)}
    assert {command.split()[0] for command in taking} == SIMULATIONS


def test_the_operating_systems_entropy_is_read_in_one_place():
    found = []
    for file, text in package.source_files().items():
        for node in ast.walk(ast.parse(text)) if any(word in text for word in SYSTEM) else ():
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            imported = [each.name for each in node.names] if isinstance(node, ast.ImportFrom) else []
            found += [file for each in (name, *imported) if each in SYSTEM]
    assert found == [package.SEAM_FILE]


def test_nothing_but_that_file_knows_the_function_that_reads_it():
    knowing = {file: text.count(package.SEAM) for file, text in package.source_files().items() if package.SEAM in text}
    assert knowing == {package.SEAM_FILE: 2}  # it is defined, and called once
    assert package.SEAM.startswith("_")


def test_no_file_that_draws_reads_an_environment_variable():
    """`inbounds.releases.pipeline` looks up the folder of designs in one file, which draws nothing."""
    for file, text in package.source_files().items():
        if "trusted.sample" in text or file.startswith("trusted/"):
            names = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
            assert not names & {"environ", "getenv"}, file
