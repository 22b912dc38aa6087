"""004: what "Oblivious mechanisms in differential privacy" claims."""

from inbounds_studies.claims.claim import Beside, Claim
from inbounds_studies.noise import GEOMETRIC, LAPLACE, STAIRCASE
from inbounds_studies.paper_004 import COUNT, KNOWN, MEAN, PREROUNDED
from inbounds_studies.paper_004_open import CENTRAL, LARGEST_STAIRCASE, OBLIVIOUS, OWN_OPTIMUM, VARYING
from inbounds_studies.paper_004_vectors import GUESSED as PAIR_GUESSED
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table


def _beside(measure: str, query: str, paper: str, best: str, alpha: float) -> Beside:
    def read(name: str, table: Table) -> float:
        return table.number("theory", query=query, mechanism=name, alpha=alpha)

    return Beside(measure, lambda t: read(paper, t), lambda t: read(best, t))


CLAIMS = (
    Claim("004-fig1", "004 (6)", "the Laplace density", "refuted", "ε is missing in the exponent",
          "test_densities_integrate_to_one_and_to_the_closed_forms"),
    Claim("004-fig1", "004 (7), (10)", "the geometric masses", "refuted",
          "the normalizer is upside down: (1−a)/(1+a)",
          "test_the_geometric_masses_sum_to_one_only_with_the_normalizer_turned_over"),
    Claim("004-fig3", "004 (11) – (15)", "expected losses in closed form", "holds",
          "simulation within its errors, integration to 10⁻³",
          "test_densities_integrate_to_one_and_to_the_closed_forms",
          beside=_beside("expected loss for a count, staircase, α = 0.5", COUNT, STAIRCASE, OPTIMAL, 0.5)),
    Claim("004-fig3", "004 §5.1", "staircase beats Laplace below α = 1/2, no difference above", "holds",
          "at every α; by less than 2.1 percent from 1/2 on",
          "test_staircase_beats_laplace_and_the_difference_vanishes_from_alpha_one_half_on",
          beside=_beside("expected loss of the mean, Laplace and staircase, α = 0.1", MEAN, LAPLACE, STAIRCASE, 0.1)),
    Claim("004-fig3", "004 §5.1", "for counts the geometric mechanism is best", "holds",
          "the optimum for 0..100 gains less than 3 percent", "test_geometric_is_best_for_counts",
          beside=_beside("expected loss for a count, geometric, α = 0.5", COUNT, GEOMETRIC, OPTIMAL, 0.5)),
    Claim("004-fig3", "004 §5.2, §6 (conjecture)", "rounding by rough side information beats staircase and Laplace",
          "holds for part", "from α = 0.0092 (mean) and 0.00043 (max) on; a constant that ignores the data does better",
          "test_a_constant_that_ignores_the_data_beats_the_heuristic_at_every_alpha",
          beside=_beside("expected loss of the mean, heuristic, α = 0.5", MEAN, PREROUNDED, KNOWN, 0.5)),
    Claim("004-fig4", "004 Lemma 1", "the median is the likeliest answer for all three", "holds for part",
          "for Laplace and geometric noise; under staircase noise another answer can be twice as likely",
          "test_the_median_is_not_always_the_likeliest_answer_under_staircase_noise"),
    Claim("004-fig4", "004 (16), (17)", "the loss of k colluders falls like 1/√k", "holds",
          "within a tenth from 50 colluders on, far above the composition bound",
          "test_the_median_of_many_follows_the_large_k_approximation"),
    Claim("004-fig4", "004 (18)", "the same for geometric noise", "holds for part",
          "on fine grids; for counts the loss falls exponentially and (18) is ten times too high at 50",
          "test_equation_18_holds_on_fine_grids_and_not_on_whole_numbers"),
    Claim("004-fig4", "004 §5.2.3", "pre-rounding keeps a loss however many collude", "holds",
          "the expected rounding error: 0.0798 (mean), 2/101 (max)", "test_pre_rounding_keeps_a_floor"),
    Claim("004-fig2", "004 Fig. 2", "only levels 1 and 5 have been solved", "holds for part",
          "levels 2 to 4 are designed for any finite range with a proved bound; level 6 has no solution for mean and "
          "maximum", "test_the_ladder_names_studies_that_exist"),
    Claim("004-universal", "004 R1 (open question)", "universally optimal mechanisms for other queries", "open",
          "none for the maximum, nor for the mean of two up to α = 0.7: three users cannot all have their own optima; "
          "for counts the gap is 0", "test_one_mechanism_serves_all_users_of_a_count_and_of_no_other_question",
          beside=Beside("universality gap for three users at α = 0.5: maximum, and count",
                        lambda t: t.number("gap", query="maximum", alpha=0.5),
                        lambda t: t.number("gap", query="count", alpha=0.5))),
    Claim("004-worst", "004 R2 (open question)", "the risk-averse optimum when noise may vary", "holds for part",
          "designed with a proved bound: on a bounded range it errs less than the staircase; at 32 sensitivities it "
          "has 99, 97 and 83 percent of its error (α = 0.2, 0.5, 0.8); a closed form is open",
          "test_noise_that_varies_beats_the_staircase_on_a_bounded_range_and_tends_to_it",
          beside=Beside("worst expected error, range 4, α = 0.5, snapped staircase",
                        lambda t: t.number("value", alpha=0.5, range=4, mechanism="snapped staircase"),
                        lambda t: t.number("value", alpha=0.5, range=4, mechanism=VARYING))),
    Claim("004-varies", "004 R2 (open question)", "sensitivity that depends on the answer", "holds for part",
          "designed with a proved bound for any finite range; a closed form is open",
          "test_a_design_for_every_answers_own_sensitivity_errs_less_than_one_for_the_largest",
          beside=Beside("worst expected error, range 32, α = 0.5: staircase for the largest sensitivity",
                        lambda t: t.number("value", alpha=0.5, range=32, mechanism=LARGEST_STAIRCASE),
                        lambda t: t.number("value", alpha=0.5, range=32, mechanism=OWN_OPTIMUM))),
    Claim("004-fig3", "004 R3 (open question)", "an optimum for given preferences and side information", "holds",
          "for any finite grid: designed, with a proved bound, below every other line",
          "test_the_optimum_for_the_prior_is_below_everything",
          beside=_beside("expected loss of the mean, heuristic, α = 0.1", MEAN, PREROUNDED, KNOWN, 0.1)),
    Claim("004-beyond", "004 §6 (future work)", "optimal mechanisms that are not oblivious", "holds for part",
          "for quantiles: the optimum over all laws for few records, over the central ones for any number",
          "test_mechanisms_that_see_the_records_beat_the_oblivious_optimum",
          beside=Beside("expected error of the median of 25, ε = 1: oblivious optimum",
                        lambda t: t.number("value", people=25, epsilon=1.0, mechanism=OBLIVIOUS),
                        lambda t: t.number("value", people=25, epsilon=1.0, mechanism=CENTRAL))),
    Claim("004-vectors", "004 §6 (future work)", "optimal mechanisms for answers of several dimensions", "holds",
          "designed for two counts of the same people with a proved bound",
          "test_two_counts_designed_together_err_less_than_each_with_half_of_epsilon",
          beside=Beside("expected error of both counts, α = 0.5: each by geometric with half of ε, best guess",
                        lambda t: t.number("value", alpha=0.5, mechanism=PAIR_GUESSED),
                        lambda t: t.number("value", alpha=0.5, mechanism=OPTIMAL))),
)  # fmt: skip
