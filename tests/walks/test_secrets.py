"""No secret escapes: what touched a true answer never repeats it, in words, errors, warnings, logs or pickles."""

import logging
import pickle
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws.noise import make_geometric_noise

CANARY = 31337
TRACES = ("31337", "7a69", "7A69")


def queries():
    return {
        "count": ib.count(100),
        "mean": ib.mean(10, 0, 7),
        "interval": ib.interval(0, 100, 10, 10),
        "holes": ib.interval(0, 100, 10, 10, holes=[(20, 40)]),
        "ordinal": ib.ordinal(0, 100),
        "extreme": ib.extreme(0, 100),
        "category": ib.category(["a", "b"]),
    }


BAD_ANSWERS = [
    CANARY,
    -CANARY,
    CANARY + 0.5,
    float(CANARY) * 1e300,
    f"{CANARY}",
    f"person {CANARY}",
    [CANARY, 1],
    [[1, 2], [CANARY, 3]],
    [[1], [CANARY, 3]],
    np.array([CANARY], dtype=np.uint16),
    np.array([CANARY], dtype=object),
    Fraction(CANARY, 7),
    Decimal(CANARY),
    complex(CANARY, 1),
    {"answer": CANARY},
    [1, f"{CANARY}"],
    [None, CANARY],
    (CANARY, object()),
    np.array([str(CANARY)]),
    np.array(CANARY, dtype="m8[s]"),
    10**400 + CANARY,
    bytes(str(CANARY), "ascii"),
]


def everything_said(error: BaseException) -> str:
    """All text that an error carries along: message, args, attributes, notes, causes and contexts."""
    said, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        said += [str(error), repr(error), repr(error.args), repr(vars(error))]  # notes are among the vars
        said += traceback.format_exception_only(type(error), error)
        error = error.__cause__ or error.__context__
    return "\n".join(said)


@pytest.mark.parametrize("kind", list(queries()))
def test_a_refused_true_answer_is_not_repeated_anywhere(kind, caplog, subtests):
    made = ib.catalog.uniform(queries()[kind], 1)
    for k, answer in enumerate(BAD_ANSWERS):
        with subtests.test(kind=type(answer).__name__, number=k):
            refuses_without_a_trace(made, answer, caplog)


def refuses_without_a_trace(made, answer, caplog):
    """The error, its whole chain and pickle, the warnings and the log: no trace of the planted value."""
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for use in (made.sample, made.query.encode, lambda a: made.simulate(a, np.random.default_rng(1))):
            with pytest.raises((ValueError, TypeError)) as caught:
                use(answer)
            text = everything_said(caught.value)
            text += repr(pickle.dumps(caught.value))
            assert not any(trace in text for trace in TRACES), text
    assert not any(trace in str(w.message) for w in warned for trace in TRACES)
    assert not any(trace in caplog.text for trace in TRACES)
    assert not any(trace in repr(made) + repr(pickle.dumps(made)) for trace in TRACES)


def test_the_canary_would_be_found_if_it_were_there():
    """The twin that must fail: an error that quotes its value is caught by the same search."""
    noted = KeyError("hidden")
    noted.add_note(f"person {CANARY}")
    chained = KeyError("hidden")
    chained.__context__ = ValueError(f"person {CANARY}")
    for loud in (noted, chained, ValueError(CANARY)):
        assert any(trace in everything_said(loud) for trace in TRACES)
    assert not any(trace in everything_said(KeyError("hidden")) for trace in TRACES)
    assert any(trace in repr(pickle.dumps(str(CANARY))) for trace in TRACES)


@pytest.mark.parametrize("law", ["matrix", "noise"])
def test_a_mechanism_remembers_nothing_of_what_it_was_asked(law):
    """Sampling leaves repr, str, hash and pickle as they are for a mechanism that never saw an answer."""
    query = ib.count(100)
    if law == "matrix":
        fresh, used = (ib.catalog.truncated_geometric(query, 1) for _ in range(2))
    else:
        held = make_geometric_noise(query, Fraction(1)), make_geometric_noise(query, Fraction(1))
        fresh, used = (Mechanism(query, Fraction(1), law, Origin("by hand")) for law in held)
    used.sample(73)
    used.sample([73] * 1000)
    used.simulate(73, np.random.default_rng(0))
    assert pickle.dumps(used) == pickle.dumps(fresh)
    assert (repr(used), str(used), hash(used)) == (repr(fresh), str(fresh), hash(fresh))
    fresh.sample(12)
    for name in vars(used.law):
        assert pickle.dumps(vars(used.law)[name]) == pickle.dumps(vars(fresh.law)[name])


def test_saving_after_sampling_writes_the_same_passport(tmp_path):
    made = ib.catalog.truncated_geometric(ib.count(100), 1)
    made.save(tmp_path / "before.json")
    made.sample([73] * 100)
    made.save(tmp_path / "after.json")
    assert (tmp_path / "before.json").read_bytes() == (tmp_path / "after.json").read_bytes()


def test_sampling_writes_nothing_to_the_screen(capfd):
    ib.catalog.truncated_geometric(ib.count(100), 1).sample([73] * 10)
    assert capfd.readouterr() == ("", "")
