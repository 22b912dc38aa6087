// Outputs that name a set of labels. A first draw of 2^62 decides with weight `inside` that the set holds the true label; a
// second one, modulo the number of sets of that kind, which of them it is. So a set has, over 2^124, the weight of its kind
// times the draws that leave its remainder: the quotient of 2^62 by the number of sets, or one more.
//
// How many sets hold a label follows from counting the pairs of a point and a set that holds it: every family treats all
// of its points alike, so that points × (sets that hold one) = sets × (points in one).

const MOST_SETS = 1n << 24n;
const MOST_SUBSETS = 1n << 18n;
const MOST_NAMED = 61n;
const MOST_DIMENSION = 62n;

function isPrime(number) {
  if (number < 2n) return false;
  for (let divisor = 2n; divisor * divisor <= number; divisor += 1n) if (number % divisor === 0n) return false;
  return true;
}

/** The families by their keys: the numbers that determine one, and [points, sets, points in a set] for so many labels. */
const FAMILIES = {
  /** All sets of so many labels. */
  subsets: {
    numbers: ["size"],
    of(labels, { size }) {
      insist(size > 0n && size < labels && labels <= MOST_NAMED, "subsets must have fewer members than there are labels, which are at most 61");
      let sets = 1n;
      for (let k = 1n; k <= size; k += 1n) sets = (sets * (labels - size + k)) / k;
      insist(sets <= MOST_SUBSETS, "there are too many subsets");
      return [labels, sets, size];
    },
  },

  /** Set (a, b) holds the points x of 0..modulus-1 with (a·x + b) mod modulus < size; a is not 0. */
  affine: {
    numbers: ["modulus", "size"],
    of(labels, { modulus, size }) {
      insist(labels >= 2n && labels <= modulus, "an affine family must have room for all labels");
      insist(size > 0n && size < modulus, "an affine family must have sets that are neither empty nor everything");
      const sets = modulus * (modulus - 1n);
      insist(sets <= MOST_SETS, "there are too many sets");
      insist(isPrime(modulus), "the modulus must be prime");
      return [modulus, sets, size];
    },
  },

  /** Points and hyperplanes of a projective space: as many of one as of the other, (q^n - 1) / (q - 1). */
  planes: {
    numbers: ["order", "dimension"],
    of(labels, { order, dimension }) {
      const within = order >= 2n && dimension >= 2n && dimension <= MOST_DIMENSION;
      insist(within, "a projective space needs a field, and 2 to 62 digits");
      const points = (digits) => (order ** digits - 1n) / (order - 1n);
      const sets = points(dimension);
      insist(labels >= 2n && labels <= sets, "a projective space must have a point for each label");
      insist(sets <= MOST_SETS, "there are too many points");
      insist(isPrime(order), "the order must be prime");
      return [sets, sets, points(dimension - 1n)];
    },
  },
};

class LabelSets {
  constructor(part) {
    insist(part instanceof Map && part.size === 1, "sets of labels must be of one family");
    const [[name, values]] = part;
    insist(Object.hasOwn(FAMILIES, name), "sets of labels must be subsets, affine or planes");
    const read = (key) => [key, readWhole(field(values, key))];
    this.family = FAMILIES[name];
    this.numbers = Object.fromEntries(this.family.numbers.map(read));
    this.inside = read("inside")[1];
    Object.freeze(this);
  }

  /** [how many sets hold a label, how many do not] */
  counted(labels) {
    const [points, sets, members] = this.family.of(labels, this.numbers);
    const holding = (sets * members) / points;
    insist(holding * points === sets * members, "every label must lie in as many sets");
    return [holding, sets - holding];
  }

  check(query, epsilon) {
    insist(query.everyone, "sets of labels need labels any two of which are neighbours");
    insist(query.oneOutputPerAnswer, "sets of labels need a label for each answer");
    const kinds = this.counted(query.answers.size);
    const { inside } = this;
    insist(kinds.every((sets) => sets > 0n) && inside > 0n && inside < TOTAL, "sets that hold the truth, and others, must both be possible");
    const [rarest, likeliest] = [[], []];
    [inside, TOTAL - inside].forEach((weight, kind) => {
      const [draws, left] = [TOTAL / kinds[kind], TOTAL % kinds[kind]];
      rarest.push(weight * draws);
      likeliest.push(weight * (left === 0n ? draws : draws + 1n));
    });
    const [high, low] = [likeliest.reduce((a, b) => (a > b ? a : b)), rarest.reduce((a, b) => (a < b ? a : b))];
    const nearest = new Nearest();
    nearest.compare(high, low, ratioAllowed(epsilon), () => ({ subject: "a set of labels", circumstance: "under one label than under another" }));
    return nearest.found;
  }

  proved(query) {
    const [holding, others] = this.counted(query.answers.size);
    return [
      `each label lies in ${holding} of ${holding + others} sets; one of these is drawn with the weight ${this.inside} of 2^62`,
      "which one is a draw of 2^62 modulo their number; the likeliest set of any label is within the ratio of the rarest of any other",
    ];
  }
}
