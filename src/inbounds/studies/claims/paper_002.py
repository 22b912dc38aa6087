"""002: what "Differential privacy via a truncated and normalized Laplace mechanism" claims."""

from inbounds.studies.claims.claim import Beside, Claim
from inbounds.studies.paper_002_scales import METRIC, REFUTED
from inbounds.studies.style import OPTIMAL

CLAIMS = (
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
)  # fmt: skip
