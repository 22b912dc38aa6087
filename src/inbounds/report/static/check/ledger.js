// Exported ledgers: one chain of entries, charges added up anew, every budget in the units that it allows.

const NANO = 10n ** 9n;
const RHO_UNITS = 10n ** 15n;
const DELTA_UNITS = 10n ** 18n;
const MOST_UNITS = (1n << 63n) - 1n;
const START = "0".repeat(64);
const FINE = 256n;
const ENTRY_KINDS = ["ledger", "people", "budget", "period", "charge", "draw", "answer"];
const DECIMAL = /^(-?)([0-9]{1,400})(?:\.([0-9]{1,400}))?$/;

/** "1/3", "2" or "0.25". */
function readAmount(text) {
  const found = typeof text === "string" ? DECIMAL.exec(text) : null;
  if (found === null) return Fraction.read(text);
  const [, sign, before, after = ""] = found;
  return new Fraction(BigInt(sign + before + after), 10n ** BigInt(after.length));
}

const readAmountOrNull = (text) => (text === null ? null : readAmount(text));

function readUnits(value) {
  if (value === null) return null;
  insist(typeof value === "bigint" || (typeof value === "string" && /^-?[0-9]{1,40}$/.test(value)), "units must be whole");
  return BigInt(value);
}

const ceiling = (n, d) => -(-n / d) + (n > 0n && n % d !== 0n ? 1n : 0n);

// --- the rules --------------------------------------------------------------------------------------------------

const RULES = {
  sum: {
    cost: (parts) => {
      const all = parts.reduce((sum, part) => sum.plus(part), ZERO);
      return ceiling(all.numerator * NANO, all.denominator);
    },
    allows: (epsilon, delta, units) => (epsilon.numerator * NANO) / epsilon.denominator === units,
  },
  zcdp: {
    cost: (parts) => parts.reduce((sum, part) => sum + rho(part), 0n),
    allows: (epsilon, delta, units) => {
      insist(delta !== null && delta.compare(ZERO) > 0 && delta.compare(ONE) < 0, "delta must be between 0 and 1");
      return isAtMost(units, delta, epsilon) && !isAtMost(units + 1n, delta, epsilon);
    },
  },
};

/** epsilon · tanh(epsilon/2) in units of 10^-15, rounded up. tanh(x/2) = 1 - 2 / (e^x + 1), from e^x from above. */
function rho(epsilon) {
  if (epsilon.compare(LARGEST_EPSILON) > 0) return ceiling(epsilon.numerator * RHO_UNITS, epsilon.denominator);
  const above = expEnclosed(epsilon, 512n)[1];
  const one = 1n << 512n;
  return ceiling(epsilon.numerator * (above - one) * RHO_UNITS, epsilon.denominator * (above + one));
}

/** Whether `units` of rho are (epsilon, delta)-private: for the best order alpha = 1 + b,
 *
 *     alpha·rho + (ln(1/delta) - ln(alpha)) / b + ln(b / alpha) <= epsilon .
 *
 * Any b gives a valid bound; the best is sought in floats, and judged in whole numbers over 2^256.
 */
function isAtMost(units, delta, epsilon) {
  const b = bestOrder(Number(units) / Number(RHO_UNITS), delta);
  const alpha = b.plus(ONE);
  const linear = fixed(alpha.times(new Fraction(units, RHO_UNITS)));
  const tail = ((logarithm(ONE.over(delta)) - logarithm(alpha)) * b.denominator) / b.numerator;
  return linear + tail + logarithm(b) - logarithm(alpha) <= fixed(epsilon);
}

/** Where rho·b² = ln(1/delta) - ln(1 + b): by halving the logarithm of b. */
function bestOrder(size, delta) {
  const target = Number(logarithm(ONE.over(delta))) / Number(1n << FINE);
  let [low, high] = [-60, 60];
  for (let k = 0; k < 200; k++) {
    const middle = (low + high) / 2;
    const b = Math.exp(middle);
    if (size * b * b + Math.log1p(b) < target) low = middle;
    else high = middle;
  }
  const bits = BigInt(Math.max(0, Math.ceil(60 - low / Math.LN2)));
  return new Fraction(BigInt(Math.round(Math.exp(low) * 2 ** Math.min(Number(bits), 900))), 1n << bits);
}

const fixed = (x) => (x.numerator << FINE) / x.denominator;

/** ln x over 2^256, wrong by less than 2^-230: x = 2^k·m, ln m = 2·atanh((m - 1)/(m + 1)), m near 1. */
function logarithm(x) {
  const shift = BigInt(bitLength(x.numerator) - bitLength(x.denominator));
  const [down, up] = shift >= 0n ? [shift, 0n] : [0n, -shift];
  return shift * LN2 + nearLogarithm(new Fraction(x.numerator << up, x.denominator << down));
}

function nearLogarithm(m) {
  const z = fixed(m.minus(ONE).over(m.plus(ONE)));
  const square = (z * z) >> FINE;
  let [power, sum] = [z, 0n];
  for (let k = 1n; power !== 0n; k += 2n) {
    sum += power / k;
    power = (power * square) / (1n << FINE); // towards zero, so that it gets there
  }
  return 2n * sum;
}

const LN2 = nearLogarithm(new Fraction(2n));

// --- the chain --------------------------------------------------------------------------------------------------

/** The canonical JSON of all that an entry's digest is of. */
function entryContent(entry) {
  const named = ["people", "key", "digest"].map((name) => field(entry, name));
  insist(named.every((value) => value === null || typeof value === "string"), "an entry must hold texts");
  const texts = ["kind", "previous", "time"].map((name) => field(entry, name));
  insist(texts.every((value) => typeof value === "string"), "an entry must hold texts");
  const units = readUnits(field(entry, "units"));
  const rest = new Map(entry);
  rest.delete("sha256");
  insist(rest.size === 9, "an entry must hold its nine fields");
  rest.set("units", units === null ? null : units.toString());
  return canonical(rest);
}

class Account {
  constructor() {
    Object.assign(this, { id: "", last: START, count: 0n, people: new Map(), charged: new Map(), drawn: new Set(), answered: new Set() });
  }

  take(entry) {
    const number = field(entry, "number");
    const where = `entry ${this.count + 1n}`;
    insist(number === this.count + 1n, `${where} is missing, or stands elsewhere`);
    insist(field(entry, "previous") === this.last, `${where} does not name the digest of the one before it`);
    const digest = sha256(inBytes(entryContent(entry)));
    insist(field(entry, "sha256") === digest, `${where} does not have the digest stated`);
    const kind = field(entry, "kind");
    insist(ENTRY_KINDS.includes(kind) && (kind === "ledger") === (number === 1n), `${where} cannot be of its kind here`);
    const facts = field(entry, "facts");
    const known = facts instanceof Map && [...facts.keys()].every((name) => FACTS[kind].includes(name));
    insist(known, `${where} says what no rule knows`);
    this[`take_${kind}`](entry, readUnits(entry.get("units")), where);
    this.count = number;
    this.last = digest;
  }

  take_ledger(entry, units, where) {
    insist(entry.get("key"), `${where} does not name the ledger`);
    this.id = entry.get("key");
  }

  take_people(entry, units, where) {
    const [name, said] = [entry.get("people"), field(entry, "facts")];
    const rule = field(said, "rule");
    const [epsilon, delta] = ["epsilon", "delta"].map((fact) => readAmountOrNull(field(said, fact)));
    insist(name !== null && !this.people.has(name) && Object.hasOwn(RULES, rule), `${where} makes people who cannot be`);
    const [every, period] = ["every", "period"].map((fact) => said.get(fact) ?? null);
    insist((every === null) === (period === null), `${where} makes people who cannot be`);
    insist(every === null || (epsilon !== null && isPeriod(period, every)), `${where} makes people whose budget cannot renew`);
    const answerDelta = readAmountOrNull(said.get("answer_delta") ?? null);
    const parts = [delta, answerDelta].filter((part) => part !== null);
    insist(parts.every(isBelowOne), `${where} makes people with a delta that cannot be`);
    insist(answerDelta === null || rule === "zcdp", `${where} makes people with a delta that cannot be`);
    const deltas = { answerDelta, deltaBudget: deltaAllowed(rule, delta, answerDelta), deltaSpent: 0n, deltaEarlier: 0n };
    const made = { name, rule, epsilon, delta, budget: units, spent: 0n, every, period, earlier: 0n, ...deltas };
    this.people.set(name, this.allowed(made, where));
  }

  take_budget(entry, units, where) {
    const before = this.known(entry, where);
    const facts = field(entry, "facts");
    const epsilon = readAmount(field(facts, "epsilon"));
    let { delta, deltaBudget } = before;
    if (facts.has("delta")) {
      delta = readAmount(facts.get("delta"));
      insist(before.rule === "sum" && isBelowOne(delta), `${where} raises a delta that is fixed, or cannot be`);
      deltaBudget = before.deltaEarlier + deltaAllowed("sum", delta, null);
    }
    const known = before.budget !== null && units !== null && units >= before.budget && deltaBudget >= before.deltaBudget;
    insist(known && (units > before.budget || deltaBudget > before.deltaBudget), `${where} does not raise a budget`);
    this.people.set(before.name, this.allowed({ ...before, epsilon, delta, deltaBudget, budget: units }, where));
  }

  take_period(entry, units, where) {
    const [before, period] = [this.known(entry, where), field(field(entry, "facts"), "period")];
    const later = before.every !== null && isPeriod(period, before.every) && period > before.period;
    insist(later, `${where} opens a period that is not later than the one before`);
    const { rule, delta, answerDelta, spent, deltaSpent } = before;
    const declared = rule === "sum" ? delta : answerDelta;
    const deltaBudget = declared === null ? 0n : deltaSpent + deltaAllowed(rule, delta, answerDelta);
    const deltas = { deltaBudget, deltaEarlier: deltaSpent };
    this.people.set(before.name, this.allowed({ ...before, period, earlier: spent, budget: units, ...deltas }, where));
  }

  allowed(people, where) {
    const { rule, epsilon, earlier, answerDelta } = people;
    const delta = answerDelta === null ? people.delta : people.delta.minus(answerDelta);
    const budget = people.budget === null ? null : people.budget - earlier;
    const wrong = `${where} gives a budget of other units than its epsilon allows`;
    if (epsilon === null) insist(budget === null, wrong);
    else {
      insist(budget !== null && budget > 0n && people.budget <= MOST_UNITS, wrong);
      insist(RULES[rule].allows(epsilon, delta, budget), wrong);
    }
    return people;
  }

  take_charge(entry, units, where) {
    const [before, key] = [this.known(entry, where), entry.get("key")];
    insist(key !== null && !this.charged.has(key), `${where} charges under the key of an earlier one, or none`);
    const texts = field(field(entry, "facts"), "parts");
    insist(Array.isArray(texts), `${where} does not say what it charges for`);
    const edition = field(entry, "facts").get("edition");
    const current = before.period === null || (typeof edition === "string" && isEditionOf(edition, before.period));
    insist(current, `${where} charges for an edition of another period`);
    const parts = texts.map(readAmount);
    insist(parts.every((part) => part.compare(ZERO) > 0), `${where} charges less than nothing`);
    insist(units === RULES[before.rule].cost(parts), `${where} charges other units than its parts cost`);
    const delta = readAmount(field(entry, "facts").get("delta") ?? "0");
    insist(delta.compare(ZERO) >= 0, `${where} charges less than nothing`);
    before.deltaSpent += ceiling(delta.numerator * DELTA_UNITS, delta.denominator);
    insist(before.deltaSpent <= before.deltaBudget, `${where} spends more than the delta budget`);
    before.spent += units;
    insist(before.budget === null || before.spent <= before.budget, `${where} spends more than the budget`);
    this.charged.set(key, before.name);
  }

  take_draw(entry, units, where) {
    const key = entry.get("key");
    const first = key !== null && !this.drawn.has(key) && !this.answered.has(key) && this.charged.has(key);
    insist(first && this.charged.get(key) === entry.get("people"), `${where} draws without a charge, too late or twice`);
    insist(entry.get("digest") !== null, `${where} has no digest of its draw`);
    this.drawn.add(key);
  }

  take_answer(entry, units, where) {
    const key = entry.get("key");
    const first = key !== null && !this.answered.has(key) && this.charged.has(key);
    insist(first && this.charged.get(key) === entry.get("people"), `${where} answers without a charge, or twice`);
    insist(entry.get("digest") !== null, `${where} has no digest of its answer`);
    this.answered.add(key);
  }

  known(entry, where) {
    const found = this.people.get(entry.get("people"));
    insist(found !== undefined, `${where} is about people who are not there`);
    return found;
  }
}

const PERIODS = { year: /^[0-9]{4}$/, month: /^[0-9]{4}-(0[1-9]|1[0-2])$/ };

const isPeriod = (text, every) => Object.hasOwn(PERIODS, every) && typeof text === "string" && PERIODS[every].test(text);

/** 2027, 2027-03 and "2027 spring" are editions of 2027; 20271 is none. */
const isEditionOf = (edition, period) =>
  edition === period || (edition.startsWith(period) && !/^[\p{L}\p{N}]/u.test(edition.slice(period.length)));

const isBelowOne = (delta) => delta.compare(ZERO) > 0 && delta.compare(ONE) < 0;

/** The units of 10^-18 that answers with a delta of their own may spend: all of it under sum, a part under zcdp. */
function deltaAllowed(rule, delta, answerDelta) {
  const own = rule === "sum" ? delta : answerDelta;
  return own === null ? 0n : (own.numerator * DELTA_UNITS) / own.denominator;
}

const sameAmount = (a, b) => (a === null || b === null ? a === b : a.equals(b));

/** Refuse totals that are not what the entries add up to. */
function checkTotals(stated, account) {
  insist(Array.isArray(stated) && stated.length === account.people.size, "the people are not those of the entries");
  const seen = new Set();
  for (const part of stated) {
    const known = part instanceof Map && [...part.keys()].every((name) => PEOPLE_FIELDS.has(name));
    insist(known, "the people have a field that no rule knows");
    const found = account.people.get(field(part, "name"));
    insist(found !== undefined && !seen.has(found), "the people are not those of the entries");
    seen.add(found);
    const [epsilon, delta] = ["epsilon", "delta"].map((name) => readAmountOrNull(field(part, name)));
    const declared = field(part, "rule") === found.rule && sameAmount(epsilon, found.epsilon) && sameAmount(delta, found.delta);
    const [budget, spent] = ["budget_units", "spent_units"].map((name) => readUnits(field(part, name)));
    const earlier = readUnits(part.get("earlier_units") ?? "0");
    const renewed = ["every", "period"].every((name) => (part.get(name) ?? null) === found[name]) && earlier === found.earlier;
    const counts = ["delta_budget_units", "delta_spent_units", "delta_earlier_units"].map((name) => readUnits(part.get(name) ?? "0"));
    const deltas = [found.deltaBudget, found.deltaSpent, found.deltaEarlier].every((units, k) => units === counts[k]);
    const own = sameAmount(readAmountOrNull(part.get("answer_delta") ?? null), found.answerDelta);
    const same = declared && own && deltas && renewed && budget === found.budget && spent === found.spent;
    insist(same, "the amounts spent differ from the sum of the entries");
  }
}

const LEDGER_FIELDS = new Set(["head", "people", "entries"]);
const PEOPLE_FIELDS = new Set([
  "name", "budget", "spent", "left", "rule", "unit", "epsilon", "delta", "budget_units", "spent_units",
  "every", "period", "earlier", "earlier_units", "answer_delta", "delta_budget", "delta_spent", "delta_left",
  "delta_budget_units", "delta_spent_units", "delta_earlier_units",
]);
const FACTS = {
  ledger: ["format", "version"], people: ["rule", "epsilon", "delta", "every", "period", "answer_delta"],
  budget: ["epsilon", "delta", "purpose"],
  period: ["period", "purpose"], charge: ["delta", "parts", "purpose", "source", "edition"], draw: [], answer: [],
};

function checkLedger(envelope, report) {
  const content = openEnvelope(envelope, report);
  insist([...content.keys()].every((name) => LEDGER_FIELDS.has(name)), "the ledger has a field that no rule knows");
  const [entries, account] = [field(content, "entries"), new Account()];
  insist(Array.isArray(entries) && entries.length > 0, "a ledger has at least its first entry");
  for (const entry of entries) account.take(entry);
  report.title = `${account.count} entries of the ledger ${account.id}`;
  checkTotals(field(content, "people"), account);
  const head = new Map([["ledger", account.id], ["entries", account.count], ["entry_sha256", account.last]]);
  const stated = field(content, "head");
  insist(stated instanceof Map && canonical(stated) === canonical(head), "the head is not that of the entries");
  report.promise = true;
  report.checked.push(
    `${account.count} entries form one chain: each has the digest stated and names that of the one before`,
    `${account.charged.size} charges cost what their parts cost, and add up to the amounts stated`,
    "no budget was ever exceeded, and each has the units that its epsilon allows",
    `${account.answered.size} answers were stored, each for a charge of its own`,
  );
  report.unchecked.push("that the end was not cut off: only a head kept elsewhere shows that");
  report.unchecked.push("the answers themselves: an export holds their digests alone");
  report.people = [...account.people.values()].map(({ name, rule, budget, spent }) => {
    const unit = rule === "sum" ? NANO : RHO_UNITS;
    const most = budget === null ? "no cap" : amount(budget, unit);
    return { name, spent: amount(spent, unit), budget: most, unit: rule === "sum" ? "epsilon" : "rho" };
  });
}

const amount = (units, unit) => String(approximateRatio(units, unit));
