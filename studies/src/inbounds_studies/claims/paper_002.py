"""002: what "Differential privacy via a truncated and normalized Laplace mechanism" claims."""

from inbounds_studies.claims.claim import Beside, Claim
from inbounds_studies.paper_002_open import OPEN as OPEN_ENDS
from inbounds_studies.paper_002_open import OWN
from inbounds_studies.paper_002_scales import METRIC, REFUTED
from inbounds_studies.style import OPTIMAL

CLAIMS = (
    Claim("002-fig1", "002 Fig. 1", "three classes of constraints", "holds",
          "drawn with the least scale that each needs", "test_each_class_of_figure_1_needs_the_scale_it_is_drawn_with"),
    Claim("002-table1", "002 Table 1, (4) – (6)", "the normalization from the masses cut off on either side", "holds",
          "n = 1/(1 − L − R) equals the mass that is kept", "test_table_1_normalizes_by_what_is_cut_off"),
    Claim("002-fig2", "002 §3.2", "truncation and normalization at the Laplace scale leaks", "holds",
          "the pictured density is not private at ε = 1; the least scale that is, is 1.48",
          "test_normalizing_at_the_laplace_scale_is_not_private"),
    Claim("002-table2", "002 Table 2", "finite constraints need less than 2·Δ/ε, all at most that", "holds",
          "for metric privacy, which the paper proves; plain privacy needs less",
          "test_scales_keep_the_bounds_of_each_class", ("2",),
          lambda t: [t.numbers("metric").max()],
          Beside("mean absolute error on an interval of width 4, ε = 1",
                 lambda t: t.number("error_metric", configuration="interval, width 4"),
                 lambda t: t.number("error_optimal", configuration="interval, width 4"))),
    Claim("002-table2", "002 Table 2", "1.586·Δ/ε at the end of a half-line", "refuted",
          "(32) is 1.586, but not private: one scale must be 2 (metric) or 1.613 (plain, ε = 1)",
          "test_one_scale_for_the_half_line_must_be_larger_than_the_papers", ("1.586",),
          lambda t: [t.number("paper", configuration="half-line")]),
    Claim("002-theorem1", "002 Theorem 1", "a scale of its own for each answer on a half-line is private", "refuted",
          "no ε holds: two tails of different scale have an unbounded ratio",
          "test_the_log_ratio_grows_without_bound_at_the_difference_of_the_inverse_scales",
          beside=Beside("audited ε for answers 0..60, promised 1",
                        lambda t: t.number("value", panel="audited epsilon by range", mechanism=REFUTED, x=60),
                        lambda t: t.number("value", panel="audited epsilon by range", mechanism=OPTIMAL, x=60))),
    Claim("002-scales", "002 §3.4", "the guarantee for arbitrary distances is differential privacy", "holds for part",
          "it is metric privacy, which costs up to twice the scale",
          "test_plain_scales_grow_from_the_laplace_scale_to_that_of_the_half_line",
          beside=Beside("mean absolute error, range 10, ε = 1",
                        lambda t: t.number("value", epsilon=1.0, range=10.0, mechanism=METRIC),
                        lambda t: t.number("value", epsilon=1.0, range=10.0, mechanism=OPTIMAL))),
    Claim("002-holes", "002 §4.2", "holes only, open at both ends: one scale below 2·Δ/ε serves all answers", "holds",
          "certified on a range declared wide enough; the tail beyond it falls like exp(−reach/scale)",
          "test_holes_only_is_a_certified_mechanism_whose_tail_falls_with_the_declared_range",
          beside=Beside("mean absolute error, one hole of width 1, 8 sensitivities declared, ε = 1",
                        lambda t: t.number("error", configuration="one hole, width 1", reach=8, mechanism=OPEN_ENDS),
                        lambda t: t.number("error", configuration="one hole, width 1", reach=8, mechanism=OPTIMAL))),
    Claim("002-own-scales", "002 §4.3 (open problem)", "scales that differ by answer under several constraints", "open",
          "scales found by descent are certified and lower the error by 2 to 14 percent; whether they are the best is "
          "open, but the optimum by design, which needs none, is far below",
          "test_scales_of_their_own_are_certified_and_lie_between_one_scale_and_the_optimum",
          beside=Beside("mean absolute error, three pieces, ε = 1: a scale for each answer",
                        lambda t: t.number("value", configuration="three pieces", epsilon=1.0, mechanism=OWN),
                        lambda t: t.number("value", configuration="three pieces", epsilon=1.0, mechanism=OPTIMAL))),
)  # fmt: skip
