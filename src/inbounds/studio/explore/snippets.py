"""The same question as Python, as a command and as a plan; each gives the same mechanism, bit by bit."""

import json
import shlex
from fractions import Fraction

from inbounds.losses import LossLimit
from inbounds.plan.write import quote
from inbounds.studio.explore.state import OPTIMAL, WITH_NUMBER, ExploreState


def python_snippet(question: ExploreState) -> str:
    """Return a script of a few lines."""
    facts = ", ".join(_literal(fact) for fact in question.facts)
    lines = ["import inbounds as ib", "", f"query = ib.{question.kind}({facts})"]
    if question.mechanism != OPTIMAL:
        return "\n".join([*lines, f'm = ib.catalog.{question.mechanism}(query, "{question.epsilon}")', "print(m)", ""])
    arguments = [f'query, "{question.epsilon}"']
    if question.loss != "absolute":
        arguments.append(f"loss={_loss(question.loss, question.beyond)}")
    if question.prior_numbers:
        numbers = ", ".join(map(_literal, question.prior_numbers))
        arguments.append(f"prior=ib.priors.{question.prior}(query, {numbers})")
    if question.require:
        arguments.append(f"properties={list(question.require)!r}")
    if question.aim != "average":
        arguments.append(f"aim={question.aim!r}")
    if question.limit_texts:
        arguments.append(f"subject_to=[{', '.join(map(_limit, question.restrictions()))}]")
    return "\n".join([*lines, f"m = ib.optimal({', '.join(arguments)})", "print(m)", ""])


def command_snippet(question: ExploreState) -> str:
    """Return a line for the terminal; a prior is a file, which a first line writes."""
    facts = {name.replace("_", "-"): getattr(question, name) for name in question.required_fields}
    words = ["inbounds", "design", question.kind, *(f"--{n}={v}" for n, v in facts.items())]
    words.append(f"--epsilon={question.epsilon}")
    if question.mechanism != OPTIMAL:
        return "# named mechanisms are made in Python: see there"
    if question.loss != "absolute":
        words.append(f"--loss={question.loss_name}")
    if question.require:
        words.append(f"--property={','.join(question.require)}")
    if question.aim != "average":
        words.append(f"--aim={question.aim}")
    words += [f"--limit={text}" for text in question.limit_texts]
    if not question.prior_numbers:
        return shlex.join([*words, "--out=m.json"])
    facts_text = ", ".join(_literal(fact) for fact in question.facts)
    numbers = ", ".join(map(_literal, question.prior_numbers))
    weights = f"ib.priors.{question.prior}(ib.{question.kind}({facts_text}), {numbers}).tolist()"
    first = f"import inbounds as ib; print(*{weights}, sep='\\n')"
    return f"python -c {shlex.quote(first)} > prior.txt\n" + shlex.join([*words, "--prior=prior.txt", "--out=m.json"])


def plan_snippet(question: ExploreState) -> str:
    """Return the lines of a plan with the same design options."""
    lines = ["[privacy]", f"epsilon = {_number(question.epsilon)}", "", "[design]"]
    if question.mechanism != OPTIMAL:
        return "\n".join([*lines, f"mechanism = {quote(question.mechanism)}"])
    lines.append(f"loss = {quote(question.loss_name)}")
    if question.require:
        lines.append(f"properties = [{', '.join(map(quote, question.require))}]")
    if question.prior_numbers:
        numbers = [_number(text) for text in question.prior_numbers]
        value = numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"
        lines.append(f"prior = {{ {question.prior} = {value} }}")
    if question.aim != "average":
        lines.append(f"aim = {quote(question.aim)}")
    if question.limit_texts:
        lines.append(f"limits = [{', '.join(map(quote, question.limit_texts))}]")
    return "\n".join(lines)


def _loss(name: str, beyond: str) -> str:
    if name in WITH_NUMBER:
        return f"ib.{WITH_NUMBER[name]}({_literal(beyond)})"
    return repr(name)


def _limit(limit: LossLimit) -> str:
    name = limit.loss.name
    for word in WITH_NUMBER:
        spoken = word.replace("-", " ")
        if name.startswith(spoken):
            name = _loss(word, name.removeprefix(spoken).strip())
            break
    else:
        name = repr(name)
    average = ', aim="average"' if limit.aim == "average" else ""
    return f"ib.limit_loss({name}, {_literal(str(limit.bound))}{average})"


def _literal(value: object) -> str:
    """Return a number if Python writes it like the text, otherwise the quoted text."""
    if isinstance(value, str) and value.isdecimal() and str(int(value)) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _number(text: str) -> str:
    """Return a TOML number if the text is a plain decimal; an exact fraction stays a text."""
    plain = text.replace(".", "", 1).isdecimal() and not text.startswith(".") and not text.endswith(".")
    return text if plain and str(Fraction(text)) and not (text[0] == "0" and text[1:2].isdecimal()) else quote(text)
