"""Multi-level releases: one noise chain, several epsilons, safe against coalitions (Gupte, Sundararajan 2010).

The first level is the truncated geometric mechanism at the largest epsilon. Each further level takes only the output
of the level before and degrades it by a random remap R[new, old] that turns the finer geometric mechanism into the
coarser one: R = G_coarse · G_fine^-1, which has no negative entry. The outputs are a chain

    answer → level 1 → level 2 → …          epsilon_1 > epsilon_2 > …

so all outputs of a coalition are computed from the output of its member with the largest epsilon. That is
post-processing, private at that epsilon: a coalition learns no more than this member.

Exactness: level 1 is a certified `Mechanism`. Every remap is a matrix of integers whose columns sum to 2**62, sampled
exactly. The law of level l is then a product of integers over 2**(62·l). When the release is made, this product must
satisfy the privacy inequality at epsilon_l, in integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.catalog._grid import decay, square
from inbounds.catalog.geometric import truncated_geometric
from inbounds.errors import InvalidDistribution, PrivacyViolation, TooLarge
from inbounds.exact import Floats, Ints, Number, Wholes, to_epsilon
from inbounds.files import CHAIN, Document, Json
from inbounds.losses import LossLike, Prior, to_loss, to_prior
from inbounds.mechanism import Mechanism, Origin, certify_formula, refuse_delta
from inbounds.mechanism.laws.base import freeze_weights
from inbounds.mechanism.passport import to_passport
from inbounds.query import RangeQuery, check_query
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.certify import check_distributions, check_product
from inbounds.trusted.samplers import Draws, MatrixSampler, draw_outputs, seeded_entropy, system_entropy

if TYPE_CHECKING:
    from os import PathLike

LARGEST = 257
"""Most answers: up to this number the products of integers take seconds."""

REFERENCE = "Gupte, Sundararajan, Universally optimal privacy mechanisms for minimax agents, 2010"


@dataclass(frozen=True, eq=False)
class MechanismChain:
    """Answers at several epsilons from one noise chain; made by `make_chain`, checked when made.

    *Formal guarantee.* For every set of levels, the joint law of their outputs is private at the largest epsilon in the
    set, and each level alone at its own. epsilons decrease strictly; remaps[l] leads from level l to level l + 1.
    """

    first: Mechanism
    epsilons: tuple[Fraction, ...]
    remaps: tuple[Ints, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "remaps", tuple(freeze_weights(remap) for remap in self.remaps))
        object.__setattr__(self, "epsilons", tuple(to_epsilon(epsilon) for epsilon in self.epsilons))
        if type(self.first) is not Mechanism:
            raise TypeError("the first level must be a Mechanism")
        refuse_delta(self.first, "the first level")
        size = self.first.query.shape[0]
        if max(self.first.query.shape) > LARGEST:
            raise TooLarge(f"a multi-level release must have at most {LARGEST} answers and outputs")
        falling = all(a > b for a, b in pairwise(self.epsilons))
        if not (falling and self.epsilons[0] == self.first.epsilon and len(self.remaps) == len(self.epsilons) - 1):
            raise ValueError(
                "epsilons must fall strictly from the first mechanism's, with a remap to each but the first"
            )
        for remap in self.remaps:
            if remap.shape != (size, size):
                raise InvalidDistribution(f"a remap must be {size} × {size}, got {remap.shape}")
            check_distributions(remap)
        for law, epsilon in zip(self.laws, self.epsilons, strict=True):
            check_private(law, self.first.query, epsilon)
        self.samplers  # noqa: B018 - built now, from the checked remaps

    def __reduce__(self) -> tuple[type["MechanismChain"], tuple[Any, ...]]:
        return MechanismChain, (self.first, self.epsilons, self.remaps)  # copies and pickles are validated again

    def __len__(self) -> int:
        return len(self.epsilons)

    def __repr__(self) -> str:
        levels = ", ".join(map(str, self.epsilons))
        return f"<MechanismChain {levels} for {self.first.query!r}>"

    @cached_property
    def laws(self) -> tuple[Wholes, ...]:
        """Return the exact law of every level: integers over 2**(62·level), outputs × answers."""
        chain = [self.first.weights.astype(object)]
        for remap in self.remaps:
            chain.append(remap.astype(object).dot(chain[-1]))
        return tuple(chain)

    def level(self, position: int) -> Mechanism:
        """Return one level as a certified mechanism, for losses, properties, passports and comparisons.

        The first level is the mechanism that is sampled. The others are the exact law rounded to multiples of 2**-62
        and repaired, within 2**-50 of it in total variation.
        """
        if position == 0:
            return self.first
        matrix = (self.laws[position] / (TOTAL ** (position + 1))).astype(np.float64)
        origin = Origin("multilevel", {"level": str(position + 1), "of": str(len(self))}, REFERENCE)
        return certify_formula(matrix, self.first.query, self.epsilons[position], origin)

    def joint(self, members: Sequence[int]) -> Wholes:
        """Return the exact joint law of a coalition: axes are the members' outputs, then the answer.

        The entries are integers; all columns have the same sum. Size outputs^members · answers: for small cases.
        """
        levels = sorted(set(members))
        if not levels or not 0 <= levels[0] <= levels[-1] < len(self):
            raise ValueError(f"members must be levels between 0 and {len(self) - 1}, at least one")
        outputs, answers = self.first.query.shape
        if outputs ** len(levels) * answers > 1 << 20:
            raise TooLarge("a joint law this large is not written out; it is private by post-processing")
        law = self.laws[levels[0]]
        for finer, coarser in pairwise(levels):
            step = reduce(
                lambda product, remap: remap.astype(object).dot(product), self.remaps[finer:coarser], _identity(outputs)
            )
            law = np.moveaxis(step, 0, 1).reshape((1,) * (law.ndim - 2) + (outputs, outputs, 1)) * law[..., None, :]
        return law

    def certify_coalition(self, members: Sequence[int]) -> Fraction:
        """Check the joint law of a coalition by enumeration, in integers, and return the epsilon it is private at.

        It holds by construction of the chain; this is an independent proof for small cases. Raises `PrivacyViolation`
        if the joint law is not private.
        """
        epsilon = max(self.epsilons[member] for member in members)
        law = self.joint(members)
        check_private(law.reshape(-1, law.shape[-1]), self.first.query, epsilon)
        return epsilon

    def bayes_loss(self, members: Sequence[int], loss: LossLike = "absolute", prior: Prior = None) -> float:
        """Return the expected loss of a coalition that makes the best guess from all its outputs.

        Its member with the largest epsilon alone has the same loss.
        """
        query, law = self.first.query, self.joint(members)
        rows = law.reshape(-1, law.shape[-1])
        joint = (rows / rows[:, 0].sum()).astype(np.float64) * to_prior(prior, query)
        return float((joint @ to_loss(loss).guesses(query).T).min(axis=1).sum())

    # --- outputs ------------------------------------------------------------------------------------------

    def sample(self, answers: Any) -> tuple[Any, ...]:
        """Return the outputs of every level for true answers, from one chain, with operating-system entropy."""
        return self._report(answers, system_entropy)

    def simulate(self, answers: Any, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return outputs as `sample` does, from a seeded generator: for studies and tests, never for a release."""
        return self._report(answers, seeded_entropy(rng))

    def _report(self, answers: Any, draws: Draws) -> tuple[Any, ...]:
        query = self.first.query
        indices = query.encode(answers)
        chain = [self.first.draw(indices, draws)]
        for sampler in self.samplers:
            chain.append(draw_outputs(sampler, chain[-1], draws))
        values = [query.output_values[level] for level in chain]
        return tuple(v.item() for v in values) if indices.ndim == 0 else tuple(values)

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the release with everything needed to check and use it; `accounting.load_chain` reads it."""
        self.to_document().save(path)

    def to_document(self) -> Document:
        """Return the release in its envelope."""
        fields: Json = {
            "first": to_passport(self.first).to_json(),
            "epsilons": [str(epsilon) for epsilon in self.epsilons],
            "remaps": [[" ".join(map(str, row)) for row in remap.tolist()] for remap in self.remaps],
        }
        return Document.wrap(CHAIN, fields)

    @cached_property
    def samplers(self) -> tuple[MatrixSampler, ...]:
        """Return the samplers that draw each level's output from the output of the level before."""
        return tuple(MatrixSampler.from_weights(remap) for remap in self.remaps)


def make_chain(query: RangeQuery, epsilons: Sequence[Number]) -> MechanismChain:
    """Make a multi-level release: one output per epsilon, for readers with different trust, safe against any coalition.

    Accepts every numeric query with one output per answer and no gaps, up to 257 answers. Each level has, within 10^-9,
    the loss of the truncated geometric mechanism at its epsilon: the correlation costs no accuracy.

    >>> from inbounds.query import count
    >>> release = make_chain(count(5), [2, 1, "0.5"])
    >>> [round(release.level(i).loss("absolute"), 3) for i in range(3)]
    [0.223, 0.627, 1.147]
    """
    check_query(query)
    square(query, "multilevel")
    if len(query.answers) > LARGEST:
        raise TooLarge(f"multilevel takes at most {LARGEST} answers, got {len(query.answers)}; use coarser answers")
    levels = tuple(sorted((to_epsilon(epsilon) for epsilon in epsilons), reverse=True))
    if not levels or len(set(levels)) < len(levels):
        raise ValueError("epsilons must be at least one, all different; equal ones may share one output")
    first = truncated_geometric(query, levels[0])
    law, remaps = first.weights.astype(object), []
    for finer, coarser in pairwise(levels):
        proposal = degradation_matrix(len(query.answers), decay(query, finer), decay(query, coarser))
        remap, law = _round_remap(proposal, law, query, coarser)
        remaps.append(remap)
    return MechanismChain(first, levels, tuple(remaps))


def degradation_matrix(size: int, finer: float, coarser: float) -> Floats:
    """Compute R = G_b · G_a^-1 in closed form, for truncated geometric matrices with decay rates finer > coarser.

    With a = e^-finer < b = e^-coarser, the inverse of G_a has three diagonals, and R[i, k] is

        (1-b)/(1+b) · b^|i-k| · (1-ab)(1-a/b)/(1-a)²   inside, i ≠ k        1+a²-2ab for the last factor at i = k,
        without the factor (1-b) for the end outputs i, and with (1-a/b)/(1-a), (1-ab)/(1-a) for the end columns k.

    The formulas multiply positive numbers only, so every entry keeps its relative accuracy. Columns sum to one.
    """
    a, b = np.exp(-finer), np.exp(-coarser)
    i, k = np.arange(size)[:, None], np.arange(size)[None, :]
    less_a, less_ab, less_ratio = -np.expm1(-finer), -np.expm1(-finer - coarser), -np.expm1(coarser - finer)
    ends_i, ends_k = (i == 0) | (i == size - 1), (k == 0) | (k == size - 1)
    off_diagonal = np.where(ends_k, less_ratio / less_a, less_ab * less_ratio / less_a**2)
    # at i = k: inside 1 + a² - 2ab = (1-a)² + 2a(1-b); at an end P[0,0] - a·P[0,1] = (1-ab)/(1+b)
    diagonal = np.where(ends_k, less_ab / less_a, 1 + 2 * a * -np.expm1(-coarser) / less_a**2)
    share = np.where(ends_i, 1.0, -np.expm1(-coarser)) / (1 + b)
    remap = share * b ** np.abs(i - k) * np.where(i == k, diagonal, off_diagonal)
    return np.asarray(remap / remap.sum(axis=0))


def check_private(law: Wholes, query: RangeQuery, epsilon: Fraction) -> None:
    """Raise `PrivacyViolation` unless the law is private between the query's neighbours, in integers of any size."""
    check_product(law, query.cliques(), epsilon)


def _round_remap(proposal: Floats, law: Wholes, query: RangeQuery, epsilon: Fraction) -> tuple[Ints, Wholes]:
    """Round a proposal to an integer remap whose product with `law` is private at epsilon; return both.

    Rounding changes each row of the product by a few units. A reserve of units added to every entry adds the same
    amount to every answer, which only brings ratios closer to one. The reserve doubles until the product is private.
    """
    size = len(proposal)
    reserve = 0
    while size * reserve < TOTAL:
        remap = np.floor(proposal * float(TOTAL - size * reserve)).astype(np.int64) + reserve
        remap[np.arange(size), np.arange(size)] += np.array(
            [TOTAL - int(s) for s in remap.sum(axis=0, dtype=object)], dtype=np.int64
        )
        product = remap.astype(object).dot(law)
        try:
            check_private(product, query, epsilon)
        except PrivacyViolation:
            reserve = 2 * reserve or size
            continue
        return remap, product
    raise TooLarge("no whole-number remap was found at these epsilons; take them further apart")


def _identity(size: int) -> Wholes:
    return np.eye(size, dtype=np.int64).astype(object)
