"""Describe a release for others: an entry for the registry of deployments, and a checklist for a reviewer.

The entry has the fields of the Differential Privacy Deployments Registry (OpenDP and NIST; arXiv 2509.13509), as YAML.
What follows from the record is filled in; what only people know begins with TO_COMPLETE. The checklist has a line for
each topic of NIST SP 800-226, "Guidelines for Evaluating Differential Privacy Guarantees": what the record says about
it, and what remains to be decided by people.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from inbounds.exact import round_up_to_float
from inbounds.plan.plan import CHANGE
from inbounds.releases.charge_session import format_population_state
from inbounds.releases.public_page import make_title
from inbounds.schema.record_types import PlanRecord, ReleaseRecord
from inbounds.schema.text import format_groups, format_number

TO_COMPLETE = "TO COMPLETE:"
"""The beginning of what a person must write."""

Entry = dict[str, Any]


def build_registry_entry(record: ReleaseRecord) -> Entry:
    """Build the entry of a release, as plain values."""
    about, plan, delta = record.get("about", {}), record["plan"], record["epsilon"].get("delta", "")
    parameters = {"epsilon": record["epsilon"]["spent"], **({"delta": delta} if delta else {})}
    title = about.get("title") or make_title(record)
    return {
        "url_slug": slug(f"{title} {plan.get('edition', '')}"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "product": {
                "name": title,
                "data_curators": [about.get("author") or f"{TO_COMPLETE} who publishes"],
                "intended_use": f"{TO_COMPLETE} what the numbers are for",
                "data_product_type": "Summary statistics",
                "data_product_region": f"{TO_COMPLETE} the region that the data is about",
                "description": _description(record),
                "publication_date": record["time"][:10],
                "data_product_sector": f"{TO_COMPLETE} Technology, Healthcare, Education or Government",
            },
            "dp_flavor": {
                "name": "Approximate DP" if delta else "Pure DP",
                "input_metric": _metric(record),
                "bound_on_input_distance": "1",
                "output_measure": "hockey-stick divergence at epsilon" if delta else "max divergence",
                "bound_on_output_distance": delta or record["epsilon"]["spent"],
                "data_domain": _domain(record),
                "unprotected_quantities": _lines(_unprotected(record)),
            },
            "privacy_loss": {
                "privacy_unit": "Person-level",
                "privacy_unit_description": record["statement"],
                "privacy_parameters": {name: round_up_to_float(Fraction(value)) for name, value in parameters.items()},
                "privacy_parameters_description": _lines([f"exactly: {_terms(record)}", _so_far(record)]),
            },
            "model": {
                "model_name": "Central",
                "actors": f"{TO_COMPLETE} who sees the data itself, and why they are trusted; readers need no trust",
                "release_type": "Many releases" if _is_one_of_many(record) else "One release",
                "release_type_description": _so_far(record),
                "data_source_type": f"{TO_COMPLETE} Static or Dynamic",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": _lines(_post_processing(record)),
                "composition": _lines(record["composition"]),
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": _lines([_preparation(plan), *record["values"]]),
                "mechanisms": _lines(_mechanisms(record)),
                "justification": f"{TO_COMPLETE} why this epsilon, these bounds and these groups",
            },
            "resources": {
                "sources": f"Record {record['id']}; inbounds verify checks it with its table",
                "registry_authors": [f"{TO_COMPLETE} who wrote this entry"],
            },
        },
    }


def _preparation(plan: PlanRecord) -> str:
    """Say what is taken from the data before the release, which is nothing but keys, if the plan says so."""
    if "keys" in plan:
        return "The plan is fixed before the data is read; groups are those of the data, published at a part of delta"
    return "The plan is fixed before the data is read; no release computes a bound or a key from data"


def _terms(record: ReleaseRecord) -> str:
    """Return epsilon and delta in words."""
    epsilon = record["epsilon"]
    delta = Fraction(epsilon.get("delta", "0"))
    return f"epsilon {format_number(Fraction(epsilon['spent']))}, delta {format_number(delta)}"


def slug(text: str) -> str:
    """Return a name for an address.

    >>> slug("How safe? Survey 2025")
    'how-safe-survey-2025'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100].rstrip("-")


# --- what the record says -----------------------------------------------------------------------------------


def _description(record: ReleaseRecord) -> str:
    plan = record["plan"]
    names = ", ".join(statistic["name"] for statistic in plan["statistics"])
    where = f"for {format_groups(plan['groups'], plan['by'])}"
    edition = f"edition {plan['edition']}" if plan.get("edition") else ""
    notes = record.get("about", {}).get("notes", "")
    return _lines([f"{names} {where}", edition, notes])


def _metric(record: ReleaseRecord) -> str:
    plan = record["plan"]
    if "unit" in plan:
        return f"how many persons (values of {plan['unit']['id']}), with all their records, are added or removed"
    if plan["sizes"] == "public":
        return "how many records are changed within their groups, whose sizes are public"
    return "how many records are changed" if plan["neighbours"] == CHANGE else "how many records are added or removed"


def _domain(record: ReleaseRecord) -> str:
    plan = record["plan"]
    return f"tables of records with the columns {', '.join(dict.fromkeys([*plan['by'], *plan['columns']]))}"


def _unprotected(record: ReleaseRecord) -> list[str]:
    plan = record["plan"]
    sizes = "the number of records in each group" if plan["sizes"] == "public" else ""
    groups = "" if "keys" in plan else "which groups there are, "
    return [
        f"Everything in the plan is public: {groups}bounds and labels of columns, largest sizes",
        sizes and f"Public and not protected: {sizes}",
        "" if "unit" in plan else "Each record counts as one person; a person with several records is protected less",
    ]


def _so_far(record: ReleaseRecord) -> str:
    return format_population_state(record) if "ledger" in record else "counted by no ledger"


def _is_one_of_many(record: ReleaseRecord) -> bool:
    """Return whether these people's data was released before, or is meant to be again."""
    entry = record.get("ledger")
    return bool(entry) and ("period" in entry or entry["spent"] != record["epsilon"]["spent"])  # type: ignore[index,operator]


def _post_processing(record: ReleaseRecord) -> list[str]:
    adding = [one["statistic"] for one in record["reports"]["statistics"]] if "reports" in record else []
    derived = [line["statistic"] for line in record["mechanisms"] if "parts" in line]
    return [
        f"Made to add up: {', '.join(dict.fromkeys(adding))}" if adding else "",
        f"Computed from drawn numbers: {', '.join(dict.fromkeys(derived))}" if derived else "",
    ]


def _mechanisms(record: ReleaseRecord) -> list[str]:
    origins = dict.fromkeys(f"{line['statistic']}: {line['origin']}" for line in record["mechanisms"])
    return [
        *origins,
        f"inbounds {record['versions'].get('inbounds', '')}, entropy of the operating system".replace(" ,", ","),
        "Probabilities are integers whose ratios are checked before the data is read, so that floating-point "
        "errors cannot weaken the promise",
        "What is released, refused or reported as an error does not depend on data; what remains is in SECURITY.md",
        f"{TO_COMPLETE} who has access to the data and to the ledger",
    ]


def _lines(texts: Sequence[str]) -> str:
    """Join texts to lines, without empty ones."""
    return "\n".join(text for text in texts if text)


# --- YAML ---------------------------------------------------------------------------------------------------


def format_yaml(values: Mapping[str, Any], depth: int = 0) -> str:
    """Write plain values as YAML: texts in quotes as in JSON, several lines as a block.

    >>> print(format_yaml({"a": {"b": "x: 1", "c": ["y"]}, "d": "1\\n2"}), end="")
    a:
      b: "x: 1"
      c:
        - "y"
    d: |-
      1
      2
    """
    return "".join(_yaml_lines(values, depth))


def _yaml_lines(values: Mapping[str, Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield f"{pad}{name}:\n{format_yaml(value, depth + 1)}"
        elif isinstance(value, list):
            yield f"{pad}{name}:\n" + "".join(f"{pad}  - {json.dumps(one, ensure_ascii=False)}\n" for one in value)
        elif isinstance(value, str) and _can_be_block(value):
            yield f"{pad}{name}: |-\n" + "".join(f"{pad}  {line}\n" if line else "\n" for line in value.split("\n"))
        else:
            yield f"{pad}{name}: {json.dumps(value, ensure_ascii=not str(value).isprintable())}\n"


def _can_be_block(text: str) -> bool:
    """Return whether a text has several lines and can be written as they are."""
    return "\n" in text and text == text.strip() and text.replace("\n", "").isprintable()


# --- the checklist ------------------------------------------------------------------------------------------


class Topic(NamedTuple):
    """A topic of the guidelines. known: what the record says. open: what people decide."""

    title: str
    known: str
    open: str


def list_topics(record: ReleaseRecord) -> list[Topic]:
    """Return the topics of NIST SP 800-226, from the strength of the promise down to the collection of the data."""
    plan = record["plan"]
    unit = plan.get("unit")
    who = (
        f"One person is all records with the same {unit['id']}; at most {unit['max_records']} count in each of "
        + ("one group" if unit["max_groups"] == 1 else f"at most {unit['max_groups']} groups")
        if unit
        else "One record is one person"
    )
    alike = "" if unit or plan["neighbours"] != CHANGE else "; adding or removing a person is another promise"
    useless = "; ".join(record["useless"]) or "every number is expected to be better than a fixed guess"
    return [
        Topic(
            "Privacy parameters",
            _terms(record),
            "Is this epsilon low enough, and who decided it?",
        ),
        Topic("Variant", _variant(record), ""),
        Topic("Unit of privacy", f"{who}; neighbours: {plan['neighbours']}{alike}", "Can one person be several units?"),
        Topic(
            "Composition",
            f"{record['composition'][-1]}; {_so_far(record)}",
            "Are these people in other releases, of this office or of others?",
        ),
        Topic(
            "Algorithms",
            f"{len(record['mechanisms'])} mechanisms, each certified in integers before the data was read; `inbounds "
            "verify` certifies them again, with checkers that share no code",
            "",
        ),
        Topic(
            "Contribution and clipping bounds",
            "from the plan, never from data: " + ("; ".join(_bounds(record)) or "no column of numbers is bounded"),
            "Where do the bounds come from? Would other public bounds fit better?",
        ),
        Topic("Accuracy", useless, "Is the error stated to readers small enough for their use?"),
        Topic(
            "Bias",
            "numbers lie within their ranges, so small ones are too large on average"
            + ("; those that add up were adjusted after they were drawn" if "reports" in record else ""),
            "Are small groups served worse, and does that matter for decisions about them?",
        ),
        Topic(
            "Floating point and randomness",
            "no float decides privacy; entropy comes from the operating system",
            "Is that machine's entropy trusted?",
        ),
        Topic(
            "Side channels",
            "errors, refusals and the order of steps do not depend on data; SECURITY.md lists what remains",
            "Who can watch time or memory of the machine?",
        ),
        Topic(
            "Trust model", "central: whoever runs the release sees the data", "Who is that, and who supervises them?"
        ),
        Topic(
            "Security of data and ledger", "the ledger has no data, but draws not yet published", "Who can read them?"
        ),
        Topic(
            "Collection of the data",
            "not part of the promise",
            "Is the collection lawful and as small as can be? When is the data deleted?",
        ),
    ]


def _variant(record: ReleaseRecord) -> str:
    if "delta" in record["epsilon"]:
        return "approximate differential privacy; the statement holds for epsilon and delta together"
    return "pure differential privacy, so that no conversion is needed to compare epsilons"


def _bounds(record: ReleaseRecord) -> list[str]:
    columns = record["plan"]["columns"].items()
    return [f"{name} {column['low']}..{column['high']}" for name, column in columns if "low" in column]


def format_checklist(record: ReleaseRecord) -> str:
    """Write the checklist as Markdown: what the record says, and a box for each question that people answer."""
    title = record.get("about", {}).get("title") or make_title(record)
    parts = [
        f"# Checklist for {title}\n",
        "Topics of NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees. What stands under "
        f"a topic follows from the release record {record['id']}; boxes are questions that people answer.\n",
    ]
    for topic in list_topics(record):
        parts.append(f"## {topic.title}\n\n{topic.known[:1].upper()}{topic.known[1:]}.\n")
        if topic.open:
            parts.append(f"- [ ] {topic.open}\n")
    return "\n".join(parts)
