"""000: what "The impact of range constraints on utility" claims."""

from collections.abc import Callable

from inbounds_studies.claims.claim import Beside, Claim
from inbounds_studies.paper_000 import LAPLACE, PRINTED, STAIRCASE, VARIANT_1, VARIANT_2
from inbounds_studies.paper_000_data import CAUCHY, KNOWN, SPLIT
from inbounds_studies.paper_000_order import BOUND
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table

FACE = "absolute error"
GUESS = "absolute error, best guess"


def _entries(name: str) -> Callable[[Table], list[float]]:
    return lambda table: table.where(mechanism=name).numbers("probability").tolist()


def _printed(table: str) -> tuple[str, ...]:
    return tuple(f"{p:.3f}" for p in PRINTED[table].ravel())


def _loss(name: str) -> Callable[[Table], float]:
    """The absolute loss summed over the answers, as the paper's program counts it."""
    return lambda table: sum(r["probability"] * abs(r["output"] - r["answer"]) for r in table.where(mechanism=name))  # type: ignore[operator]


def _curve(name: str, **at: float) -> Callable[[Table], float]:
    return lambda table: table.number("value", mechanism=name, measure=FACE, **at)


def _against_best(measure: str, name: str, best: str = OPTIMAL, **at: float) -> Beside:
    return Beside(measure, _curve(name, **at), _curve(best, **at))


CLAIMS = (
    Claim("000-table1", "000 Table 1", "Laplace noise snapped to 1..5 pools at the ends", "holds",
          "every printed entry; under truth 2 a report of 5 is twice as likely as 2",
          "test_table_1_is_printed_to_three_digits", _printed("table1"), _entries(LAPLACE),
          Beside("total absolute loss", _loss(LAPLACE), _loss(OPTIMAL))),
    Claim("000-table2", "000 Table 2", "the optimum with monotonicity, symmetry and fairness", "holds for part",
          "the loss is optimal; the matrix is one of several with it",
          "test_table_2_has_other_optima_than_the_printed_one", _printed("table2"), _entries(VARIANT_2),
          Beside("total absolute loss as printed, and the least with these properties", _loss("as printed"),
                 _loss(VARIANT_2))),
    Claim("000-table3", "000 Table 3", "the optimum for a count of 0..5", "holds for part",
          "one misprint: report 2 under truth 4 is 0.0901, printed 0.091",
          "test_tables_3_and_4_match_the_printed_entries", _printed("table3"), _entries(VARIANT_1),
          Beside("total absolute loss", _loss("as printed"), _loss(VARIANT_1))),
    Claim("000-table4", "000 Table 4", "the same with the four properties", "holds", "entries as printed",
          "test_tables_3_and_4_match_the_printed_entries", _printed("table4"), _entries(VARIANT_2),
          Beside("total absolute loss", _loss(VARIANT_2), _loss(OPTIMAL))),
    Claim("000-fig1", "000 §4.3", "means of n values 0..k are 1/(k·n) apart", "refuted",
          "1/n apart; one person moves the mean k steps", "test_means_of_ten_values_have_41_answers_a_tenth_apart"),
    Claim("000-fig1", "000 (22)", "the normalizer of the truncated density", "refuted",
          "a minus is lost: both exponents are negative",
          "test_the_mass_of_an_interval_has_a_minus_in_both_exponents"),
    Claim("000-fig1", "000 (25), (26)", "the loss of a Bayesian user", "refuted",
          "weighs by Pr(r) a sum that already is a joint probability",
          "test_the_printed_bayes_loss_would_weigh_by_the_output_twice"),
    Claim("000-fig1", "000 Figs. 1, 2", "the programs gain most for small databases and strong privacy", "holds",
          "at every size Variant 1 ≤ Variant 2 ≤ all others at face value",
          "test_the_gain_of_variant_1_is_largest_for_small_databases_and_strong_privacy",
          beside=_against_best("mean absolute error, snapped staircase, 8 people, ε = 0.2", STAIRCASE, size=8)),
    Claim("000-fig2", "000 Figs. 1, 2", "with best guesses Variant 2 is on par with Variant 1", "holds",
          "within 2.1 percent, for the absolute and the squared error",
          "test_with_best_guesses_variant_2_is_on_par_with_variant_1_at_every_size",
          beside=Beside("mean absolute error after a best guess, Variant 2, 8 people, ε = 0.5",
                        lambda t: t.number("value", mechanism=VARIANT_2, measure=GUESS, size=8),
                        lambda t: t.number("value", mechanism=OPTIMAL, measure=GUESS, size=8))),
    Claim("000-fig3", "000 Fig. 3", "at strong privacy snapped noise gains from coarser cells", "holds",
          "and loses to a uniform guess with fine ones",
          "test_at_strong_privacy_snapped_laplace_gains_from_coarser_cells_and_loses_to_guessing",
          beside=Beside("mean absolute error, 41 cells, ε = 1",
                        lambda t: t.number("value", epsilon=1.0, cells=41, family=LAPLACE, measure=FACE),
                        lambda t: t.number("value", epsilon=1.0, cells=41, family=VARIANT_1, measure=FACE))),
    Claim("000-fig4", "000 Fig. 4", "Variant 1 best, Variant 2 next (mean)", "holds", "at every ε, at face value",
          "test_variant_1_beats_variant_2_beats_all_others_at_face_value",
          beside=_against_best("mean absolute error, snapped Laplace, ε = 1", LAPLACE, epsilon=1.0)),
    Claim("000-fig5", "000 Fig. 5", "Variant 1 best, Variant 2 next (max)", "holds", "at every ε, at face value",
          "test_variant_1_beats_variant_2_beats_all_others_at_face_value",
          beside=_against_best("mean absolute error, snapped Laplace, ε = 1", LAPLACE, epsilon=1.0)),
    Claim("000-fig6", "000 Figs. 6, 7", "the optimum makes no use of a wider range", "holds", "equal to 10⁻⁹",
          "test_the_optimum_makes_no_use_of_a_wider_range",
          beside=_against_best("mean absolute error, staircase on the wide range, ε = 1", f"{STAIRCASE} (ext)",
                               epsilon=1.0)),
    Claim("000-fig7", "000 Figs. 6, 7", "snapping adds usability, not information", "holds",
          "it takes some away: after a best guess the wide range loses up to 3 percent less (staircase) or 9 percent "
          "less (normalized Laplace)",
          "test_after_a_best_guess_a_wider_range_tells_no_less_and_sometimes_more",
          beside=_against_best("mean absolute error, staircase on the wide range, ε = 1", f"{STAIRCASE} (ext)",
                               epsilon=1.0)),
    Claim("000-fig8", "000 Fig. 8", "Variant 1 best with Variant 2 next, on real data", "holds for part",
          "at strong privacy; from ε = 1 on they are level: answers are not uniform",
          "test_on_real_data_variant_1_is_best_at_strong_privacy_and_variant_2_next",
          beside=_against_best("mean absolute error, Variant 1, ε = 0.2 (the optimum knows the prior)", VARIANT_1,
                               KNOWN, epsilon=0.2)),
    Claim("000-fig9", "000 Fig. 9", "smooth sensitivity performs poorly", "holds for part",
          "with the scale 8S/ε; with a split chosen on public groups it errs least of the practical ones from ε = 1",
          "test_smooth_sensitivity_with_its_best_split_overtakes_the_programs_at_weak_privacy",
          beside=Beside("mean absolute error, ε = 2: 8S/ε, then the best split", _curve(CAUCHY, epsilon=2.0),
                        _curve(SPLIT, epsilon=2.0))),
    Claim("000-order", "000 Theorem 3", "closer reports lose no more for every non-decreasing loss", "holds",
          "and the other way round; most pairs cannot be compared, as section 4.4 says",
          "test_closer_reports_lose_no_more_for_any_loss_that_does_not_fall"),
    Claim("000-order", "000 Corollary 1", "what minimizes a non-decreasing loss is minimal in the order",
          "holds for part",
          "for losses that grow with the error; for others a minimizer can have a closer one of equal loss",
          "test_a_minimizer_of_a_loss_that_does_not_grow_need_not_be_minimal"),
    Claim("000-order", "000 §3.1", "what can be had by a remap is never better", "holds",
          "remaps of the geometric mechanism are both optima, staircase and Laplace; it is closer than neither optimum",
          "test_the_geometric_mechanism_refines_what_is_derived_from_it_and_not_the_other_way"),
    Claim("000-large", "000 §4.4 (open: larger databases)", "for many records the mechanisms' losses converge", "holds",
          "no private mean beats the snapped staircase by more than cosh(ε/2), 1.031 at ε = 0.5, as n grows",
          "test_no_mean_of_many_beats_the_staircase_by_more_than_cosh_half_epsilon",
          beside=Beside("mean absolute error of 300 people in units of k/n, staircase and a proved bound, ε = 0.5",
                        lambda t: t.number("value", size=300, mechanism=STAIRCASE),
                        lambda t: t.number("value", size=300, mechanism=BOUND))),
)  # fmt: skip
