// Laws of a quantile: score tables (permute-and-flip), alike or not on both sides, and a matrix over the central records;
// and the law of several quantiles in one draw.

const MOST_OUTPUTS = 1n << 24n;
const MOST_SCORED = 4096n;
const MOST_DEEPER = 8192n;
const MOST_DEPTHS_APART = 32;
const MOST_RECORDS = 1n << 40n;
const MOST_PARTS = 10n ** 6n;
const MATRIX_LIMIT = 1n << 24n;

const MOST_QUANTILES = 100;

/** A share of the records that a quantile does not exceed. */
function readShare(text) {
  const at = Fraction.read(text);
  const share = at.compare(ZERO) >= 0 && at.compare(ONE) <= 0 && at.denominator <= MOST_PARTS;
  insist(share, "a quantile must be between 0 and 1, with at most six digits");
  return at;
}

/** The place of a quantile among so many records, from 1. */
function placeOf({ numerator, denominator }, size) {
  const place = (numerator * size + denominator - 1n) / denominator;
  return place > 1n ? place : 1n;
}

/** What is asked of a group, whichever of its quantiles. */
class Group {
  constructor(part) {
    const values = Scale.read(field(part, "values"));
    const [size, missing, records] = ["size", "missing", "records"].map((name) => readWhole(field(part, name)));
    const open = field(part, "public");
    insist(typeof open === "boolean", "public must be true or false");
    const even = values.regular && values.size >= 2n && values.size <= MOST_CELLS;
    insist(even, "the values of a quantile must be 2 to 8192, evenly spaced");
    insist(size >= 1n && size <= MOST_RECORDS, "the size must be 1 to 2^40");
    insist(missing < values.size, "missing must be one of the values");
    insist(records >= 1n && records <= MOST_RECORDS, "the records of one person must be 1 to 2^40");
    Object.assign(this, { values, size, public: open, missing, records });
  }

  get width() {
    return this.values.size - 1n;
  }
}

class Quantile extends Group {
  constructor(part) {
    super(part);
    this.at = readShare(field(part, "at"));
    Object.freeze(this);
  }

  get rank() {
    return placeOf(this.at, this.size);
  }
}

class Quantiles extends Group {
  constructor(part) {
    super(part);
    const at = field(part, "at");
    insist(typeof at === "string", "at must be a text");
    this.at = at.split(" ").map(readShare);
    insist(this.at.length >= 2 && this.at.length <= MOST_QUANTILES, "several quantiles must be 2 to 100");
    const rises = this.at.every((share, k) => k === 0 || this.at[k - 1].compare(share) < 0);
    insist(rises, "several quantiles must rise");
    Object.freeze(this);
  }

  /** The places of all quantiles; those of the same record are one. */
  get places() {
    return [...new Set(this.at.map((share) => placeOf(share, this.size)))];
  }
}

// --- score tables -----------------------------------------------------------------------------------------------

/** The largest T[i] / T[i + by], i >= 1, over 2^62 and rounded up. */
function fallOf(table, by) {
  const [last, distance] = [table.length - 1, Number(by)];
  let most = 0n;
  for (let i = 1; i <= last; i++) {
    const low = table[Math.min(i + distance, last)];
    const found = ((table[i] << TOTAL_BITS) + low - 1n) / low;
    if (found > most) most = found;
  }
  return most;
}

/** Whole numbers that fall from 2^62, below it at once, to at least 1, over 2 to 2^24 outputs. */
function refuseOtherTables(table, width) {
  const last = table.length - 1;
  insist(last >= 1, "a score table must have at least two whole numbers");
  const falls = table.every((weight, k) => k === 0 || weight <= table[k - 1]);
  const ends = table[0] === TOTAL && table[1] < TOTAL && table[last] >= 1n;
  insist(falls && ends, "a score table must fall from 2^62, below it at once, to at least 1");
  insist(width >= 1n && width < MOST_OUTPUTS, "a score table must have 2 to 2^24 outputs");
}

/** The bound nearest to what epsilon allows, the rounding of the sampler's index included. */
function nearestOf(ratios, quantile, epsilon) {
  const [p, outputs, nearest] = [ratioAllowed(epsilon), quantile.width + 1n, new Nearest()];
  for (const [high, low, circumstance] of ratios) {
    const drawn = [high * (TOTAL + outputs), low * (TOTAL - outputs)];
    nearest.compare(...drawn, p, () => ({ subject: "an output", circumstance }));
  }
  return nearest.found;
}

/** Pr[i] = p_i ∫ ∏ (1 - u p_j) du over 0..1, p_j = table[level of j] / 2^62. */
class ScoreTable {
  constructor(part) {
    this.table = readWholes(field(part, "table"));
    this.stride = readWhole(field(part, "stride"));
    const deeper = field(part, "deeper");
    this.deeper = deeper === "" ? new BigUint64Array(0) : readWholes(deeper);
    Object.freeze(this);
  }

  /** The largest bound on a ratio between neighbours, the rounding of the sampler's index included. */
  check(quantile, epsilon) {
    this.refuseOtherForms(quantile.width);
    return nearestOf(this.ratios(quantile.width), quantile, epsilon);
  }

  refuseOtherForms(width) {
    const { table, stride, deeper } = this;
    refuseOtherTables(table, width);
    const levels = stride >= 1n && stride < MOST_OUTPUTS && deeper.every((more) => more <= stride);
    insist(levels, "the levels of a score table must rise with the depth by at most its stride");
    const short = width > MOST_SCORED || width * BigInt(deeper.length) <= MOST_DEEPER;
    insist(short && new Set(deeper).size <= MOST_DEPTHS_APART, "a score table must say less about the depth");
  }

  *ratios(width) {
    const { table, stride, deeper } = this;
    const first = table[1];
    const beside = ((TOTAL << TOTAL_BITS) + first - 1n) / first;
    const fall = fallOf(table, stride);
    const most = fall > beside ? fall : beside;
    yield [...stays(most, most, first, width), "for a group than for a neighbour with the same answer"];
    yield [...moves(most, first, width), "for a group than for a neighbour with another answer"];
    const falls = new Map([...new Set(deeper)].map((more) => [more, [fallOf(table, stride + more), fallOf(table, stride - more)]]));
    let [level, last] = [1n, BigInt(table.length - 1)];
    for (const more of deeper) {
      const [far, near] = falls.get(more);
      const before = table[Number(level < last ? level : last)];
      level += more;
      const beyond = table[Number(level < last ? level : last)];
      yield [...stays(far, near, beyond, width), "for a group than for a deeper neighbour"];
      yield [...stays(near, far, before, width), "for a group than for a neighbour less deep"];
    }
  }
}

/** The own weight grows by `own`, the others fall by `others`: own · I(x/others) / I(x), all over 2^62.
 *
 * I(z) = ∫ (1-u)(1-uz)^c du over 0..1. With v = 1 - uz it is z^-2 ∫ (v - q) v^c dv over q..1, q = 1 - z, which is
 * z^-2 ( (1 - q^(c+2)) / (c+2) - q (1 - q^(c+1)) / (c+1) ).
 */
function stays(own, others, weight, width) {
  if (width > MOST_SCORED) return [own * others, TOTAL * TOTAL];
  const c = width - 1n;
  return [own * integral(weight, others, c) * TOTAL ** c, TOTAL * others ** c * integral(weight, TOTAL, c)];
}

/** weight² · b^c · (c+1)(c+2) · I(weight/b), a whole number. */
function integral(weight, b, c) {
  const rest = b - weight;
  return (c + 1n) * (b ** (c + 2n) - rest ** (c + 2n)) - (c + 2n) * rest * (b ** (c + 1n) - rest ** (c + 1n));
}

/** The answer becomes another one: ∫ (1-xu)(1-yu)^c du / (x I(x)) with x = weight/2^62 and y = weight/fall.
 *
 * With v = 1 - yu the integral is y^-1 ( (1-s)(1 - q^(c+1)) / (c+1) + s (1 - q^(c+2)) / (c+2) ), q = 1 - y, s = x/y.
 */
function moves(fall, weight, width) {
  if (width > MOST_SCORED) return [fall * fall, TOTAL * TOTAL];
  const [c, rest] = [width - 1n, fall - weight];
  const flat = (TOTAL - fall) * (c + 2n) * (fall ** (c + 1n) - rest ** (c + 1n));
  const steep = (c + 1n) * (fall ** (c + 2n) - rest ** (c + 2n));
  return [(flat + steep) * TOTAL ** c, fall ** c * integral(weight, TOTAL, c)];
}

// --- a pace for each side of the answer -------------------------------------------------------------------------

/** Levels first + stride · (length - 1) + deeper · depth of a side; a record moved up only lowers one, raises the other.
 *
 * What is within the spread of the answer has a level between its own and that of a record, 0 where none is written.
 */
class SidedTable {
  constructor(part) {
    this.table = readWholes(field(part, "table"));
    [this.below, this.above] = ["below", "above"].map((name) => {
      const numbers = readWholes(field(part, name));
      insist(numbers.length === 3 || numbers.length === 4, "a side must have three or four whole numbers");
      return numbers.length === 4 ? Array.from(numbers) : [...numbers, 0n];
    });
    this.deeper = readWhole(field(part, "deeper"));
    Object.freeze(this);
  }

  check(quantile, epsilon) {
    insist(quantile.public && quantile.records === 1n, "a sided score table needs a public size and one record a person");
    refuseOtherTables(this.table, quantile.width);
    const { below, above, deeper } = this;
    const rises = [below, above].every(([first, stride]) => first >= 1n && stride >= 1n);
    insist(rises, "the levels of a sided score table must rise with every record");
    insist([...below, ...above].every((number) => number < MOST_OUTPUTS), "the levels of a side must be below 2^24");
    const within = [below, above].every(([first, , , near]) => near <= first);
    insist(within, "the level of a spread must be at most that of a record");
    insist(deeper <= below[1] && deeper <= above[1], "the levels must rise with the depth by at most either stride");
    return nearestOf(this.ratios(), quantile, epsilon);
  }

  /** What a weight may fall by on one side, times what one may rise by on the other. */
  *ratios() {
    const { table, below, above, deeper } = this;
    const unit = TOTAL * TOTAL;
    const [low, high] = [below, above].map(([first, stride]) => {
      const nearest = table[Math.min(Number(first), table.length - 1)];
      const [beside, fall] = [((TOTAL << TOTAL_BITS) + nearest - 1n) / nearest, fallOf(table, stride)];
      return fall > beside ? fall : beside;
    });
    yield [low * high, unit, "for a group than for a neighbour of the same depth"];
    const risen = fallOf(table, below[1] + deeper) * fallOf(table, above[1] - deeper);
    yield [risen, unit, "for a group than for a deeper neighbour with a record moved up"];
    const fallen = fallOf(table, below[1] - deeper) * fallOf(table, above[1] + deeper);
    yield [fallen, unit, "for a group than for a neighbour less deep with a record moved up"];
  }
}

// --- central records --------------------------------------------------------------------------------------------

/** How many multisets of `length` values in 0..width there are: C(length + width, width); null beyond a limit. */
function multisets(length, width, limit) {
  const [chosen, all] = [length < width ? length : width, length + width];
  let found = 1n;
  for (let k = 1n; k <= chosen; k += 1n) {
    found = (found * (all - chosen + k)) / k;
    if (found > limit) return null;
  }
  return found;
}

/** Histograms of `length` records on 0..width, those with fewer records at the lowest values first. */
function* histograms(length, width) {
  const held = new Array(width + 1).fill(0);
  held[width] = length;
  for (;;) {
    yield held;
    let last = width;
    while (last > 0 && held[last] === 0) last -= 1;
    if (last === 0) return;
    const moved = held[last]; // one of them goes a place down, the others to the end
    held[last] = 0;
    held[last - 1] += 1;
    held[width] = moved - 1;
  }
}

class Central {
  constructor(part) {
    [this.first, this.length] = ["first", "length"].map((name) => readWhole(field(part, name)));
    this.rows = readMatrix(field(part, "matrix"));
    Object.freeze(this);
  }

  /** Histograms that have all records but one in common are neighbours of each other. */
  check(quantile, epsilon) {
    const { first, length, rows } = this;
    const answer = length === 1n && first === quantile.rank; // any two values of it are neighbours
    insist(answer || (quantile.public && quantile.records === 1n), "central records need a public size and one record a person");
    const among = first >= 1n && length >= 1n && first + length - 1n <= quantile.size;
    insist(among, "central records must be among those of the group");
    const columns = multisets(length, quantile.width, MATRIX_LIMIT);
    const small = columns !== null && columns * quantile.values.size <= MATRIX_LIMIT;
    insist(small, "there are too many multisets of central records");
    const fits = BigInt(rows.length) === quantile.values.size && BigInt(rows[0].length) === columns;
    insist(fits, `the matrix must have a row for each value and ${columns} columns`);
    checkDistributions(rows);
    const [p, nearest] = [ratioAllowed(epsilon), new Nearest()];
    const places = new Map();
    for (const one of histograms(Number(length), rows.length - 1)) places.set(one.join(), places.size);
    for (const common of histograms(Number(length) - 1, rows.length - 1)) {
      const alike = common.map((_, value) => places.get(common.map((n, k) => n + (k === value ? 1 : 0)).join()));
      rows.forEach((row, i) => this.compare(row, i, alike, p, nearest));
    }
    return nearest.found;
  }

  compare(row, i, alike, p, nearest) {
    let [high, low] = [alike[0], alike[0]];
    for (const j of alike) {
      if (row[j] > row[high]) high = j;
      if (row[j] < row[low]) low = j;
    }
    nearest.compare(row[high], row[low], p, () => ({
      output: i,
      answers: [high, low],
      subject: `output ${i}`,
      circumstance: `for the central records number ${high} than for number ${low}, which differ in one`,
    }));
  }
}

/** The law of a quantile, and how to look at it. */
function readQuantileLaw(part) {
  insist(part instanceof Map && part.size === 1, "the law of a quantile must be scores, sides or central records");
  if (part.has("scores")) return { kind: "score table", law: new ScoreTable(part.get("scores")), rows: null };
  if (part.has("sides")) return { kind: "sided score table", law: new SidedTable(part.get("sides")), rows: null };
  const law = new Central(field(part, "central"));
  return { kind: "matrix over the central records", law, rows: law.rows };
}

// --- several quantiles in one draw ------------------------------------------------------------------------------

const JOINT_SLACK = 1n << 28n;
const MOST_SPACING = 1n << 24n;

/** W = spacings · x^level, x = weight / 2^62; a changed record moves W by x^2 at most, so it does their sum. */
class JointWeights {
  constructor(part) {
    this.weight = readWhole(field(part, "weight"));
    this.spacing = readWholes(field(part, "spacing"));
    Object.freeze(this);
  }

  check(group, epsilon) {
    insist(group.public, "several quantiles in one draw need a public size");
    this.refuseOtherForms(group);
    // what each of a person's records may reveal: epsilon / records
    const p = ratioAllowed(new Fraction(epsilon.numerator, epsilon.denominator * group.records));
    const nearest = new Nearest();
    const [high, low] = [TOTAL ** 4n * (JOINT_SLACK + 1n), this.weight ** 4n * (JOINT_SLACK - 1n)];
    nearest.compare(high, low, p, () => ({ subject: "an output", circumstance: "for a group than for one with a record changed" }));
    return nearest.found;
  }

  get proved() {
    return JOINT_PROVED;
  }

  /** What the sampler's floats can hold, and draw within the slack. */
  refuseOtherForms(group) {
    const [values, places] = [group.values.size, group.places];
    const count = BigInt(places.length);
    refuseOtherSpacings(this.weight, this.spacing, values);
    const steps = (count + 1n) ** 2n * (group.size + values + 64n) <= 1n << 20n && (group.size + values) * values <= 1n << 24n;
    const bits = count * (24n + 2n * BigInt(values.toString(2).length)) <= 900n;
    insist(steps && bits, "there are too many quantiles, records or values for one draw");
  }
}

const JOINT_CAPACITY_BITS = 40n;
const MOST_JOINT_SIZES = 256n;
const MOST_FLOOR = 900n;

const bitsOf = (number) => BigInt(number === 0n ? 0 : number.toString(2).length);

/** W = spacings · (2^-floor + sum over sizes of x^level); a record more or less moves W by x at most, and their sum. */
class JointOverSizes {
  constructor(part) {
    [this.weight, this.floor] = ["weight", "floor"].map((name) => readWhole(field(part, name)));
    [this.spacing, this.sizes] = ["spacing", "sizes"].map((name) => readWholes(field(part, name)));
    Object.freeze(this);
  }

  check(group, epsilon) {
    insist(!group.public, "a law over sizes is for groups whose size is not public");
    this.refuseOtherForms(group);
    const p = ratioAllowed(new Fraction(epsilon.numerator, epsilon.denominator * group.records));
    const nearest = new Nearest();
    const [high, low] = [TOTAL ** 2n * (JOINT_SLACK + 1n), this.weight ** 2n * (JOINT_SLACK - 1n)];
    nearest.compare(high, low, p, () => ({ subject: "an output", circumstance: "for a group than for one with a record more or less" }));
    return nearest.found;
  }

  get proved() {
    return SIZES_PROVED;
  }

  /** What the sampler's floats can hold, and draw within the slack. */
  refuseOtherForms(group) {
    const [values, quantiles, count] = [group.values.size, BigInt(group.at.length), BigInt(this.sizes.length)];
    refuseOtherSpacings(this.weight, this.spacing, values);
    insist(count >= 1n && count <= MOST_JOINT_SIZES, "there must be 1 to 256 sizes");
    insist(this.sizes.every((size, k) => k === 0 || this.sizes[k - 1] < size), "the sizes must rise");
    insist(this.floor <= MOST_FLOOR, "the floor must be 0 to 900");
    const states = this.capacity + values;
    const steps = (quantiles + 1n) ** 2n * (states + count + 64n) <= 1n << 20n && states * values * count <= 1n << 24n;
    const bits = this.floor + quantiles * (24n + 2n * bitsOf(values)) <= 900n;
    insist(steps && bits, "there are too many quantiles, records, sizes or values for one draw");
  }

  /** With so many records, x to the number beyond the largest size is far below the floor: -log2 x >= (1 - x) 36/25. */
  get capacity() {
    const [wanted, apart] = [this.floor + JOINT_CAPACITY_BITS + bitsOf(BigInt(this.sizes.length)), 36n * (TOTAL - this.weight)];
    return this.sizes[this.sizes.length - 1] + (25n * wanted * TOTAL + apart - 1n) / apart;
  }
}

/** A weight of a level, and one below 2^24 for each spacing. */
function refuseOtherSpacings(weight, spacing, values) {
  insist(weight >= 1n && weight < TOTAL, "the weight of a level must be between 0 and 2^62");
  insist(BigInt(spacing.length) === values, "there must be a weight for each spacing of the values");
  insist(spacing.every((one) => one >= 1n && one < MOST_SPACING), "the weights of spacings must be 1 to 2^24 - 1");
}

const MOST_COUNT_NOISE = 8192;

/** Every count with noise around a circle; a record that comes or goes moves one count by 1, a changed one moves two. */
class NoisyCounts {
  constructor(part) {
    this.table = readWholes(field(part, "table"));
    Object.freeze(this);
  }

  check(group, epsilon) {
    const { table } = this;
    insist(table.length >= 2 && table.length <= MOST_COUNT_NOISE, "noise on counts must have 2 to 8192 weights");
    const sum = table.reduce((all, one) => all + one, 0n);
    insist(table.every((one) => one >= 1n) && sum === TOTAL, "the weights of noise must be positive and sum to 2^62");
    const moves = (group.public ? 2n : 1n) * group.records;
    const p = ratioAllowed(new Fraction(epsilon.numerator, epsilon.denominator * moves));
    const nearest = new Nearest();
    table.forEach((one, z) => {
      const next = table[(z + 1) % table.length];
      const [high, low] = one > next ? [one, next] : [next, one];
      nearest.compare(high, low, p, () => ({ subject: `noise of ${z}`, circumstance: "than for a count one step away, or the other way round" }));
    });
    return nearest.found;
  }

  get proved() {
    return ["a count that moves by 1 moves the probability of its report by e^(epsilon / steps) at most; a person moves so many steps"];
  }
}

function readJointLaw(part) {
  insist(part instanceof Map && part.size === 1, "the law of several quantiles must be joint, joint over sizes, or noisy counts");
  if (part.has("counts")) return new NoisyCounts(part.get("counts"));
  return part.has("joint") ? new JointWeights(part.get("joint")) : new JointOverSizes(field(part, "joint_sizes"));
}

const JOINT_PROVED = [
  "no weight of a vector moves by more than x^2 when a record changes, nor does their sum: x^-4 for each record of a person",
  "the sampler's rounding, up to 2^-28 of each probability, is included",
];
const SIZES_PROVED = [
  "no weight of a vector moves by more than x when a record comes or goes, nor does their sum: x^-2 for each record of a person",
  JOINT_PROVED[1],
];
