// The laws: a matrix of weights, or a noise table; plane.js has noise on a map. Every comparison is W · 2^128 <= p · V with p = floor(2^128 · e^x).

const MOST_STEPS = 65536n;

/** The comparison that comes nearest to what is allowed, or the first that goes beyond it. */
class Nearest {
  constructor() {
    this.share = -1;
    this.found = null;
  }

  /** Compare two weights of one output; `where` is asked only for what is kept. */
  compare(high, low, p, where) {
    if (!isWithin(high, low, p)) {
      const violation = { ...where(), ...this.described(high, low, p) };
      throw Object.assign(new Refused(this.sentence(violation)), { violation });
    }
    if (high === 0n) return;
    const share = (high <= TOTAL ? Number(high) / Number(low) : approximateRatio(high, low)) / Number(p);
    if (share <= this.share) return;
    this.share = share;
    this.found = { ...where(), ...this.described(high, low, p) };
  }

  described(high, low, p) {
    return { ratio: approximateRatio(high, low), allowed: approximateRatio(p, 1n << RATIO_BITS) };
  }

  sentence(violation) {
    return `the weights are not private: ${comparison(violation)}`;
  }
}

/** What was compared, in words. */
function comparison({ subject, circumstance, ratio, allowed }) {
  return `${subject} is ${shown(ratio)} times likelier ${circumstance}; epsilon allows ${shown(allowed)}`;
}

function shown(ratio) {
  return Number.isFinite(ratio) ? String(Number(ratio.toPrecision(10))) : "infinitely many";
}

function readMatrix(part) {
  insist(Array.isArray(part) && part.length > 0, "a matrix must be a list of rows");
  const rows = part.map(readWholes);
  insist(rows.every((row) => row.length === rows[0].length), "the rows of a matrix must have the same length");
  return rows;
}

function checkDistributions(rows) {
  const columns = rows[0].length;
  for (let j = 0; j < columns; j++) {
    let sum = 0n;
    for (const row of rows) sum += row[j];
    insist(sum === TOTAL, `column ${j} must sum to 2^62, it misses by ${TOTAL - sum}`);
  }
}

/** Every output against every pair of neighbouring answers. */
function checkMatrix(rows, query, epsilon) {
  const shape = [BigInt(rows.length), BigInt(rows[0].length)];
  insist(shape[0] === query.outputs && shape[1] === query.answers.size, "the matrix must fit the query");
  checkDistributions(rows);
  const nearest = new Nearest();
  const where = (i, j, k) => () => ({
    output: i,
    answers: [j, k],
    subject: `output ${query.outputName(i)}`,
    circumstance: `under answer ${query.answerName(j)} than under its neighbour ${query.answerName(k)}`,
  });
  if (query.graph) query.graph.check(rows, epsilon, nearest, where);
  else if (query.metric !== null) checkSteps(rows, query, epsilon, nearest, where);
  else checkRuns(rows, query.stops(), ratioAllowed(epsilon), nearest, where);
  return nearest.found;
}

/** Metric privacy: neighbours along the line are enough, because ratios multiply and distances add up. */
function checkSteps(rows, query, epsilon, nearest, where) {
  const { answers, metric } = query;
  const perTick = epsilon.times(answers.unit).over(metric);
  for (let j = 0; j + 1 < rows[0].length; j++) {
    const p = ratioAllowed(perTick.times(new Fraction(answers.tick(j + 1) - answers.tick(j))));
    rows.forEach((row, i) => {
      const [high, low] = row[j] >= row[j + 1] ? [j, j + 1] : [j + 1, j];
      nearest.compare(row[high], row[low], p, where(i, high, low));
    });
  }
}

/** Neighbours within runs start..stops[start]-1: the largest weight of a run against its smallest. */
function checkRuns(rows, stops, p, nearest, where) {
  rows.forEach((row, i) => {
    for (const [high, low] of extremesOfRuns(row, stops)) nearest.compare(row[high], row[low], p, where(i, high, low));
  });
}

/** Places of the largest and the smallest entry of each run. Candidates are kept in order of their place and size. */
function* extremesOfRuns(row, stops) {
  const [largest, smallest] = [[], []];
  let [firstLargest, firstSmallest, end] = [0, 0, 0];
  for (let start = 0; start < stops.length; start++) {
    const before = end;
    for (; end < stops[start]; end++) {
      while (largest.length > firstLargest && row[largest[largest.length - 1]] <= row[end]) largest.pop();
      while (smallest.length > firstSmallest && row[smallest[smallest.length - 1]] >= row[end]) smallest.pop();
      largest.push(end);
      smallest.push(end);
    }
    if (largest[firstLargest] < start) firstLargest += 1;
    if (smallest[firstSmallest] < start) firstSmallest += 1;
    if (end > before && end - start > 1) yield [largest[firstLargest], smallest[firstSmallest]];
  }
}

// --- noise tables -----------------------------------------------------------------------------------------------

/** Noise weights t[d]: core for |d| <= K, floor up to the size, end at ±size; then clamped to 0..size, then renamed. */
class Noise {
  constructor(part) {
    this.core = readWholes(field(part, "core"));
    [this.floor, this.end, this.size] = ["floor", "end", "size"].map((name) => readWhole(field(part, name)));
    const remap = field(part, "remap");
    this.remap = remap === null ? null : readWholes(remap);
    Object.freeze(this);
  }

  get halfWidth() {
    return BigInt(this.core.length >> 1);
  }

  /** How many weights of `floor` stand on each side, between the core and the end. */
  get run() {
    return this.size - 1n - this.halfWidth;
  }

  check(query, epsilon) {
    const numeric = query.labels === null && query.answers.regular && !query.everyone && query.graph === null;
    insist(numeric, "a noise table needs numeric answers without gaps and neighbours within a reach");
    insist(this.size === query.answers.size - 1n, "a noise table must have one step less than there are answers");
    this.refuseOtherForms(query);
    const steps = query.metric !== null ? 1n : query.reach < this.size ? query.reach : this.size;
    const distance = query.metric === null ? ONE : query.answers.unit.over(query.metric);
    const core = BigInt(this.core.length);
    const most = MOST_STEPS > 4n * core ? MOST_STEPS : 4n * core;
    insist((steps < this.run ? steps : this.run) <= most, "the core is too short for what one person can reach");
    const [p, nearest] = [ratioAllowed(epsilon.times(distance)), new Nearest()];
    this.checkInside(steps, p, nearest);
    this.checkEnds(steps, p, nearest);
    return nearest.found;
  }

  refuseOtherForms(query) {
    const { core, floor, end, remap } = this;
    insist(core.length % 2 === 1 && this.halfWidth < this.size, "the core must be noise -K..K with K below the size");
    insist(core.every((weight) => weight >= 1n) && floor >= 1n && end >= 1n, "noise weights must be positive");
    const sum = core.reduce((total, weight) => total + weight, 0n) + 2n * this.run * floor + 2n * end;
    insist(sum === TOTAL, `noise weights must sum to 2^62, they miss by ${TOTAL - sum}`);
    if (remap === null) insist(query.oneOutputPerAnswer, "a noise table without a remap needs one output per answer");
    else {
      insist(BigInt(remap.length) === this.size + 1n, "a remap must name an output for every step");
      insist(remap.every((output) => output < query.outputs), "a remap must name outputs of the query");
    }
  }

  /** An output strictly inside the range has the weight t[output - answer]: any two within the reach stand in one row.
   *
   * Beyond a stretch of the floor as long as the reach, everything repeats.
   */
  checkInside(steps, p, nearest) {
    const flat = Number(steps < this.run ? steps : this.run);
    const table = [...new Array(flat).fill(this.floor), ...this.core, ...new Array(flat).fill(this.floor)];
    const reach = Number(steps < BigInt(table.length) ? steps : BigInt(table.length));
    const stops = table.map((_, d) => Math.min(d + reach + 1, table.length));
    const first = -(table.length >> 1);
    for (const [high, low] of extremesOfRuns(table, stops)) {
      const where = () => ({ subject: `noise ${first + high}`, circumstance: `than noise ${first + low}, within the reach` });
      nearest.compare(table[high], table[low], p, where);
    }
  }

  /** Output 0 has, under an answer j, all noise from -size to -j: the sum S[m] of the m + 1 outermost, m = size - j.
   *
   * S rises, so S[m + reach] against S[m] is the worst of each. While both lie in the floor, the ratio
   * (end + (m + reach)·floor) / (end + m·floor) falls with m: m = 0 speaks for those. And the same from the other end.
   */
  checkEnds(steps, p, nearest) {
    for (const core of [this.core, this.core.slice().reverse()]) {
      const inner = [0n];
      for (let k = 0; k <= core.length >> 1; k++) inner.push(inner[k] + core[k]);
      const tail = (m) =>
        m <= this.run
          ? this.end + m * this.floor
          : this.end + this.run * this.floor + inner[Number(m - this.run)];
      const compared = (m) =>
        nearest.compare(tail(m + steps), tail(m), p, () => ({
          subject: "an end of the range",
          circumstance: `under an answer ${this.size - m - steps} steps away than under one ${this.size - m} away`,
        }));
      compared(0n);
      for (let m = this.run > steps ? this.run - steps : 0n; m + steps <= this.size; m += 1n) compared(m);
    }
  }

  canBeWrittenOut(query) {
    if (this.size !== query.answers.size - 1n || this.run < 0n) return false;
    const { remap } = this;
    return remap === null || (remap.length === Number(this.size) + 1 && remap.every((output) => output < query.outputs));
  }

  proved() {
    return [
      `the noise weights are positive and sum to exactly 2^62 over ${2n * this.size + 1n} steps`,
      "any two noise weights within the reach, and any two sums at an end of the range, are within the ratio",
      "clamping and renaming look at the noisy value alone",
    ];
  }

  /** The law written out, outputs × answers, where that is small enough to look at. */
  matrix(query) {
    const [size, outputs] = [Number(this.size), Number(query.outputs)];
    const run = new Array(Number(this.run)).fill(this.floor);
    const table = [this.end, ...run, ...this.core, ...run, this.end];
    const rows = Array.from({ length: outputs }, () => new BigUint64Array(size + 1));
    for (let j = 0; j <= size; j++)
      for (let d = -size; d <= size; d++) {
        const clamped = Math.min(Math.max(j + d, 0), size);
        rows[this.remap === null ? clamped : Number(this.remap[clamped])][j] += table[d + size];
      }
    return rows;
  }
}
