// What is asked: the possible answers, the possible outputs, and who is whose neighbour.

const MOST_LISTED = 1n << 27n;
const MOST_ROUNDED = 1n << 20n;
const MOST_CELLS = 1n << 13n;
const WIDEST_ALLOWANCE = 1024n;
const EVENLY_SPACED = new Set(["count", "total", "mean", "extreme", "ordinal", "category"]);
const JOINED_BY_EDGES = new Set(["count", "total", "mean", "extreme", "ordinal", "graph"]);
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** The field of an object; anything else has none. */
function field(object, name) {
  insist(object instanceof Map && object.has(name), `a field ${name} is missing`);
  return object.get(name);
}

function optional(object, name, otherwise) {
  return object.has(name) ? object.get(name) : otherwise;
}

/** One printable line, so that no character makes it look like something else. */
function readLine(text) {
  insist(typeof text === "string" && !UNPRINTABLE.test(text), "a text must be one printable line");
  return text;
}

/** Increasing exact numbers start + unit · tick. ticks is null where they are 0, 1, 2, …, size - 1. */
class Scale {
  constructor(start, unit, size, ticks) {
    Object.assign(this, { start, unit, size, ticks });
    Object.freeze(this);
  }

  static read(part) {
    insist(part instanceof Map, "a scale must have a start, a unit and a size or ticks");
    const [start, unit] = [Fraction.read(field(part, "start")), Fraction.read(field(part, "unit"))];
    insist(unit.compare(ZERO) > 0, "the unit of a scale must be positive");
    if (part.has("size")) {
      const size = part.get("size");
      insist(typeof size === "bigint" && size >= 1n && size <= MOST_ANSWERS, "a scale must have a size of 1 to 2^53");
      return new Scale(start, unit, size, null);
    }
    const ticks = readWholes(field(part, "ticks"));
    insist(ticks[0] === 0n, "the first tick of a scale must be 0");
    insist(
      ticks.every((tick, k) => k === 0 || tick > ticks[k - 1]),
      "the values of a scale must be strictly increasing",
    );
    const size = BigInt(ticks.length);
    return new Scale(start, unit, size, ticks[ticks.length - 1] === size - 1n ? null : ticks);
  }

  get regular() {
    return this.ticks === null;
  }

  tick(k) {
    return this.ticks === null ? BigInt(k) : this.ticks[k];
  }

  get lastTick() {
    return this.ticks === null ? this.size - 1n : this.ticks[this.ticks.length - 1];
  }

  value(k) {
    return this.start.plus(this.unit.times(new Fraction(this.tick(k))));
  }

  /** Whether start, unit and ticks are the same. */
  equals(other) {
    if (!this.start.equals(other.start) || !this.unit.equals(other.unit) || this.size !== other.size) return false;
    if (this.ticks === null || other.ticks === null) return this.ticks === other.ticks;
    return this.ticks.every((tick, k) => tick === other.ticks[k]);
  }

  shifted(by) {
    return new Scale(this.start.plus(by), this.unit, this.size, this.ticks);
  }
}

/** The least number that makes every value of these scales whole. */
function commonDenominator(...scales) {
  const denominators = scales.flatMap(({ start, unit }) => [start.denominator, unit.denominator]);
  return denominators.reduce((common, one) => (common / greatestCommonDivisor(common, one)) * one, 1n);
}

/** Values of scales as whole multiples of one common unit: comparing those is exact. */
function onOneGrid(...scales) {
  const common = commonDenominator(...scales);
  return scales.map((scale) => {
    const [first, step] = [scale.start, scale.unit].map((part) => part.numerator * (common / part.denominator));
    return Array.from({ length: Number(scale.size) }, (_, k) => first + step * scale.tick(k));
  });
}

/** A question. reach: neighbours are so many grid steps apart at most, null for all answers, a metric or a graph. */
class Query {
  constructor(part, written) {
    const answers = Scale.read(field(part, "answers"));
    const limit = answers.regular ? MOST_ANSWERS : MOST_LISTED;
    insist(answers.lastTick < limit, "the answers lie too far apart");
    const rounds = field(part, "rounds");
    insist(typeof rounds === "boolean", "rounds must be true or false");
    insist(!rounds || answers.size <= MOST_ROUNDED, "a query that rounds has too many cells");
    Object.assign(this, { kind: readLine(field(part, "kind")), answers, rounds });
    this.labels = this.readLabels(field(part, "labels"), optional(part, "places", null));
    this.readNeighbours(field(part, "neighbours"));
    insist(optional(part, "places", null) === null || this.graph !== null, "places must be those of answers on a graph");
    this.allowance = Fraction.read(optional(part, "allowance", "0"));
    this.readOutputs(field(part, "outputs"), written > MOST_CELLS ? written : MOST_CELLS);
    this.refuseWhatPromisesNothing();
    Object.freeze(this);
  }

  readLabels(part, places) {
    insist(part === null || places === null, "answers must have labels or places, not both");
    if (places !== null) return readPlaces(places, this.answers.size);
    if (part === null) return null;
    insist(Array.isArray(part) && part.every((label) => typeof label === "string"), "labels must be texts");
    const distinct = BigInt(new Set(part).size) === this.answers.size && BigInt(part.length) === this.answers.size;
    insist(distinct, "labels must be distinct, one for each answer");
    return part;
  }

  readNeighbours(part) {
    insist(part instanceof Map && part.size === 1, "neighbours must be said in one way");
    const [reach, metric] = [optional(part, "reach", null), optional(part, "metric", null)];
    this.reach = reach;
    this.metric = metric === null ? null : Fraction.read(metric);
    this.everyone = part.get("everyone") === true;
    this.graph = part.has("graph") ? new Graph(part.get("graph"), this.answers.size) : null;
    if (reach !== null)
      insist(typeof reach === "bigint" && reach >= 1n && reach <= MOST_ANSWERS, "a reach must be 1 to 2^53 steps");
    else if (this.metric !== null) insist(this.metric.compare(ZERO) > 0, "the unit of a metric must be positive");
    else insist(this.everyone || this.graph !== null, "neighbours must be a reach, a metric, everyone or a graph");
  }

  readOutputs(part, most) {
    const half = this.answers.unit.over(whole(2));
    const own = [this.answers.shifted(new Fraction(-half.numerator, half.denominator)), this.answers.shifted(half)];
    own.push(this.answers);
    [this.lowers, this.uppers, this.values] = own;
    this.oneOutputPerAnswer = true;
    if (part === null) return;
    const given = ["lowers", "uppers", "values"].map((name) => Scale.read(field(part, name)));
    insist([this.answers, ...given].every(({ size }) => size <= most), "there are too many cells, or answers beside them");
    insist(given.every(({ size }) => size === given[0].size), "cells must have as many edges as values");
    refuseOverlappingCells(...onOneGrid(...given));
    [this.lowers, this.uppers, this.values] = given;
    this.oneOutputPerAnswer = given.every((scale, k) => scale.equals(own[k]));
  }

  refuseWhatPromisesNothing() {
    const { answers, kind } = this;
    insist(answers.size >= 2n, "a query must have at least two possible answers");
    insist(this.cuts < answers.size - 1n, "no two answers are neighbours, so nothing would be promised");
    const near = this.everyone || this.graph !== null;
    insist(this.labels === null || near, "labels have no distance: all of them must be neighbours, or those of a graph");
    insist(answers.regular || !EVENLY_SPACED.has(kind), `the answers of a ${kind} must be evenly spaced`);
    const counted = answers.start.equals(ZERO) && answers.unit.equals(ONE);
    insist(kind !== "count" || counted, "the answers of a count must be 0, 1, 2, …");
    if (this.graph !== null) {
      insist(!this.rounds, "answers on a graph must not be rounded");
      insist(this.labels !== null || JOINED_BY_EDGES.has(kind), `the answers of a ${kind} must have labels to be joined by edges`);
      const numbered = this.labels === null || (counted && answers.regular && this.oneOutputPerAnswer);
      insist(numbered, "named answers on a graph must be numbered 0, 1, 2, …, with one output for each");
    }
    const reached = this.rounds && this.reach !== null ? answers.unit.times(new Fraction(this.reach)) : ZERO;
    const widest = this.allowance.times(new Fraction(WIDEST_ALLOWANCE));
    insist(
      this.allowance.compare(ZERO) >= 0 && widest.compare(reached) <= 0,
      "the allowance must be between 0 and 1/1024 of the sensitivity, and only real answers with a reach have one",
    );
    if (!this.oneOutputPerAnswer) this.homes();
  }

  /** Whether answers are numbers with a distance; labels have none, numbered ones neither. */
  get ordered() {
    return this.labels === null && !(this.kind === "category" && this.everyone);
  }

  /** How many answers are no neighbours of the next one: nothing is promised across. */
  get cuts() {
    if (this.reach === null || this.answers.regular) return 0n;
    const { ticks } = this.answers;
    return BigInt(ticks.reduce((found, tick, k) => found + (k > 0 && tick - ticks[k - 1] > this.reach ? 1 : 0), 0));
  }

  /** For each answer the cell that holds it: the last one that begins at or below it. */
  homes() {
    const [answers, lowers, uppers] = onOneGrid(this.answers, this.lowers, this.uppers);
    let cell = 0;
    return answers.map((answer) => {
      while (cell + 1 < lowers.length && lowers[cell + 1] <= answer) cell += 1;
      insist(lowers[cell] <= answer && answer <= uppers[cell], "the outputs must cover every answer");
      return cell;
    });
  }

  get outputs() {
    return this.values.size;
  }

  /** For every answer, the first one after it that is no neighbour of it any more. */
  stops() {
    const size = Number(this.answers.size);
    if (this.reach === null) return new Array(size).fill(size);
    const found = [];
    let stop = 0;
    for (let start = 0; start < size; start++) {
      while (stop < size && this.answers.tick(stop) - this.answers.tick(start) <= this.reach) stop += 1;
      found.push(stop);
    }
    return found;
  }

  answerName(j) {
    return this.labels === null ? this.answers.value(j).toString() : this.labels[j];
  }

  outputName(i) {
    return this.labels === null ? this.values.value(i).toString() : this.labels[i];
  }
}

function refuseOverlappingCells(lowers, uppers, values) {
  for (let i = 0; i < values.length; i++) {
    const holds = lowers[i] < uppers[i] && lowers[i] <= values[i] && values[i] <= uppers[i];
    insist(holds, "a cell must have a lower edge below its upper one, and hold its value");
    insist(i === 0 || uppers[i - 1] <= lowers[i], "cells must be disjoint and in increasing order");
  }
}

function readEpsilon(text) {
  const epsilon = Fraction.read(text);
  const within = epsilon.compare(LEAST_EPSILON) >= 0 && epsilon.compare(LARGEST_EPSILON) <= 0;
  insist(within, "epsilon must be between 10^-9 and 64");
  return epsilon;
}
