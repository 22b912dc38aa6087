// Exact numbers: fractions of BigInts, and e^x enclosed from both sides. No floating point decides anything.

class Refused extends Error {}

/** A sentence about what cannot be judged here, as against what is wrong. */
class Unjudged extends Error {}

function refuse(sentence) {
  throw new Refused(sentence);
}

function insist(holds, sentence) {
  if (!holds) refuse(sentence);
}

const TOTAL_BITS = 62n;
const TOTAL = 1n << TOTAL_BITS;
const RATIO_BITS = 128n;
const MOST_DIGITS = 1500;
const MOST_ANSWERS = 1n << 53n;
const WRITTEN_FRACTION = new RegExp(`^(-?[0-9]{1,${MOST_DIGITS}})(?:/([0-9]{1,${MOST_DIGITS}}))?$`);
const WRITTEN_WHOLE = /^(?:0|[1-9][0-9]{0,18})$/;

/** An exact fraction in lowest terms, its denominator positive. */
class Fraction {
  constructor(numerator, denominator = 1n) {
    insist(denominator !== 0n, "a denominator must not be zero");
    const common = greatestCommonDivisor(numerator, denominator) * (denominator < 0n ? -1n : 1n);
    this.numerator = numerator / common;
    this.denominator = denominator / common;
    Object.freeze(this);
  }

  /** "3" or "1/2", in lowest terms and of a bounded number of digits. */
  static read(text) {
    const found = typeof text === "string" ? WRITTEN_FRACTION.exec(text) : null;
    insist(found !== null, "an exact number must be text such as '3' or '1/2'");
    const number = new Fraction(BigInt(found[1]), found[2] === undefined ? 1n : BigInt(found[2]));
    insist(number.toString() === text, "an exact number must be in lowest terms");
    return number;
  }

  plus(other) {
    return new Fraction(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    );
  }

  times(other) {
    return new Fraction(this.numerator * other.numerator, this.denominator * other.denominator);
  }

  over(other) {
    return new Fraction(this.numerator * other.denominator, this.denominator * other.numerator);
  }

  minus(other) {
    return this.plus(new Fraction(-other.numerator, other.denominator));
  }

  compare(other) {
    const difference = this.numerator * other.denominator - other.numerator * this.denominator;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  equals(other) {
    return this.compare(other) === 0;
  }

  /** For people to read: never for a decision. */
  get approximate() {
    return approximateRatio(this.numerator, this.denominator);
  }

  toString() {
    return this.denominator === 1n ? `${this.numerator}` : `${this.numerator}/${this.denominator}`;
  }
}

const ZERO = new Fraction(0n);
const ONE = new Fraction(1n);
const LEAST_EPSILON = new Fraction(1n, 10n ** 9n);
const LARGEST_EPSILON = new Fraction(64n);

function whole(number) {
  return new Fraction(BigInt(number));
}

function greatestCommonDivisor(a, b) {
  let [large, small] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (small !== 0n) [large, small] = [small, large % small];
  return large;
}

function bitLength(number) {
  return number.toString(16).length * 4;
}

/** The float nearest to a/b but for its last bits, however large both are. */
function approximateRatio(a, b) {
  if (b === 0n) return a === 0n ? NaN : Infinity;
  const [sign, size] = a < 0n ? [-1, -a] : [1, a];
  const shift = 70 - bitLength(size) + bitLength(b);
  const scaled = shift >= 0 ? (size << BigInt(shift)) / b : size / (b << BigInt(-shift));
  return (sign * Number(scaled)) / 2 ** shift;
}

/** Whole numbers in decimal, separated by single spaces, each below 10^19: as passports hold them. */
function readWholes(text) {
  const written = typeof text === "string" ? text.split(" ") : [""];
  insist(written.every((number) => WRITTEN_WHOLE.test(number)), "weights must be whole numbers in decimal");
  return BigUint64Array.from(written, BigInt);
}

function readWhole(text) {
  const found = readWholes(text);
  insist(found.length === 1, "there must be one whole number");
  return found[0];
}

/** Numbers a, b with a/2^bits <= e^x <= b/2^bits: Taylor's sum with every term rounded down, and rounded up.
 *
 * Once k >= 2x, each term is at most half of the one before, so that all that are left out are together at most the
 * last one that was added; that is what the upper sum gets on top.
 */
function expEnclosed(x, bits) {
  const [n, d] = [x.numerator, x.denominator];
  let [down, up] = [1n << bits, 1n << bits];
  let [below, above] = [down, up];
  for (let k = 1n; ; k += 1n) {
    const divisor = d * k;
    down = (down * n) / divisor;
    up = (up * n + divisor - 1n) / divisor;
    below += down;
    above += up;
    if (up <= 1n && divisor >= 2n * n) return [below, above + up];
  }
}

const knownRatios = new Map();

/** floor(2^128 · e^x), for 0 <= x: enclosed ever more closely until both ends agree. Beyond 64 nothing more is allowed. */
function ratioAllowed(exponent) {
  const x = exponent.compare(LARGEST_EPSILON) > 0 ? LARGEST_EPSILON : exponent;
  const key = x.toString();
  for (let bits = 512n; !knownRatios.has(key); bits *= 2n) {
    const [below, above] = expEnclosed(x, bits).map((sum) => sum >> (bits - RATIO_BITS));
    if (below === above) knownRatios.set(key, below);
  }
  return knownRatios.get(key);
}

/** Whether high / low <= p / 2^128. */
function isWithin(high, low, p) {
  return high << RATIO_BITS <= p * low;
}
