"""Mechanisms for the requests of a plan: each distinct request is designed once and cached on disk under its digest.

A cached mechanism is certified again, and used only if its query and epsilon are those of the request. Otherwise it is
designed again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    StrictStr,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from inbounds import priors
from inbounds.catalog.noise_tables import geometric_table
from inbounds.catalog.registry import REGISTRY
from inbounds.catalog.unknown_groups import threshold
from inbounds.errors import InboundsError
from inbounds.exact import Floats, format_decimal
from inbounds.losses import parse_limit, parse_loss
from inbounds.mechanism import AnyMechanism, JointMechanism, Mechanism, QuantileMechanism
from inbounds.mechanism.codec import query_to_json
from inbounds.mechanism.laws import CentralRecords, Threshold
from inbounds.mechanism.load import PASSPORT, certify_document
from inbounds.mechanism.passport import to_passport
from inbounds.properties import canonical_property
from inbounds.query import JointQuantileQuery, QuantileQuery, Query, RangeQuery
from inbounds.query.query import KINDS
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.types import Schema, check_known_fields, to_exact

if TYPE_CHECKING:
    from inbounds.design.goal import DesignGoal

DESIGNED_UP_TO = 400
"""Most answers of a mechanism that is optimized as a matrix; beyond, noise is a small table."""

LARGEST_MATRIX = 2000
"""Most answers of any matrix: the passport of a larger one would exceed 80 megabytes."""

LARGEST_REMAP = 20_000
"""Most answers of a range that gets the best report for every noisy value."""

LARGEST_RANGE = 1 << 26
"""Most answers of a range: the loss of each is computed, which takes some gigabytes."""

MOST_REACH = 5000
"""Most steps that one record may move an answer, per unit of epsilon: the noise table grows with them."""

PATIENCE = 30.0
"""Seconds after which a design is used as it is, with its proved optimality gap."""

EDITION = 9
"""Part of every request's digest: raised when the same request would be designed differently."""


PRIORS = {"uniform": 0, "normal": 2, "beta": 2, "binomial": 1}
"""The named priors of a plan, and how many numbers each takes."""

PRIOR_FORMS = '"uniform", { binomial = p }, { normal = [mean, deviation] } or { beta = [a, b] }'


def _parse_prior(value: Any) -> tuple[Any, ...] | None:
    """Parse a named prior as a plan writes it, or as a list of its name and numbers, as records do."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, numbers),) = value.items()
        value = [name, *(numbers if isinstance(numbers, list | tuple) else [numbers])]
    parts = [value] if isinstance(value, str) else value
    if value is not None and not (
        isinstance(parts, list | tuple) and parts and PRIORS.get(str(parts[0])) == len(parts) - 1
    ):
        raise PlanError(f"must be {PRIOR_FORMS}")
    return None if value is None else (parts[0], *(to_exact(number) for number in parts[1:]))


def _parse_texts(value: Any) -> Any:
    """Refuse a single text where a list is meant; its letters would be read as a list."""
    if isinstance(value, str):
        raise PlanError("must be a list of texts")
    return tuple(value) if isinstance(value, list) else value


Prior = Annotated[
    tuple[Any, ...],
    BeforeValidator(_parse_prior),
    PlainSerializer(lambda prior: [str(part) for part in prior], return_type=list[str]),
    WithJsonSchema({"description": "uniform, or { binomial: p }, { normal: [mean, deviation] }, { beta: [a, b] }."}),
]
Texts = Annotated[tuple[Annotated[StrictStr, Field(max_length=200)], ...], BeforeValidator(_parse_texts)]


class DesignOptions(Schema):
    """How mechanisms are designed: as in `ib.optimal`, or a mechanism of the catalog by name."""

    loss: StrictStr = Field("absolute", description="The loss that is minimized.", examples=["squared"])
    properties: Texts = Field((), description="Structural properties.", examples=[["fair"]])
    prior: Prior | None = Field(
        None,
        description="A prior of the true answers; with the worst aim, weights of their losses.",
        examples=[{"binomial": "0.3"}],
    )
    aim: Literal["average", "worst"] = Field("average", description="Whether the average or the worst loss counts.")
    mechanism: StrictStr = Field(
        "optimal", description="A mechanism of the catalog instead of an optimal one.", examples=["explicit_fair"]
    )
    limits: Texts = Field((), description="Limits on other losses.", examples=[["off-by-more-than-2=0.05"]])

    @field_validator("loss")
    @classmethod
    def _check_loss(cls, loss: str) -> str:
        parse_loss(loss)
        return loss

    @field_validator("properties")
    @classmethod
    def _name_properties(cls, properties: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(canonical_property(name, ordered=True) for name in properties)

    @model_validator(mode="after")
    def _check_designed(self) -> "DesignOptions":
        with error_path("limits"):
            if any(parse_limit(text) for text in self.limits) and self.mechanism != "optimal":
                raise ValueError("limits are for designs; leave mechanism out")
        with error_path("aim"):
            if self.aim == "worst" and self.mechanism != "optimal":
                raise ValueError("the worst aim is for designs; leave mechanism out")
        return self

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; lists only if they are not empty."""
        return {name: value for name, value in self.model_dump(mode="json").items() if value}

    def to_entry(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, as a plan writes them."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        if self.prior is not None:
            name, *numbers = self.prior
            values["prior"] = {name: [format_decimal(number) for number in numbers]} if numbers else name
        return values


DESIGN_FIELDS = tuple(DesignOptions.model_fields)
"""The names of design options, which a plan writes in [design] and in each of its statistics."""


def parse_design_options(values: Mapping[str, Any], outer: DesignOptions | None = None) -> DesignOptions:
    """Parse design options; options that are not given are those of `outer`, the plan's."""
    check_known_fields("design", values, DESIGN_FIELDS)
    if not isinstance(values.get("prior", ""), str | Mapping):  # records write a list
        raise PlanError(f"must be {PRIOR_FORMS}", ("prior",))
    options = (outer or DEFAULT_OPTIONS).replace(**values)
    with error_path("mechanism"):
        if options.mechanism != "optimal":
            find_catalog_entry(options.mechanism)
    return options


DEFAULT_OPTIONS = DesignOptions()
"""The default options."""

NOISE = "geometric noise"
"""Truncated geometric noise as a table, for any range; not available in plans."""

ADDING = DesignOptions(mechanism=NOISE)
"""Options of statistics that add up: geometric draws can be read without bias and have a simple likelihood."""


@dataclass(frozen=True)
class DesignRequest:
    """The query, epsilon and options that determine a mechanism.

    delta: of the number of persons that groups from the data are published by; 0 for all others.
    """

    query: Query
    epsilon: Fraction
    options: DesignOptions
    delta: Fraction = Fraction(0)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Compute the hash once: exact numbers hash slowly, and a request is looked up several times."""
        return hash((self.query, self.epsilon, self.options, self.delta))

    @property
    def digest(self) -> str:
        """Return the sha256 of the request as JSON."""
        query, options = self.query, self.options
        content = {
            "edition": EDITION,
            "query": query_to_json(query),
            "epsilon": str(self.epsilon),
            "wishes": [
                options.loss,
                list(options.properties),
                _prior_texts(options.prior),
                options.aim,
                options.mechanism,
            ],
        }
        if options.limits:
            content["limits"] = list(options.limits)
        if self.delta:
            content["delta"] = str(self.delta)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True)
class DesignedMechanism:
    """A mechanism and the digest of its passport."""

    mechanism: AnyMechanism
    sha256: str


def default_cache_folder() -> Path:
    """Return the folder of cached designs: $XDG_CACHE_HOME/inbounds, by default ~/.cache/inbounds."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inbounds"


def load_or_design(request: DesignRequest, folder: Path) -> DesignedMechanism:
    """Load the design of a request from the folder, or design it and store it there."""
    if isinstance(request.query, RangeQuery):
        _check_kind(request.query)
        _check_width(request.query, LARGEST_RANGE)
    path = folder / f"{request.digest}.json"
    if path.exists():
        try:
            passport = PASSPORT.load(path)
            mechanism: AnyMechanism = certify_document(passport)
            same = (mechanism.query, mechanism.epsilon, mechanism.delta)
            if same == (request.query, request.epsilon, request.delta):
                return DesignedMechanism(mechanism, passport.sha256)
        except (InboundsError, OSError, ValueError):
            pass  # not the cached mechanism: design it again
    if request.delta:
        mechanism = design_threshold_request(request.query, request.epsilon, request.delta)
    else:
        mechanism = design_request(request.query, request.epsilon, request.options)
    passport = to_passport(mechanism)  # once: its claims may take as long as the design
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # the file there is not the mechanism
        passport.save(path)
    except OSError:
        pass  # a cache that cannot be written is only slower
    return DesignedMechanism(mechanism, passport.sha256)


def design_request(query: Query, epsilon: Fraction, options: DesignOptions) -> AnyMechanism:
    """Design the mechanism of a request without a delta."""
    if isinstance(query, JointQuantileQuery):
        return design_joint_request(query, epsilon, options)
    if isinstance(query, QuantileQuery):
        return design_quantile_request(query, epsilon, options)
    return design_range_request(query, epsilon, options)


def design_threshold_request(query: Query, epsilon: Fraction, delta: Fraction) -> Mechanism:
    """Build the number of persons by which groups from the data are published; it takes no design options."""
    assert isinstance(query, RangeQuery)
    made = threshold(query, epsilon, delta)
    assert isinstance(made.law, Threshold)
    if len(query.answers) - 1 <= made.law.bound:
        least = made.law.bound + 1
        raise ValueError(
            f"publishes groups with numbers of {least} and more only, at this epsilon and delta, but max_size is "
            f"{len(query.answers) - 1}; give a larger max_size, epsilon or delta"
        )
    return made


def design_joint_request(query: JointQuantileQuery, epsilon: Fraction, options: DesignOptions) -> JointMechanism:
    """Design one draw of several quantiles; a prior is about what is expected of it, not about the draw."""
    if options.replace(prior=None) != DEFAULT_OPTIONS:
        raise ValueError("has several quantiles in one draw, which take no design options but a prior")
    from inbounds.design.quantiles import design_quantiles

    return design_quantiles(query, epsilon).mechanism


def design_quantile_request(query: QuantileQuery, epsilon: Fraction, options: DesignOptions) -> QuantileMechanism:
    """Design path scores, or the oblivious optimum, by expected error; other options are about the answer alone."""
    if options.replace(prior=None) == DEFAULT_OPTIONS:
        from inbounds.design.quantiles import design_quantile

        return design_quantile(query, epsilon, resolve_prior(options, query.as_range_query)).mechanism
    mechanism = design_range_request(query.as_range_query, epsilon, options)
    return Mechanism(query, epsilon, CentralRecords.from_answers(query, mechanism.weights), mechanism.origin)


def design_range_request(query: RangeQuery, epsilon: Fraction, options: DesignOptions) -> Mechanism:
    """Design the optimal mechanism if it can be found, else geometric noise in the range."""
    if query.neighbours.has_distances:
        return design_per_step(query, epsilon, options)
    if options.mechanism == NOISE:
        _check_fineness(query.steps, epsilon)
        return geometric_table(query, epsilon)
    if options.mechanism != "optimal":
        return find_catalog_entry(options.mechanism)(query, epsilon)
    from inbounds.design.large import MOST_REMAPPED, design_noise, has_noise_design, is_count

    goal = _goal(query, options)
    if is_count(query) and has_noise_design(query, goal) and options.aim == "average" and not options.properties:
        _check_width(query, MOST_REMAPPED)
        return design_noise(query, epsilon, goal)
    return design_matrix_request(query, epsilon, options)


def _check_kind(query: RangeQuery) -> None:
    """Raise ValueError if passports do not have queries of this kind: the mechanism's could not be loaded."""
    if query.kind not in KINDS:
        raise ValueError(f"has a query of the kind {query.kind!r}, but passports have {', '.join(sorted(KINDS))} only")


def _goal(query: RangeQuery, options: DesignOptions) -> "DesignGoal":
    """Return the goal that the options state for a query."""
    from inbounds.design.goal import DesignGoal

    limits = tuple(parse_limit(text) for text in options.limits)
    loss, prior = parse_loss(options.loss), resolve_prior(options, query)
    return DesignGoal(loss, prior, frozenset(options.properties), options.aim, limits)


def _check_width(query: RangeQuery, most: int) -> None:
    """Raise ValueError if the query has more than `most` answers."""
    answers = len(query.answers)
    if answers > most:
        hint = "declare smaller groups, or give the column a larger step"
        raise ValueError(f"has {answers} possible answers, over {most}; {hint}")


def design_matrix_request(query: RangeQuery, epsilon: Fraction, options: DesignOptions) -> Mechanism:
    """Design the optimal matrix for few answers, else a noise table."""
    from inbounds.design.large import has_noise_design

    plain = not (options.properties or options.limits)
    has_table = has_noise_design(query, _goal(query, options))
    most = DESIGNED_UP_TO if plain and not query.neighbours.is_complete else LARGEST_MATRIX
    if len(query.answers) > most and (plain or has_table) and not query.neighbours.is_complete:
        return design_noise_table(query, epsilon, options)
    if len(query.answers) > LARGEST_MATRIX:
        answers = len(query.answers)
        raise ValueError(f"has {answers} possible answers, over {LARGEST_MATRIX}; give the column a larger step")
    from inbounds.design.designer import optimal

    aim: Any = options.aim
    prior = resolve_prior(options, query)
    limits = [parse_limit(text) for text in options.limits]
    return optimal(
        query,
        epsilon,
        parse_loss(options.loss),
        prior,
        options.properties,
        aim,
        subject_to=limits,
        max_seconds=PATIENCE,
    )


def design_noise_table(query: RangeQuery, epsilon: Fraction, options: DesignOptions) -> Mechanism:
    """Design noise as a table, with the best report for every noisy value up to LARGEST_REMAP answers."""
    from inbounds.design.large import design_noise, has_noise_design

    _check_fineness(query.steps, epsilon)
    if options.aim == "worst" and options.prior is not None:
        raise ValueError(
            f"has {len(query.answers)} possible answers, over {DESIGNED_UP_TO}, too many for the worst answer under a "
            "prior; leave out prior or aim"
        )
    goal = _goal(query, options)
    if has_noise_design(query, goal):
        return design_noise(query, epsilon, goal, LARGEST_REMAP)
    return geometric_table(query, epsilon)


def design_per_step(query: RangeQuery, epsilon: Fraction, options: DesignOptions) -> Mechanism:
    """Build geometric noise that costs the same for every step, for numbers that share the cost of one record."""
    given = (options.properties, options.limits, options.aim == "worst")
    if any(given) or options.mechanism not in ("optimal", "truncated_geometric"):
        raise ValueError(
            "is computed from sums that are drawn with geometric noise and no other, got properties, limits, the worst "
            "aim or a mechanism; leave them out for this statistic"
        )
    _check_fineness(query.steps, epsilon)
    return geometric_table(query, epsilon)


def _check_fineness(steps: Fraction | int, epsilon: Fraction) -> None:
    """Raise ValueError if the noise table would be too large: it grows with the steps of one record, and as epsilon
    falls.
    """
    if not steps <= MOST_REACH * epsilon:
        least = -(-steps // (MOST_REACH * epsilon))
        raise ValueError(f"is too fine for this epsilon; give the column a step at least {least} times larger")


def find_catalog_entry(name: str) -> Callable[..., Mechanism]:
    """Return a mechanism of the catalog that needs only a query and epsilon."""
    known = {row.name: row.make for row in REGISTRY.values() if row.in_plans}
    if name not in known:
        raise ValueError(f"must be optimal or one of {', '.join(known)}, got {name!r}")
    return known[name]


def resolve_prior(options: DesignOptions, query: RangeQuery) -> Floats | None:
    """Compute the weights that a named prior gives to the answers of a query."""
    if options.prior is None:
        return None
    name, *numbers = options.prior
    weights: Floats = getattr(priors, name)(query, *numbers)
    return weights


def _prior_texts(prior: tuple[Any, ...] | None) -> list[str] | None:
    return None if prior is None else [str(part) for part in prior]
