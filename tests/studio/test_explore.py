"""Explore: what is copied gives the same mechanism, every state is a URL, what cannot be asked gets a sentence."""

import shlex
from urllib.parse import parse_qsl

import httpx
import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.files.bounded import parse_toml
from inbounds.plan.load import parse_design_options
from inbounds.studio.explore import snippets
from inbounds.studio.explore.designs import attack, design, design_loss, loss_curve, property_costs
from inbounds.studio.explore.state import ExploreState
from inbounds.studio.jobs import STOPPED, JobQueue

QUESTIONS = [
    ExploreState(size="6"),
    ExploreState(size="5", epsilon="1/3", loss="squared", aim="worst"),
    ExploreState(size="6", epsilon="1", require=("fair", "column_monotone"), loss="off-by-more-than", beyond="1"),
    ExploreState(size="6", prior="binomial", numbers="0.3", loss="power", beyond="1.5"),
    ExploreState(size="6", prior="normal", numbers="2, 1.5", limits="off-by-more-than-3=0.4; average squared=9"),
    ExploreState(kind="mean", size="3", low="1", high="4", epsilon="2"),
    ExploreState(kind="total", size="3", low="0", high="2"),
    ExploreState(kind="extreme", low="1", high="6"),
    ExploreState(kind="interval", low="0", high="1", sensitivity="0.2", cells="8", epsilon="1"),
    ExploreState(kind="category", labels="yes, it's 'no', \"so\"", loss="zero-one"),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_copied_script_makes_the_mechanism_that_is_shown(question: ExploreState) -> None:
    made: dict[str, ib.Mechanism] = {}
    exec(snippets.python_snippet(question), made)
    assert made["m"].sha256 == design(question).sha256


def test_a_named_mechanism_is_copied_too() -> None:
    question, made = ExploreState(size="6", mechanism="truncated_geometric"), {}
    exec(snippets.python_snippet(question), made)
    assert made["m"].sha256 == design(question).sha256


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.prior == "uniform"])
def test_the_copied_command_makes_the_mechanism_that_is_shown(
    question: ExploreState, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    program, *words = shlex.split(snippets.command_snippet(question))
    assert program == "inbounds"
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert ib.load("m.json").sha256 == design(question).sha256


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_copied_lines_of_a_plan_wish_for_the_same(question: ExploreState) -> None:
    content = parse_toml(snippets.plan_snippet(question))
    options = parse_design_options(content["design"])
    assert options.loss == question.loss_name
    assert tuple(options.properties) == question.require
    assert list(options.limits) == question.limit_texts
    assert str(content["privacy"]["epsilon"]) == question.epsilon
    assert [str(part) for part in (options.prior or ())[1:]] == [
        str(ib.exact.to_fraction(n, "n")) for n in question.prior_numbers
    ]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_url_holds_the_whole_state(question: ExploreState) -> None:
    again = ExploreState.from_pairs(parse_qsl(question.url))
    assert again.url == question.url
    assert snippets.python_snippet(again) == snippets.python_snippet(question)


def test_a_property_costs_what_its_design_loses_more() -> None:
    question = ExploreState(size="6")
    free = design_loss(question, design(question))
    for own in property_costs(question):
        best = ib.optimal(ib.count(6), "0.5", properties=[own.name])
        assert own.loss == pytest.approx(best.loss(), rel=1e-9)
        assert own.factor == pytest.approx(best.loss() / free, rel=1e-9)


def test_losses_fall_with_epsilon_and_with_more_answers() -> None:
    question = ExploreState(size="6")
    losses = [loss for _, loss in loss_curve(question)]
    assert losses == sorted(losses, reverse=True)
    exact = [loss for _, _, loss, error in attack(question).rows if error == 0]
    assert exact == sorted(exact, reverse=True)
    assert exact[0] == pytest.approx(design(question).bayes_loss())


@pytest.mark.long
def test_pages_show_a_sentence_for_what_cannot_be_asked(client: httpx.Client) -> None:
    for query, word in [
        ("kind=nothing", "kind must be one of"),
        ("kind=count&size=0", "size must be"),
        ("kind=count&size=9&epsilon=-1", "epsilon"),
        ("kind=count&size=9&epsilon=1&loss=wrong", "loss must be"),
        ("kind=count&size=9&epsilon=1&require=fiar", "fair"),
        ("kind=count&size=9&epsilon=1&prior=binomial&numbers=2", "between 0 and 1"),
        ("kind=count&size=9&epsilon=1&limits=off-by-more-than-1%3D0", "at most"),
        ("kind=count&size=99999999&epsilon=1", "too many"),
        ("kind=count&size=9&epsilon=1&mechanism=nothing", "mechanism must be"),
    ]:
        answer = client.get(f"/explore?{query}&show=curve")  # waits for the answer
        assert answer.status_code == 200
        assert 'class="refused"' in answer.text, query
        assert word in answer.text, query


@pytest.mark.long
def test_markup_in_a_question_is_shown_and_not_obeyed(client: httpx.Client) -> None:
    evil = "<script>alert(1)</script>"
    for query in (
        f"kind={evil}",
        f"labels={evil},b&kind=category&epsilon=1",
        f"read={evil}",
        f"a={evil}",
        f"loss={evil}",
    ):
        text = client.get("/explore", params=dict(parse_qsl(query))).text
        assert "<script>alert" not in text


def test_a_part_is_a_fragment_and_tells_the_canonical_url(client: httpx.Client) -> None:
    answer = client.get("/explore?kind=count&size=4&epsilon=1&low=9", headers={"x-part": "1"})
    assert "<html" not in answer.text
    assert answer.headers["x-url"] == "/explore?kind=count&size=4&epsilon=1"


# --- work in other processes ------------------------------------------------------------------------------


def test_the_same_request_is_one_job_and_another_is_another(work: JobQueue) -> None:
    first = work.ask(design, ExploreState(size="3"))
    assert work.ask(design, ExploreState(size="3")) is first
    assert work.ask(design, ExploreState(size="4")) is not first
    assert first.is_ready(60)
    assert first.result.sha256 == design(ExploreState(size="3")).sha256


def test_a_job_that_is_stopped_ends_its_process_and_leaves_the_others(work: JobQueue) -> None:
    long = work.ask(
        design, ExploreState(kind="total", size="80", high="9", low="0", require=("row_monotone",), aim="worst")
    )
    short = work.ask(design, ExploreState(size="7"))
    assert short.is_ready(60)
    work.stop(long)
    assert long.is_ready(0)
    assert long.failure is STOPPED
    assert work.ask(design, ExploreState(size="8")).is_ready(60)


def test_a_refusal_comes_back_as_its_sentence(work: JobQueue) -> None:
    job = work.ask(design, ExploreState(size="5", limits="off-by-more-than-1=0"))
    assert job.is_ready(60)
    assert job.failure is not None
    assert "at most" in job.failure.sentence


def test_the_proof_is_of_mechanisms_with_the_properties_asked_for(client: httpx.Client) -> None:
    asked = "/explore?kind=count&size=6&epsilon=0.5"
    assert "Proved: no private mechanism has a smaller average" in client.get(asked).text
    assert (
        "no private mechanism that is row honest and fair has"
        in client.get(f"{asked}&require=row_honest&require=fair").text
    )
