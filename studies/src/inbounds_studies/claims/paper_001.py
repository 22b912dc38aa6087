"""001: what "Utility-preserving privacy mechanisms for counting queries" claims."""

from inbounds_studies.claims.claim import Beside, Claim
from inbounds_studies.paper_001 import BINOMIAL, FOUR, GEOMETRIC, RESPONSE
from inbounds_studies.paper_001_map import ON_MAP
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table


def _distance(name: str, data: str, size: int = 100_000) -> "Beside":
    return Beside(
        f"Kantorovich distance, {name}, {data} data, {size:,} values",
        lambda t: t.number("value", mechanism=name, data=data, size=size),
        lambda t: t.number("value", mechanism=OPTIMAL, data=data, size=size),
    )


def _largest_gain(table: Table, data: str) -> float:
    sizes = table.distinct("size")
    distance = {(r["mechanism"], r["size"]): float(str(r["value"])) for r in table.where(data=data)}
    return max(distance[RESPONSE, size] / distance[GEOMETRIC, size] for size in sizes)


CLAIMS = (
    Claim("001-fig1", "001 §4", "the two mechanisms are calibrated to the same level of privacy", "refuted",
          "ratio 2 between any values against 2¹⁰ over the domain",
          "test_the_two_mechanisms_do_not_make_the_same_promise"),
    Claim("001-fig2", "001 Fig. 2", "randomized response finds points better, geometric smooth data", "holds",
          "as pictured; by distance the geometric mechanism is closer on both",
          "test_geometric_is_closer_than_randomized_response_at_every_sample_size"),
    Claim("001-fig3", "001 Fig. 3", "up to 5 times closer in Kantorovich distance (4-point data)", "holds",
          "3 to 4.4 times", "test_at_the_papers_settings_geometric_is_closer_at_every_size", ("5",),
          lambda t: [_largest_gain(t, FOUR)], _distance(GEOMETRIC, FOUR)),
    Claim("001-fig3", "001 Fig. 3", "up to 5 times closer in Kantorovich distance (binomial data)", "holds for part",
          "closer by far more, 9 to 30 times; at equal local privacy the winner depends on the data",
          "test_at_equal_local_privacy_the_winner_depends_on_the_data", ("5",),
          lambda t: [_largest_gain(t, BINOMIAL)], _distance(GEOMETRIC, BINOMIAL)),
    Claim("001-fig4", "001 Fig. 4", "geometric converges within 10 iterations, randomized response hardly", "holds",
          "about nine tenths of the gain in 10 steps, against less than a twentieth",
          "test_geometric_gains_nearly_all_within_ten_iterations_and_randomized_response_nothing"),
    Claim("001-fig4", "001 §4.1", "5,000 iterations give the maximum likelihood estimate", "refuted",
          "an early stop: it helps on smooth data and hurts on points",
          "test_stopping_after_5000_updates_helps_on_smooth_data_and_hurts_on_points"),
    Claim("001-map", "001 (4), §5", "d-privacy preserves distributions on any metric space", "holds for part",
          "on a map of 8 × 8 cells the geometric mechanism is 2 to 14 times closer than randomized response; on 5 × 5 "
          "closer too, but not for 100,000 people in two towns",
          "test_on_a_map_d_privacy_reconstructs_closer_than_randomized_response",
          beside=Beside("transport distance, two towns, 100,000 people: geometric on the map",
                        lambda t: t.number("value", side=8, data="two towns", size=100_000, mechanism=ON_MAP),
                        lambda t: t.number("value", side=8, data="two towns", size=100_000, mechanism=OPTIMAL))),
)  # fmt: skip
