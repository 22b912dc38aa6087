// Which query answers a statistic: its possible answers, and how far one protected change may move them. The rules are
// those of docs/auditor.md, for public sizes, sizes at most, and persons with several records.

const WRONG_PLAN = "the plan in the record cannot be carried out";

/** A declared column; a number has bounds that its steps fill, labels are at least two, all others have neither. */
function columnOf(plan, name) {
  const column = field(plan.get("columns"), name);
  if (!column.has("low")) {
    const [labels, other] = [optional(column, "labels", []), column.get("other")];
    insist(["high", "step", "missing"].every((part) => !column.has(part)), WRONG_PLAN);
    insist(labels.length !== 1 && new Set(labels).size === labels.length && (other === undefined || labels.includes(other)), WRONG_PLAN);
    insist((labels.length > 0 ? ["text"] : ["number", "text", "boolean"]).includes(column.get("type")), WRONG_PLAN);
    const coded = [...optional(column, "codes", new Map()).values()];
    insist(coded.every((label) => labels.includes(label)), WRONG_PLAN);
    insist(column.get("type") === "text" || !["ignore_case", "trim", "codes"].some((part) => column.has(part)), WRONG_PLAN);
    insist(new Set(labels.map((label) => spell(column, label))).size === labels.length, WRONG_PLAN);
    insist(labels.length === 0 || !column.has("max_length"), WRONG_PLAN);
    return labels.length > 0 ? { labels, other } : {};
  }
  insist(column.get("type") === "number" && !["labels", "other", "max_length"].some((part) => column.has(part)), WRONG_PLAN);
  const [low, high, step, missing] = ["low", "high", "step", "missing"].map((part) => Fraction.read(field(column, part)));
  insist(step.compare(ZERO) > 0, WRONG_PLAN);
  const [width, away] = [high.minus(low).over(step), missing.minus(low).over(step)];
  insist(width.denominator === 1n && width.numerator > 0n, WRONG_PLAN);
  insist(away.denominator === 1n && away.numerator >= 0n && away.compare(width) <= 0, WRONG_PLAN);
  return { low, high, step, missing, width: width.numerator, away: away.numerator };
}

/** A column of numbers, or of labels. */
function subjectOf(plan, statistic, part) {
  const column = columnOf(plan, statistic.get("column"));
  insist(column[part] !== undefined, WRONG_PLAN);
  return column;
}

/** The numbers that a statistic is computed from: a column, or of a percentage 100 for each record that meets the condition. */
function numbersOf(plan, statistic) {
  if (statistic.get("kind") !== "percentage") return subjectOf(plan, statistic, "low");
  return { low: ZERO, high: new Fraction(100n), missing: ZERO, width: 1n };
}

const crossedNames = (statistic) => statistic.get("columns");

const SPREADS = ["variance", "standard_deviation"];

const FIXED_SHARES = { min: ZERO, median: new Fraction(1n, 2n), max: ONE };

function scaleJson({ start, unit, last }) {
  return new Map([["start", start.toString()], ["unit", unit.toString()], ["size", last + 1n]]);
}

function queryJson(kind, grid, neighbours, labels = null) {
  return new Map([
    ["kind", kind], ["answers", scaleJson(grid)], ["outputs", null], ["neighbours", new Map([neighbours])],
    ["rounds", false], ["labels", labels],
  ]);
}

const least = (a, b) => (a < b ? a : b);
const largest = (a, b) => (a > b ? a : b);
const sizeOf = (number) => (number < 0n ? -number : number);

/** The query of each number of a statistic in a group of this size, of which so many records may be one person's.
 *  Returns its JSON, its grid of answers, and the steps that one record moves it by; of numbers that share the cost of a
 *  record, how many steps cost one epsilon. */
function requiredQuery(statistic, plan, size, records = 1n) {
  const [kind, isPublic] = [statistic.get("kind"), plan.get("sizes") === "public"];
  if (kind in FIXED_SHARES || kind === "quantile") return requiredQuantile(statistic, plan, size, records);
  if (kind === "mode") {
    const { labels } = subjectOf(plan, statistic, "labels");
    const grid = { start: ZERO, unit: ONE, last: BigInt(labels.length) - 1n };
    return { json: queryJson("category", grid, ["everyone", true], labels), grid, steps: 0n };
  }
  if (["count", "count_distinct", "histogram", "crosstab"].includes(kind)) {
    const grid = { start: ZERO, unit: ONE, last: size };
    return reaching("count", grid, 1n, records);
  }
  if (kind === "percentage" && !isPublic) {
    const grid = { start: ZERO, unit: ONE, last: size };
    return { json: queryJson("count", grid, ["metric", "1"]), grid, steps: 0n, apart: 1n };
  }
  const column = numbersOf(plan, statistic);
  const most = size * column.width;
  if (kind === "percentage") {
    const grid = { start: ZERO, unit: column.high.over(new Fraction(size)), last: size };
    return reaching("mean", grid, 1n, records);
  }
  if (kind === "mean" && !isPublic) {
    const grid = { start: ZERO, unit: column.step, last: most };
    const metric = ["metric", column.high.minus(column.low).toString()];
    return { json: queryJson("total", grid, metric), grid, steps: 0n, apart: column.width };
  }
  if (kind === "mean") {
    const grid = { start: column.low, unit: column.step.over(new Fraction(size)), last: most };
    return reaching("mean", grid, column.width, records);
  }
  if (SPREADS.includes(kind)) return isPublic ? spreadQuery(column, size) : sumsQuery(column, size);
  insist(kind === "sum", WRONG_PLAN);
  if (isPublic) {
    const grid = { start: column.low.times(new Fraction(size)), unit: column.step, last: most };
    return reaching("total", grid, column.width, records);
  }
  return openSum(column, size, records);
}

/** n·Q - S², with S and Q the sums of the steps and of their squares, over n²: rounded to a sixteenth of what one record moves. */
function spreadQuery({ step, width }, size) {
  const moved = (size - 1n) * width * width;
  const unit = largest(1n, moved / 16n);
  const last = ((size * size / 4n) * width * width + unit / 2n) / unit;
  const part = step.over(new Fraction(size));
  const grid = { start: ZERO, unit: part.times(part).times(new Fraction(unit)), last };
  return reaching("total", grid, (moved + unit - 1n) / unit, 1n);
}

/** The sums of v², 2v(w - v) and (w - v)², in units of q: a record adds w² to the three, and one step more to each where
 *  they are rounded. */
function sumsQuery({ step, width }, size) {
  const square = width * width;
  const unit = largest(1n, square / 128n);
  const apart = unit === 1n ? square : (square + unit - 1n) / unit + 2n;
  const worth = step.times(step).times(new Fraction(unit));
  const grid = { start: ZERO, unit: worth, last: (size * square + unit / 2n) / unit };
  return { json: queryJson("total", grid, ["metric", worth.times(new Fraction(apart)).toString()]), grid, steps: 0n, apart };
}

/** A query whose answers one record moves by so many steps. */
function reaching(kind, grid, steps, records) {
  const reach = records === 1n ? steps : least(records * steps, grid.last);
  return { json: queryJson(kind, grid, ["reach", reach]), grid, steps: reach };
}

/** Sums of at most so many values: from min(0, n·low) to max(0, n·high), on the coarsest grid through 0 and all values. */
function openSum({ low, high, step }, size, records) {
  const common = (low.denominator / greatestCommonDivisor(low.denominator, step.denominator)) * step.denominator;
  const [start, jump] = [low, step].map((value) => value.numerator * (common / value.denominator));
  const unit = new Fraction(greatestCommonDivisor(start, jump), common);
  const [below, above] = [low, high].map((value) => value.over(unit).numerator);
  const [first, last] = [least(0n, size * below), largest(0n, size * above)];
  const grid = { start: unit.times(new Fraction(first)), unit, last: last - first };
  return reaching("total", grid, largest(sizeOf(below), sizeOf(above)), records);
}

/** The shares of a statistic's quantiles, none for any other; several rise, and are drawn together. */
function sharesOf(statistic) {
  const fixed = FIXED_SHARES[statistic.get("kind")];
  if (fixed !== undefined) return [fixed];
  if (statistic.get("kind") !== "quantile") return [];
  const at = field(statistic, "at");
  if (!Array.isArray(at)) return [Fraction.read(at)];
  const shares = at.map((share) => Fraction.read(share));
  const rises = shares.every((share, k) => k === 0 || shares[k - 1].compare(share) < 0);
  insist(shares.length >= 2 && shares.length <= MOST_QUANTILES && rises, WRONG_PLAN);
  return shares;
}

/** The end of the name of a quantile's column: min, median, max, or its percentage where that is whole. */
function shareName(share) {
  const known = Object.keys(FIXED_SHARES).find((kind) => FIXED_SHARES[kind].equals(share));
  const percent = share.times(new Fraction(100n));
  return known ?? `q${percent.denominator === 1n ? percent : share}`;
}

function requiredQuantile(statistic, plan, size, records) {
  const column = subjectOf(plan, statistic, "low");
  const shares = sharesOf(statistic);
  insist(shares.every((at) => at.compare(ZERO) >= 0 && at.compare(ONE) <= 0), WRONG_PLAN);
  const grid = { start: column.low, unit: column.step, last: column.width };
  const json = new Map([
    ["kind", shares.length === 1 ? "quantile" : "quantiles"],
    ["values", scaleJson(grid)], ["at", shares.join(" ")], ["size", String(size)], ["public", plan.get("sizes") === "public"],
    ["missing", String(column.away)], ["records", String(records)],
  ]);
  return { json, grid, steps: 0n };
}
