"""What strangers hand us: files that ask for too much, types that lie, words that claim more than was checked."""

import copy
import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds import files
from inbounds.cli.verify import verify
from inbounds.files import Document
from inbounds.files.bounded import parse_json, parse_toml
from inbounds.mechanism import Mechanism, Optimality, Origin, load
from inbounds.mechanism import passport as passports
from inbounds.mechanism.audit import log_upper_bound
from inbounds.mechanism.json_values import parse_fraction
from inbounds.mechanism.laws import Matrix, Noise, clamped
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.properties import measure_properties, square_layout
from inbounds.query import AllPairs, Metric, OutputCells, RangeQuery, Reach, Scale, with_neighbours
from inbounds.releases.pipeline import PlanError, load_plan
from inbounds.report import wording
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.limits import DEEPEST, MOST_ANSWERS
from raising import raises_at, rejects

GEOMETRIC = ib.catalog.truncated_geometric


def changed(made, **parts):
    """The passport with these parts replaced, and a digest to match."""
    return Document.wrap(files.MECHANISM, {**passports.to_passport(made).content, **parts})


def even_noise(size: int, end: int = 2**40) -> Noise:
    """Noise that is almost always 0, over any number of steps."""
    return Noise(np.array([TOTAL - 2 * (size - 1) - 2 * end]), 1, end, size)


# --- small files that ask for much ------------------------------------------------------------------------


@pytest.mark.parametrize(("reach", "about"), [(1, "losses"), (2**20, "1048576 steps"), (2**33, "8589934592 steps")])
def test_a_noise_table_of_2_to_the_34_answers_is_refused_at_once(reach, about):
    answers = {"start": "0", "unit": "1", "size": 2**34}
    law = {"noise": {"core": str(TOTAL - 2 * (2**34 - 2) - 2**41), "floor": "1", "end": str(2**40), "remap": None}}
    law["noise"]["size"] = str(2**34 - 1)
    made = GEOMETRIC(ib.count(3), 1)
    query = {**passports.to_passport(made).content["query"], "answers": answers, "neighbours": {"reach": reach}}
    with rejects(ib.PassportError, about=about):
        load.mechanism_from_document(changed(made, query=query, law=law, epsilon="64"))


def test_a_count_of_2_to_the_40_people_is_sampled_saved_and_read(tmp_path):
    made = GEOMETRIC(ib.count(2**40), 1)
    assert abs(made.sample(2**39) - 2**39) < 100
    assert made.sample([0, 2**40]).dtype == np.int64
    made.save(tmp_path / "m.json")
    assert ib.load(tmp_path / "m.json") == made
    with rejects(ib.TooLarge, about="written"):
        made.loss("absolute")


def test_a_query_has_at_most_2_to_the_53_answers():
    assert len(ib.count(MOST_ANSWERS - 1).answers) == MOST_ANSWERS
    for size in (MOST_ANSWERS, 2**64, 10**30):
        with rejects(ValueError, about="2**53"):
            ib.count(size)


def test_cells_that_are_not_one_per_answer_are_bounded_in_a_file():
    made = GEOMETRIC(ib.count(5, outputs=2), 1)
    query = json.loads(json.dumps(passports.to_passport(made).content["query"]))
    for part in query["outputs"].values():
        part["size"] = 2**34
    with rejects(ib.PassportError, about="8192"):
        load.mechanism_from_document(changed(made, query=query))


def test_a_remap_of_many_steps_to_two_outputs_costs_no_square_of_the_steps():
    """60,000 steps: written out before the remap they would take 27 gigabytes."""
    query = ib.count(60_000, outputs=2)
    remap = (np.arange(60_001) > 30_000).astype(np.int64)
    law = make_geometric_noise(ib.count(60_000), Fraction(1), remap)
    made = Mechanism(query, Fraction(1), law, Origin("by hand"))
    assert made.weights.shape == (2, 60_001)
    assert (made.weights.sum(axis=0) == TOTAL).all()
    small = make_geometric_noise(ib.count(6), Fraction(1), np.array([0, 1, 0, 1, 1, 0, 1]))
    expected = np.zeros((2, 7), dtype=np.int64)
    np.add.at(expected, small.remap, small.clamped_matrix())
    assert (small.matrix(ib.count(6, outputs=2)) == expected).all()
    back_and_forth = make_geometric_noise(ib.count(60_000), Fraction(1), np.arange(60_001) % 2)
    with pytest.raises(ib.TooLarge):
        back_and_forth.matrix(query)


def test_ticks_far_apart_are_refused_in_a_file_and_cost_nothing_in_python():
    made = GEOMETRIC(ib.interval(0, 2, 1, 2), 1)
    query = {
        **passports.to_passport(made).content["query"],
        "answers": {"start": "0", "unit": "1", "ticks": "0 1000000000000"},
    }
    query["neighbours"] = {"reach": 10**12}
    with rejects(ib.PassportError, about="together"):
        load.mechanism_from_document(changed(made, query=query))
    scale = Scale(Fraction(0), Fraction(1), (0, 10**12))
    wide = RangeQuery("interval", scale, OutputCells.one_per_answer(scale), Reach(10**12), rounds=True)
    assert wide.encode([0.25, 1e12]).tolist() == [0, 1]


def test_nesting_is_bounded_before_anything_is_parsed(tmp_path):
    for deep in ("[" * 992 + "]" * 992, '{"a":' * 992 + "1" + "}" * 992, "[" * 100_000):
        (tmp_path / "m.json").write_text(deep)
        with rejects(ib.PassportError, about=f"at most {DEEPEST}"):
            ib.load(tmp_path / "m.json")
    for deep in ("a = " + "[" * 900 + "]" * 900, "a = " + "{a = " * 900 + "1" + "}" * 900, "a." * 900 + "b = 1"):
        (tmp_path / "plan.toml").write_text(deep)
        with raises_at(PlanError, (), about=f"nested at most {DEEPEST} deep"):
            load_plan(tmp_path / "plan.toml")


@given(st.text(alphabet="[]{}\",:\\a'#=.\n", max_size=60))
@settings(max_examples=200)
def test_brackets_within_strings_do_not_nest(text):
    quoted = json.dumps("[" * 100 + text)
    assert parse_json(f'{{"a": {quoted}}}') == {"a": "[" * 100 + text}
    assert parse_toml(f"a = {quoted}\n") == {"a": "[" * 100 + text}
    assert parse_toml(f"a = 1 # {'[' * 100}\nb = '{'[' * 100}'\nc = '''\n{'[' * 100}'''\n")["b"] == "[" * 100


def test_a_product_of_keys_is_bounded(tmp_path):
    columns = [chr(97 + k) for k in range(20)]
    listed = ", ".join(f"{name} = [1, 2, 3]" for name in columns)
    text = f"[groups]\nby = {json.dumps(columns)}\nkeys = {{ {listed} }}\nsize = 3\n[privacy]\nepsilon = 1\n"
    (tmp_path / "plan.toml").write_text(text + '[source]\npath = "x.csv"\n[[statistics]]\ncount = "true"\n')
    with raises_at(PlanError, ("groups", "keys"), about="must combine to at most"):
        load_plan(tmp_path / "plan.toml")


def test_huge_numbers_in_a_record_are_refused_before_they_are_computed():
    with rejects(ValueError, about="exact"):
        parse_fraction("1e999999999")
    with rejects(ValueError, "an exact number", about="1500"):
        parse_fraction("1/" + "7" * 100_000)


def test_a_refusal_never_moves_the_cursor():
    assert str(ib.PassportError("a\x1b[2Ab\nc")) == r"a\x1b[2Ab\nc"
    assert str(PlanError("must not be \x07", ("a\nb",))) == r"a\nb must not be \x07"


# --- closed forms that stand in for large tables ----------------------------------------------------------


@st.composite
def noise_tables(draw):
    """Any table of positive weights: skew, bumpy, with a heavy or a light floor."""
    half, run = draw(st.integers(0, 4)), draw(st.integers(0, 12))
    size = half + 1 + run
    weights = draw(st.lists(st.integers(1, 2**50), min_size=2 * half + 1, max_size=2 * half + 1))
    floor, end = draw(st.integers(1, 2**50)), draw(st.integers(1, 2**50))
    weights[half] += TOTAL - sum(weights) - 2 * run * floor - 2 * end
    return Noise(np.array(weights), floor, end, size)


@given(noise_tables(), st.sampled_from(["absolute", "squared", "zero-one"]))
@settings(max_examples=100)
def test_the_average_loss_of_a_noise_table_in_closed_form_is_the_sum_over_its_matrix(law, name):
    n = law.size
    step = {"absolute": abs, "squared": lambda e: e * e, "zero-one": lambda e: int(e != 0)}[name]
    matrix = law.clamped_matrix()
    direct = sum(int(matrix[i, j]) * step(i - j) for i in range(n + 1) for j in range(n + 1))
    assert clamped.clamped_average(law, name) == Fraction(direct, TOTAL * (n + 1))


@given(noise_tables())
@settings(max_examples=300)
def test_the_properties_of_a_shortened_noise_table_are_those_of_the_whole(law):
    short = law.shorten()
    whole = measure_properties(law.clamped_matrix(), square_layout(law.size + 1), TOTAL)
    assert (
        measure_properties(short.clamped_matrix(), square_layout(short.size + 1), TOTAL, outputs=law.size + 1) == whole
    )


# --- types that lie ---------------------------------------------------------------------------------------


class NobodyIsNear(Reach):
    def cliques(self, answers):
        return iter(())


class AllAlike(AllPairs):
    def cliques(self, answers):
        return iter(())


class FarUnit(Metric):
    def cliques(self, answers):
        return iter(())


class Generous(Fraction):
    """A fraction that multiplies to something larger than it is."""

    def __mul__(self, other):
        return Fraction(64)

    __rmul__ = __mul__


class Slippery(int):
    def __gt__(self, other):
        return False

    __lt__ = __ge__ = __gt__

    def __rmul__(self, other):
        return 0

    __mul__ = __rmul__


class ShortScale(Scale):
    def __len__(self):
        return 2


class Named(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize("liar", [NobodyIsNear(1), AllAlike(), FarUnit()])
def test_neighbours_that_are_only_a_kind_of_neighbours_are_refused(liar):
    with rejects(TypeError, "neighbours"):
        with_neighbours(ib.count(3), liar)


def test_scales_cells_and_texts_that_are_only_a_kind_of_them_are_refused():
    plain = ib.count(3)
    short = ShortScale(Fraction(0), Fraction(1), range(4))
    odd = Scale(Generous(0), Fraction(1), range(4))
    ticks = Scale(Fraction(0), Fraction(1), (0, type("Kind", (int,), {})(1), 3))
    for answers in (short, odd, ticks):
        with rejects(TypeError, about="Scale"):
            RangeQuery("total", answers, OutputCells.one_per_answer(plain.answers), Reach(1))
    with rejects(TypeError, "outputs"):
        RangeQuery("total", plain.answers, type("Kind", (OutputCells,), {})(*vars(plain.outputs).values()), Reach(1))
    with rejects(TypeError, "kind"):
        RangeQuery(Named("count"), plain.answers, plain.outputs, Reach(1))
    with rejects(TypeError, "labels"):
        RangeQuery("category", plain.answers, plain.outputs, AllPairs(), labels=(Named("a"), "b", "c", "d"))
    assert ib.category(np.array(["a", "b"])).labels == ("a", "b")


def test_an_epsilon_that_calculates_differently_is_made_plain():
    identity = Matrix(np.array([[TOTAL - 1, 1], [1, TOTAL - 1]]))
    with pytest.raises(ib.PrivacyViolation):
        Mechanism(ib.count(1), Generous(1), identity, Origin("a lie"))
    assert type(GEOMETRIC(ib.count(1), Generous(1)).epsilon) is Fraction


def test_noise_weights_that_calculate_differently_are_made_plain():
    law = Noise(np.array([TOTAL - 4]), Slippery(1), Slippery(1), Slippery(2))
    assert [type(part) for part in (law.floor, law.end, law.size)] == [int] * 3
    with pytest.raises(ib.PrivacyViolation):
        Mechanism(ib.count(2), 1, law, Origin("a lie"))


def arrays_of(made):
    """Every array that a draw reads."""
    sampler = made.law.sampler(made.query)
    found = [sampler.table.packed.array, made.query.output_values, made.query.home_cell, made.weights, made.matrix]
    if isinstance(made.law, Noise):
        found += [sampler.base.array, sampler.slope.array, sampler.remap.array, made.law.core, made.law.remap]
    else:
        found.append(made.law.weights)
    return found


def noise_with_remap():
    query, law = ib.mean(3, 0, 2, outputs=2), make_geometric_noise(ib.mean(3, 0, 2), Fraction(1))
    return Mechanism(query, 1, Noise(law.core, law.floor, law.end, law.size, np.array([0] * 4 + [1] * 3)), Origin("x"))


@pytest.mark.parametrize("again", [lambda m: m, copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("make", [lambda: GEOMETRIC(ib.count(3), 1), noise_with_remap])
def test_nothing_that_a_sampler_reads_can_be_written_to(make, again):
    made = make()
    arrays_of(made)  # whatever is kept is kept before it is copied
    for array in arrays_of(again(made)):
        while isinstance(array, np.ndarray):
            assert not array.flags.writeable
            with rejects(ValueError, about="WRITEABLE"):
                array.setflags(write=True)
            array = array.base
        assert type(array) is bytes


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Numpy itself advises against some of them
@pytest.mark.parametrize("header", [("dtype", ">i8"), ("strides", (0, 0)), ("shape", (-1,))], ids=lambda pair: pair[0])
def test_an_array_read_with_another_type_or_stride_changes_no_draw(header):
    """The memory is immutable, the description of it in front is not: draws go by their own."""
    made, same = GEOMETRIC(ib.count(3), 1), GEOMETRIC(ib.count(3), 1)
    setattr(made.law.weights, *header)
    setattr(made.law.sampler(made.query).table.packed.array, *header)
    draws = [m.simulate([0, 1, 2, 3] * 50, np.random.default_rng(5)).tolist() for m in (made, same)]
    assert draws[0] == draws[1]
    assert made.tight_epsilon() == same.tight_epsilon()


def test_labels_that_are_written_to_change_no_report():
    made = ib.catalog.randomized_response(ib.category(["a", "b"]), "1/100")
    made.query.output_values[:] = "c"
    assert set(made.sample(["a"] * 200)) == {"a", "b"}


def test_a_copy_of_a_multi_level_release_is_checked_anew():
    made = copy.deepcopy(ib.make_chain(ib.count(2), [1, "1/2"]))
    assert not made.remaps[0].flags.writeable


# --- words that claim more than was checked ---------------------------------------------------------------


def test_an_extreme_whose_neighbours_are_one_step_apart_promises_nothing_whatever_the_record():
    made = GEOMETRIC(with_neighbours(ib.extreme(0, 5), Reach(1)), 1)
    back = load.mechanism_from_document(passports.to_passport(made))
    assert "Whatever one person's record is" not in wording.format_guarantee(back)
    assert "under another at most 1 away" in wording.format_guarantee(back)
    assert "nothing says so of the kind 'extreme'" in wording.format_guarantee(back)


@pytest.mark.parametrize(
    "query",
    [
        ib.count(5),
        ib.total(3, 0, 4),
        ib.mean(3, 0, 4),
        ib.extreme(0, 4),
        ib.interval(0, 1, "0.3", 5),
        ib.category(["a", "b"]),
        with_neighbours(ib.count(5), AllPairs()),
    ],
    ids=lambda query: query.kind,
)
def test_the_kinds_with_their_own_neighbours_promise_it_whatever_the_record(query):
    assert wording.format_guarantee(ib.catalog.uniform(query, 1)).startswith("Whatever one person's record is")


@pytest.mark.parametrize(
    "query",
    [
        with_neighbours(ib.ordinal(0, 5), Reach(1)),
        with_neighbours(ib.mean(3, 0, 4), Reach(5)),
        RangeQuery("whatever", ib.count(3).answers, ib.count(3).outputs, Reach(1)),
    ],
    ids=["ordinal", "mean", "unknown"],
)
def test_other_neighbours_than_the_kind_has_are_said_differently(query):
    assert "Whatever one person's record is" not in wording.format_guarantee(ib.catalog.uniform(query, 1))


def designed(objective: str, value: float) -> Mechanism:
    made = GEOMETRIC(ib.count(4), 1)
    return Mechanism(made.query, made.epsilon, made.law, made.origin, Optimality(objective, value, min(value, 0.0)))


@pytest.mark.parametrize("aim", ["average", "worst"])
@pytest.mark.parametrize(
    "loss",
    [ib.losses.absolute, ib.losses.squared, ib.losses.zero_one, ib.threshold_loss(1), ib.power_loss("3/2")],
    ids=lambda loss: loss.name,
)
def test_the_value_of_an_objective_with_a_name_is_recomputed(aim, loss):
    made = GEOMETRIC(ib.count(4), 1)
    value = made.loss(loss) if aim == "average" else made.worst_loss(loss)
    objective = f"{aim} {loss.name} loss"
    true = load.mechanism_from_document(passports.to_passport(designed(objective, value)))
    assert not any(objective in claim and "that its" in claim for claim in true.unchecked_claims)
    with rejects(ib.PassportError, about="objective"):
        load.mechanism_from_document(passports.to_passport(designed(objective, value + 1e-6)))


@pytest.mark.parametrize("objective", ["mean absolute loss", "average absolute loss under the given prior", "best"])
def test_any_other_objective_is_claimed_and_not_checked(objective, tmp_path, capsys):
    back = load.mechanism_from_document(passports.to_passport(designed(objective, 0.001)))
    assert f"that its {objective} is 0.001" in back.unchecked_claims
    back.save(tmp_path / "m.json")
    verify([tmp_path / "m.json"], every=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "Claimed, not checked" in said
    assert f"that its {objective} is 0.001" in said
    assert "0.001 (claimed, not checked)" in said


def test_the_bound_the_kind_and_the_origin_are_always_claimed():
    said = "; ".join(designed("average absolute loss", 1.0).unchecked_claims)
    for claim in ("the question is a count", "one person moves its answer by at most 1", "comes from", "than 0"):
        assert claim in said


# --- audits -----------------------------------------------------------------------------------------------


def test_an_audit_neither_underflows_nor_overflows():
    tiny = ib.audit([["1e-350", "1e-400"], ["1", "1"]], ib.count(1))
    assert tiny.epsilon == pytest.approx(50 * math.log(10), rel=1e-15)
    assert ib.audit([[Decimal("1e-350"), Decimal("1e-400")], [1, 1]], ib.count(1)) == tiny
    assert ib.audit([[Fraction(1, 10**350), Fraction(1, 10**400)], [1, 1]], ib.count(1)) == tiny
    vast = ib.audit([["1e400", "1"], ["1e400", "2e400"]], ib.count(1))
    assert vast.epsilon == pytest.approx(400 * math.log(10), rel=1e-15)
    assert vast.ratio == math.inf
    floats = ib.audit([[1e308, 5e-324], [5e-324, 1e308]], ib.count(1))
    assert floats.epsilon == pytest.approx(math.log(1e308) - math.log(5e-324), rel=1e-15)
    nearly = Fraction(10**400 + 1, 10**400)
    assert 0 < ib.audit([[nearly, 1], [1, nearly]], ib.count(1)).epsilon <= 5e-324


@given(st.integers(1, 2**62), st.integers(1, 2**62))
@settings(max_examples=300)
def test_an_audit_is_the_least_float_above_the_truth_or_the_next(judge, a, b):
    found = ib.audit([[a, b], [b, a]], ib.count(1)).epsilon
    ratio = Fraction(max(a, b), min(a, b))
    assert judge.exp(Fraction(found))[1] >= ratio  # not below the truth
    below = math.nextafter(math.nextafter(found, 0.0), 0.0)
    if below > 0:
        assert judge.exp(Fraction(below))[0] < ratio  # nor two floats above it


def test_floats_are_audited_as_the_binary_numbers_they_are():
    high, low = Fraction(0.3), Fraction(0.1)
    assert ib.audit([[0.3, 0.1], [0.1, 0.3]], ib.count(1)).epsilon == log_upper_bound(high / low)
    assert ib.audit(np.array([[0.3, 0.1], [0.1, 0.3]], dtype=np.float32), ib.count(1)).epsilon == log_upper_bound(
        Fraction(float(np.float32(0.3))) / Fraction(float(np.float32(0.1)))
    )


def test_the_worst_pair_is_found_where_floats_see_a_tie():
    """2^62 and 2^62 - 1 are one float: only whole numbers tell that the second row is worse."""
    matrix = [[2**62 - 1, 2**61, 2**62], [2**61, 2**62 - 1, 2**61 - 1], [2**61, 2**61, 2**61]]
    found = ib.audit(matrix, ib.count(2))
    assert (found.output, found.answers) == (1, (1, 2))
    assert found.epsilon == log_upper_bound(Fraction(2**62 - 1, 2**61 - 1))


@given(noise_tables(), st.integers(1, 20), st.booleans())
@settings(max_examples=100)
def test_the_effective_epsilon_of_a_noise_table_is_that_of_its_matrix(law, reach, remapped):
    query = with_neighbours(ib.count(law.size), Reach(reach))
    if remapped:
        law = Noise(law.core, law.floor, law.end, law.size, np.arange(law.size + 1)[::-1] // 2)
    try:
        made = Mechanism(query, 64, law, Origin("by hand"))
    except ib.PrivacyViolation:
        return
    assert made.tight_epsilon() == ib.audit(made.weights, query).epsilon


def test_a_noise_table_declared_at_64_says_what_it_really_loses():
    made = GEOMETRIC(ib.count(10**5), "0.1")
    declared = Mechanism(made.query, 64, made.law, made.origin)
    assert 0.0999 < declared.tight_epsilon() <= 0.1
    assert load.mechanism_from_document(passports.to_passport(declared)) == declared
