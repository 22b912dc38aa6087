"""Designs of requests: what is refused before anything is designed."""

from dataclasses import replace
from fractions import Fraction

import pytest

import inbounds as ib
from inbounds.query.query import KINDS
from inbounds.statistics.designs import DEFAULT_OPTIONS, DesignRequest, load_or_design
from raising import rejects


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_mechanism_of_a_known_kind_of_query_can_be_loaded(kind, tmp_path):
    request = DesignRequest(replace(ib.count(2), kind=kind), Fraction(1), DEFAULT_OPTIONS)
    load_or_design(request, tmp_path)
    (file,) = tmp_path.iterdir()
    assert ib.load(file).query == request.query


def test_a_query_of_a_kind_that_no_passport_has_is_refused_before_it_is_designed(tmp_path):
    request = DesignRequest(replace(ib.count(2), kind="range"), Fraction(1), DEFAULT_OPTIONS)
    with rejects(ValueError, about="'range'"):
        load_or_design(request, tmp_path)
    assert not list(tmp_path.iterdir())
