// Releases about persons: one person has several records, and every mechanism must be the one that covers them.

const PERSON_WRONG = "a mechanism promises less than one person's records need";

/** r records in each of c groups, of which a mechanism covers some at once, cost c · ⌈r / covered⌉ epsilons. */
function checkPerson({ made, entry, plan, query, quantile, epsilon }) {
  const { records, groups } = contribution(plan);
  const covered = coveredAtOnce(entry.statistic, plan, query, quantile, records);
  const times = groups * ceiling(records, covered);
  insist(epsilon.times(new Fraction(times)).compare(entry.part) <= 0, PERSON_WRONG);
  const first = /^[0-9]{1,20}/.exec(String(made.get("size")));
  insist(first !== null, PERSON_WRONG);
  const size = BigInt(first[0]);
  const atOnce = entry.kind.byUnit || entry.addsUp ? 1n : records;
  if (quantile === null) checkPersonQuery(query, entry.statistic, plan, size, atOnce);
  else checkPersonQuantile(quantile, entry.statistic, plan, size, atOnce);
}

function coveredAtOnce(statistic, plan, query, quantile, records) {
  if (quantile !== null) return quantile.records;
  const kind = statistic.get("kind");
  if (kind === "histogram" || kind === "mean") return 1n;
  if (query.reach === null || query.reach >= query.answers.size - 1n) return records;
  const most = kind === "sum" ? largestSize(...boundsOf(plan, statistic)) : ONE;
  const found = new Fraction(query.reach).times(query.answers.unit).over(most);
  const times = found.numerator / found.denominator;
  return times > 1n ? times : 1n;
}

function largestSize(low, high) {
  const [a, b] = [low, high].map((value) => (value.compare(ZERO) < 0 ? ZERO.minus(value) : value));
  return a.compare(b) > 0 ? a : b;
}

/** Answers first, first + unit, …: `count` of them. */
const evenly = (first, unit, count) => new Scale(first, unit, count, null);

/** The values of a column of numbers. */
function columnOf(plan, statistic) {
  const column = field(plan.get("columns"), statistic.get("of"));
  const [low, high, step] = ["low", "high", "step"].map((name) => Fraction.read(field(column, name)));
  const width = high.minus(low).over(step);
  insist(step.compare(ZERO) > 0 && width.denominator === 1n && width.numerator > 0n, PERSON_WRONG);
  return { low, high, step, width: width.numerator, missing: column.get("missing") };
}

function checkPersonQuery(query, statistic, plan, size, records) {
  const expected = personQuery(statistic, plan, size);
  const limit = expected.answers.size - 1n;
  const reach = expected.reach === null ? null : records === 1n ? expected.reach : records * expected.reach;
  const capped = reach !== null && records !== 1n && reach > limit ? limit : reach;
  const metric = expected.metric ?? null;
  const same =
    query.kind === expected.kind && query.answers.equals(expected.answers) && query.oneOutputPerAnswer && !query.rounds &&
    query.allowance.equals(ZERO) && query.reach === capped && sameAmount(query.metric, metric) &&
    (query.labels ?? []).join("\n") === (expected.labels ?? []).join("\n");
  insist(same, PERSON_WRONG);
}

/** The question that a statistic asks of a group of at most so many records, where one of them comes or goes. */
function personQuery(statistic, plan, size) {
  const kind = statistic.get("kind");
  if (["count", "histogram", "crosstab"].includes(kind))
    return { kind: "count", answers: evenly(ZERO, ONE, size + 1n), reach: 1n };
  if (kind === "mode") {
    const labels = field(field(plan.get("columns"), statistic.get("of")), "labels");
    return { kind: "category", answers: evenly(ZERO, ONE, BigInt(labels.length)), reach: null, labels };
  }
  const column = columnOf(plan, statistic);
  if (kind === "mean") {
    const answers = evenly(ZERO, column.step, size * column.width + 1n);
    return { kind: "total", answers, reach: null, metric: column.high.minus(column.low) };
  }
  insist(kind === "sum", PERSON_WRONG);
  return sumQuery(column, size);
}

/** Sums of at most so many values, from min(0, n·low) to max(0, n·high), on the coarsest grid through 0 and low. */
function sumQuery({ low, high, step }, size) {
  const common = (low.denominator / greatestCommonDivisor(low.denominator, step.denominator)) * step.denominator;
  const [start, jump] = [low, step].map((value) => value.numerator * (common / value.denominator));
  const unit = new Fraction(greatestCommonDivisor(start, jump), common);
  const [least, most] = [low, high].map((value) => value.over(unit).numerator);
  const [first, last] = [least < 0n ? size * least : 0n, most > 0n ? size * most : 0n];
  const sizes = [least, most].map((value) => (value < 0n ? -value : value));
  const reach = sizes[0] > sizes[1] ? sizes[0] : sizes[1];
  return { kind: "total", answers: evenly(unit.times(new Fraction(first)), unit, last - first + 1n), reach };
}

const FIXED_SHARES = { min: ZERO, median: new Fraction(1n, 2n), max: ONE };

function checkPersonQuantile(quantile, statistic, plan, size, records) {
  const [kind, column] = [statistic.get("kind"), columnOf(plan, statistic)];
  const at = FIXED_SHARES[kind] ?? (kind === "quantile" ? Fraction.read(field(statistic, "at")) : null);
  insist(at !== null && isText(column.missing), PERSON_WRONG);
  const missing = Fraction.read(column.missing).minus(column.low).over(column.step);
  const same =
    quantile.values.equals(evenly(column.low, column.step, column.width + 1n)) && quantile.at.equals(at) &&
    quantile.size === size && !quantile.public && quantile.records === records &&
    missing.equals(new Fraction(quantile.missing));
  insist(same, PERSON_WRONG);
}
