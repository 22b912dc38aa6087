"""Answers that no curator gives, and names that no address has."""

import json

import httpx
import pytest

import inbounds as ib
from inbounds.curator import CuratorError
from inbounds.errors import InboundsError
from raising import rejects

OVER = {"type": "urn:inbounds:problem:over-cap", "account": "ana", "left": "1", "detail": "no"}


def connected(status: int, text: str):
    transport = httpx.MockTransport(lambda request: httpx.Response(status, text=text))
    return ib.connect("http://here", "ib_x", transport=transport)


@pytest.mark.parametrize("text", ["{", "[]", "null", "{}", '{"datasets": 1}', '{"datasets": [1]}', "[" * 100_000])
def test_an_answer_that_no_curator_gives_is_a_curator_error(text):
    with connected(200, text) as client:
        calls = (client.datasets, client.answers, lambda: client.ask("a", count="true"))
        for call in (*calls, lambda: client.preview("a", count="true"), lambda: client.answer("a")):
            with rejects(CuratorError, about="curator"):
                call()
        with pytest.raises(InboundsError):  # a passport has words of its own
            client.mechanism("a")


@pytest.mark.parametrize("problem", [[], 1, {**OVER, "asked": "1e999999999"}, {**OVER, "asked": 1, "type": 2}])
def test_a_problem_that_no_curator_names_is_a_curator_error(problem):
    with connected(409, json.dumps(problem)) as client, rejects(CuratorError, about="status 409"):
        client.datasets()


@pytest.mark.parametrize("key", ["", "clé", "a\nb", " a", 7])
def test_a_key_that_no_header_carries_is_refused_before_it_is_sent(key):
    with connected(500, "") as client, rejects(ValueError, "key"):
        client.ask("a", count="true", key=key)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_is_no_part_of_an_address_is_refused(name):
    with connected(500, "") as client, rejects(ValueError, "name"):
        client.describe(name)
