// Answers on a graph: edges with exact lengths, each one-way, and the places that answers may have. An edge promises that
// every output is at most e^(epsilon · length) times as likely under its tail as under its head. Ratios along a path
// multiply and lengths add up, so comparing along edges is enough for any two answers with a path between them.

const MOST_EDGES = 1 << 21;
const MOST_COMPARISONS = 2 ** 26;
const COORDINATE_BITS = 52n;
const LEAST_FLOAT_BITS = 1074n;
const FLOAT_DIGITS = 53;

class Graph {
  /** part: lengths, and for each of them a line of edges, tail head tail head … answers: how many there are. */
  constructor(part, answers) {
    const whole = part instanceof Map && part.size === 2 && part.has("lengths") && part.has("edges");
    const [lengths, lines] = whole ? [part.get("lengths"), part.get("edges")] : [null, null];
    const alike = Array.isArray(lengths) && Array.isArray(lines) && lengths.length === lines.length;
    insist(alike, "a graph must have lengths and, for each of them, a line of edges");
    this.groups = lengths.map((length, k) => {
      const [exact, ends] = [Fraction.read(length), readWholes(lines[k])];
      insist(exact.compare(ZERO) > 0, "the length of an edge must be positive");
      insist(ends.length % 2 === 0, "an edge must have two ends");
      insist(ends.every((end) => end < answers), "edges must join two of the answers");
      return { length: exact, ends: Float64Array.from(ends, Number) };
    });
    this.size = this.groups.reduce((sum, { ends }) => sum + ends.length / 2, 0);
    insist(this.size > 0 && this.size <= MOST_EDGES, `a graph must have between 1 and ${MOST_EDGES} edges`);
    this.refuseTwice();
    Object.freeze(this);
  }

  *edges() {
    for (const { length, ends } of this.groups)
      for (let k = 0; k < ends.length; k += 2) yield { length, tail: ends[k], head: ends[k + 1] };
  }

  refuseTwice() {
    const seen = new Map();
    for (const { tail, head } of this.edges()) {
      insist(tail !== head, "an edge must join two different answers");
      if (!seen.has(tail)) seen.set(tail, new Set());
      insist(!seen.get(tail).has(head), "edges must join each two answers at most once in each direction");
      seen.get(tail).add(head);
    }
  }

  /** Whether it is written as passports write one: edges in order within a length, lengths in order of their first edge. */
  isPlainlyWritten(part) {
    const rises = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
    const inOrder = this.groups.every(({ ends }) => {
      for (let k = 2; k < ends.length; k += 2) if (!rises([ends[k - 2], ends[k - 1]], [ends[k], ends[k + 1]])) return false;
      return true;
    });
    const firsts = this.groups.map(({ ends }) => [ends[0], ends[1]]);
    const lengths = part.get("lengths");
    const lowest = this.groups.every(({ length }, k) => length.toString() === lengths[k]);
    const listed = firsts.every((first, k) => k === 0 || rises(firsts[k - 1], first));
    return inOrder && listed && lowest && new Set(lengths).size === lengths.length;
  }

  /** Every output under the tail of every edge against the same output under its head. */
  check(rows, epsilon, nearest, where) {
    if (this.size * rows.length > MOST_COMPARISONS)
      throw new Unjudged("this page has no verdict on so many edges times outputs; use inbounds verify");
    for (const { length, ends } of this.groups) {
      const p = ratioAllowed(epsilon.times(length));
      for (let k = 0; k < ends.length; k += 2) {
        const [tail, head] = [ends[k], ends[k + 1]];
        rows.forEach((row, i) => nearest.compare(row[tail], row[head], p, where(i, tail, head)));
      }
    }
  }

  /** The largest logarithm of a ratio along an edge, over its length. For people to read: never for a decision. */
  tightEpsilon(rows) {
    let tight = 0;
    for (const { length, tail, head } of this.edges())
      for (const row of rows)
        if (row[tail] > row[head])
          tight = Math.max(tight, Math.log1p(approximateRatio(row[tail] - row[head], row[head])) / length.approximate);
    return tight;
  }
}

/** A number below 2^52 in size, rounded to the nearest float with ties to even, in units of the least float 2^-1074. */
function nearestFloat(number) {
  const [sign, size] = number.numerator < 0n ? [-1n, -number.numerator] : [1n, number.numerator];
  const scaled = size << LEAST_FLOAT_BITS;
  const floor = scaled / number.denominator;
  const surplus = BigInt(Math.max(floor.toString(2).length - FLOAT_DIGITS, 0));
  const kept = floor >> surplus;
  const unit = number.denominator << surplus;
  const twice = 2n * (scaled - kept * unit);
  const up = twice > unit || (twice === unit && kept % 2n === 1n);
  return sign * ((kept + (up ? 1n : 0n)) << surplus);
}

/** The names of answers that have places: their coordinates. Python finds places by floats, so they must differ as such. */
function readPlaces(part, answers) {
  const texts = Array.isArray(part) && part.every((place) => typeof place === "string");
  insist(texts && BigInt(part.length) === answers, "places must be texts, one for each answer");
  const known = new Map();
  const read = (text) => {
    if (!known.has(text)) {
      const number = Fraction.read(text);
      const limit = number.denominator << COORDINATE_BITS;
      const near = number.numerator < limit && -number.numerator < limit;
      insist(near, "coordinates must be below 2^52 in size");
      known.set(text, [number.toString(), nearestFloat(number).toString(36)]);
    }
    return known.get(text);
  };
  const places = part.map((place) => place.split(" ").map(read));
  const alike = places.every((place) => place.length === places[0].length);
  insist(alike, "places must all have the same number of coordinates");
  const floats = new Set(places.map((place) => place.map(([, float]) => float).join(" ")));
  insist(floats.size === places.length, "places must differ by more than the rounding of floats");
  return places.map((place) => place.map(([name]) => name).join(","));
}
