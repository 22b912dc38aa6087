"""003: what "Constrained private mechanisms for count data" claims."""

from collections.abc import Callable

import numpy as np

from inbounds_studies.claims.claim import Beside, Claim
from inbounds_studies.paper_003 import EM, GM, PRINTED, PRINTED_FIRST, PRINTED_SECOND, UM, WH, WM
from inbounds_studies.paper_003_data import KNOWN
from inbounds_studies.paper_003_ranges import GUESSED
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table


def _truth(name: str) -> Callable[[Table], float]:
    """The mean chance of the truth."""
    return lambda table: float(np.mean([r["probability"] for r in table.where(mechanism=name)
                                        if r["output"] == r["answer"]]))  # fmt: skip


def _score(name: str, **at: object) -> Callable[[Table], float]:
    return lambda table: table.number("value", mechanism=name, **at)  # type: ignore[arg-type]


def _met(alpha: str, last: int) -> Callable[[Table], float]:
    """The least n from which weak honesty without column monotonicity scores what GM scores."""

    def found(table: Table) -> float:
        level = next(a for a in table.distinct("alpha") if abs(a - float(alpha)) < 1e-3)
        part = table.where(alpha=level)
        own, free = (part.where(mechanism=name).numbers("value") for name in (WH, GM))
        sizes = part.where(mechanism=GM).numbers("n")
        return float(sizes[np.isclose(own, free, atol=1e-9) & (sizes <= last)].min())

    return found


def _spread(name: str) -> Callable[[Table], float]:
    """How much the share of reports more than one off varies with p, for n = 4 at alpha = 2/3."""
    return lambda table: float(np.ptp(table.where(panel="α = 2/3, n = 4", mechanism=name).numbers("expected")))


def _wrong(measure: str, name: str, **at: object) -> Beside:
    return Beside(measure, _score(name, **at), _score(KNOWN, **at))


CLAIMS = (
    Claim("003-fig1", "003 Fig. 1", "squared error, n = 4, α = 0.62: always report 2", "refuted",
          "optimal from α = 0.773 on",
          "test_always_reporting_two_is_optimal_for_squared_error_only_from_alpha_0_773_on"),
    Claim("003-fig1", "003 Fig. 1", "over 90 % chance of reporting 1 or 4 for n = 5, at α = 0.62", "refuted",
          "at α = 0.9", "test_reports_of_one_or_four_reach_90_percent_only_at_alpha_0_9"),
    Claim("003-fig2", "003 Fig. 2", "the seven properties leave no gaps and no spikes", "holds",
          "squared error, n = 4: within one of the truth with probability 0.66 or more",
          "test_all_seven_properties_remove_gaps_and_spikes"),
    Claim("003-fig3", "003 Fig. 3", "GM entry by entry", "holds", "equal to the certified matrix to 10⁻¹⁵",
          "test_the_drawn_structure_is_the_matrix"),
    Claim("003-fig4", "003 Fig. 4, Theorem 4", "EM has all seven properties at the least L0", "holds",
          "equal to the program's optimum for every n and α tried", "test_the_drawn_structure_is_the_matrix"),
    Claim("003-fig5", "003 Fig. 5", "128 sets of properties need four mechanisms", "holds",
          "the choice costs what the program costs, to 10⁻⁹",
          "test_the_flowchart_costs_what_the_program_costs_for_all_128_sets"),
    Claim("003-fig5", "003 Lemma 3", "the proof's inequality", "refuted",
          "printed the wrong way round; GM is column monotone exactly up to α = 1/2",
          "test_gm_is_column_monotone_exactly_up_to_alpha_one_half"),
    Claim("003-fig5", "003 §IV-D", "WM and EM cannot be derived from GM for n > 1", "holds for part",
          "EM cannot; WM can at n = 2, and for α ≤ 2/3 in every case tried",
          "test_the_weakly_honest_mechanism_can_be_derived_from_gm_at_lower_alpha"),
    Claim("003-fig6", "003 Fig. 6", "GM and WM are never fair", "holds for part",
          "from two people on: for one GM is randomized response",
          "test_gm_is_fair_for_one_person_and_for_nobody_else"),
    Claim("003-fig7", "003 Fig. 7", "GM tells the truth with 0.238 on average, at α = 0.9", "holds for part",
          "at α = 10/11; at 0.9 it is 0.242", "test_figure_7_shows_alpha_ten_elevenths_and_not_0_9", ("0.238",),
          lambda t: [_truth(GM)(t)]),
    Claim("003-fig7", "003 Fig. 7", "EM with 0.224", "holds for part", "at α = 10/11, not 0.9",
          "test_figure_7_shows_alpha_ten_elevenths_and_not_0_9", ("0.224",), lambda t: [_truth(EM)(t)],
          Beside("mean chance of the truth", _truth(EM), _truth(GM))),
    Claim("003-fig7", "003 Fig. 7", "WM as printed has the properties of Figure 6", "refuted",
          "neither row nor column monotone: an optimum for weak honesty and symmetry alone",
          "test_the_wm_of_figure_7_is_an_optimum_for_weak_honesty_and_symmetry_alone",
          tuple(str(p) for p in PRINTED_FIRST + PRINTED_SECOND),
          lambda t: [*t.where(mechanism=WM, output=0).numbers("probability")[2:],
                     *t.where(mechanism=WM, output=1).numbers("probability")],
          Beside("mean chance of the truth, printed and WM's own optimum", _truth(PRINTED), _truth(WM))),
    Claim("003-fig8", "003 Fig. 8", "weak honesty alone costs 0.864 from n = 6.33 on, α = 0.76", "holds",
          "from n = 7 on", "test_weak_honesty_alone_costs_nothing_from_n_7_on_at_alpha_0_76", ("0.864",),
          lambda t: [t.number("value", panel="against n", n=8, mechanism="WH")],
          Beside("L0, n = 8, with column monotonicity and without any property",
                 lambda t: t.number("value", panel="against n", n=8, mechanism="WH+CM"),
                 lambda t: t.number("value", panel="against n", n=8, mechanism=GM))),
    Claim("003-fig8", "003 §V-A", "for large α all combinations cost what EM costs", "holds for part",
          "nearly: 0.9834, 0.9839 and 0.9843 at α = 0.95, n = 5",
          "test_at_high_alpha_weak_honesty_costs_nearly_but_not_exactly_what_fairness_costs"),
    Claim("003-fig9", "003 Fig. 9", "WM meets GM at n = 4 (α = 2/3) and n = 20 (α = 10/11)", "holds for part",
          "without column monotonicity; with it never for α > 1/2",
          "test_with_column_monotonicity_weak_honesty_never_meets_gm", ("4", "20"),
          lambda t: [_met("0.6667", 24)(t), _met("0.9091", 24)(t)],
          Beside("L0 at α = 10/11, n = 20: WM, and the optimum", _score(WM, alpha=10 / 11, n=20),
                 _score(GM, alpha=10 / 11, n=20))),
    Claim("003-fig10", "003 Fig. 10", "EM beats guessing, GM does worse than guessing", "holds for part",
          "EM beats both in every group of two or more; GM beats guessing where counts are near zero or groups large",
          "test_fair_beats_geometric_on_adult_groups_of_every_size",
          beside=_wrong("wrong reports, EM, gender, n = 8", EM, target="female", n=8)),
    Claim("003-fig10", "003 §V-B", "WM tracks UM quite closely", "holds for part", "only without column monotonicity",
          "test_the_weakly_honest_mechanism_that_tracks_guessing_is_the_one_without_column_monotonicity",
          beside=_wrong("wrong reports, UM, gender, n = 8", UM, target="female", n=8)),
    Claim("003-fig11", "003 Fig. 11", "GM wins when bits are skewed, loses to guessing when even", "holds for part",
          "at α = 10/11; at 2/3 it beats guessing for every p tried",
          "test_geometric_wins_on_skewed_bits_and_loses_to_guessing_on_even_ones",
          beside=_wrong("more than one off, EM, p = 0.5, n = 8, α = 10/11", EM, p=0.5, n=8, alpha=10 / 11)),
    Claim("003-fig11", "003 Fig. 11", "EM hardly depends on p", "holds for part",
          "for n = 8 at α = 10/11 a quarter of GM's spread; for n = 4 no less than GM",
          "test_fair_depends_on_p_about_as_much_as_geometric_for_four_people",
          beside=Beside("spread over p of more than one off, n = 4, α = 2/3", _spread(EM), _spread(GM))),
    Claim("003-fig12", "003 Fig. 12", "EM's margin over GM only grows with d", "holds for part",
          "as a ratio, for even bits at α = 10/11; as a difference it shrinks from d = 2 on",
          "test_the_margin_of_fair_over_geometric_grows_as_a_ratio_and_shrinks_as_a_difference",
          beside=_wrong("more than 1 off, EM, p = 0.5, α = 10/11", EM, p=0.5, d=1, alpha=10 / 11)),
    Claim("003-fig13", "003 Fig. 13", "EM has the least error for all distributions", "holds for part",
          "for even ones; WM at p = 0.1",
          "test_fair_has_the_least_rmse_at_alpha_10_11_for_even_bits_but_not_for_skewed_ones",
          beside=_wrong("root mean square error, EM, p = 0.5, n = 8, α = 10/11", EM, p=0.5, n=8, alpha=10 / 11)),
    Claim("003-ranges", "003 §VI (future work)", "programs that optimize other queries such as range queries", "holds",
          "designed for a histogram of four people with a proved bound: less than half the error of bins as they are",
          "test_a_histogram_designed_for_range_queries_beats_bins_one_by_one",
          beside=Beside("mean error of a range query, ε = 1: geometric bin by bin, best guess",
                        lambda t: t.number("value", epsilon=1.0, mechanism=GUESSED),
                        lambda t: t.number("value", epsilon=1.0, mechanism=OPTIMAL))),
    Claim("003-fig3", "003 Definition 4, Fig. 3", "clamped two-sided geometric noise has the structure of Figure 3",
          "holds", "exactly, in fractions", "test_definition_4_and_figure_3_describe_one_mechanism"),
    Claim("003-fig3", "003 Example 1", "n = 2, α = 0.9, input 1: the truth is eighteen times less likely than an error",
          "holds", "1/19 against 18/19; input 0 is told with 10/19",
          "test_two_people_see_a_wrong_count_eighteen_times_as_often_as_the_truth"),
    Claim("003-fig5", "003 Definition 5", "UM has all properties and scores 1", "holds",
          "a wrong report with n/(n+1), scaled by (n+1)/n",
          "test_guessing_at_random_scores_one_under_the_scaled_objective"),
    Claim("003-fig5", "003 §IV-A", "RM ⇒ RH, CM ⇒ CH ⇒ WH; fair: RH ⇔ CH", "holds",
          "and no converse: each has a private counterexample",
          "test_properties_imply_each_other_as_the_text_says_and_no_further"),
    Claim("003-fig5", "003 Lemma 1", "a fair optimum is optimal for all weights", "holds",
          "and for the largest error, too", "test_a_fair_optimum_is_optimal_for_every_prior_and_for_the_worst_answer"),
    Claim("003-fig5", "003 Theorem 1", "a symmetric mechanism with the same properties and the same objective value",
          "holds for part",
          "for weights equal to their mirror image (the maximum can only fall); for skewed ones symmetry costs more",
          "test_for_uneven_weights_symmetry_costs_something"),
    Claim("003-fig5", "003 §IV-A", "for n = 1 randomized response is the unique optimum under any objective",
          "holds for part",
          "for even weights; a constant is better when one answer is likelier than 1/α times the other",
          "test_for_one_person_randomized_response_is_the_only_optimum_of_even_weights"),
    Claim("003-fig5", "003 Theorem 2", "any subset of the properties: an optimum in polynomial time", "holds",
          "a feasible linear program with O(n²) rows",
          "test_every_set_of_properties_can_be_had_and_is_a_small_program"),
    Claim("003-fig3", "003 Theorem 3", "GM is the unique optimum under L0", "holds",
          "every entry has one value among the optima; L0 = 2α/(1+α)",
          "test_the_geometric_mechanism_is_the_only_optimum_for_wrong_reports"),
    Claim("003-fig6", "003 Lemma 2", "GM is weakly honest exactly from n = 2α/(1−α) on", "holds for part",
          "for n ≥ 2; for one person it always is",
          "test_the_geometric_mechanism_is_weakly_honest_from_2a_over_1_minus_a_people_on"),
    Claim("003-fig4", "003 Lemma 4", "the diagonal of a fair mechanism is at most (1−α)/(1+α−2α^(n/2+1))", "holds",
          "for even n, and for odd n with its own sum; the program reaches it",
          "test_no_fair_mechanism_tells_the_truth_more_often_than_lemma_4_allows"),
    Claim("003-fig4", "003 §IV-C", "no fair mechanism has all privacy inequalities tight", "holds for part",
          "from two people on; for one randomized response has",
          "test_tight_everywhere_and_fair_is_impossible_from_two_people_on"),
    Claim("003-fig4", "003 §IV-C", "the exponential mechanism of |i−j| is considerably weaker than EM", "holds",
          "for every n and α tried",
          "test_the_exponential_mechanism_of_distances_is_the_fair_one_at_half_of_epsilon_or_worse"),
    Claim("003-fig6", "003 §IV-D", "L0 of WM lies between GM and EM", "holds", "with and without column monotonicity",
          "test_the_weakly_honest_mechanism_costs_between_geometric_and_fair"),
    Claim("003-fig5", "003 §IV-D", "EM fails the test of derivability for every n > 1", "holds", "whatever α",
          "test_the_fair_mechanism_fails_the_test_of_derivability_for_every_alpha"),
    Claim("003-fig9", "003 §IV-D", "EM costs a factor of about 1 + 1/n over GM", "holds for part",
          "an upper bound and the limit; at n = 10, α = 10/11 the factor is 1 + 0.20/n",
          "test_the_price_of_fairness_is_at_most_one_plus_1_over_n_and_tends_to_it"),
    Claim("003-fig9", "003 Fig. 9 (c)", "at α = 0.99 WM stays equal to EM", "holds for part",
          "nearly: 0.997274 and 0.997332 at n = 24",
          "test_at_alpha_0_99_the_weakly_honest_mechanism_costs_almost_what_fairness_costs"),
)  # fmt: skip
