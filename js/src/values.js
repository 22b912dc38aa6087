// Between a person's value and its position among the answers, and between an output's position and what is sent.

import { Fraction } from "./check.js";

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:e([-+]?[0-9]+))?$/;
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** The exact number that a number, a bigint or a text such as "0.5" or "1/3" names; null where it names none. */
export function readExact(value) {
  if (typeof value === "bigint") return new Fraction(value);
  if (typeof value === "string" && /^-?[0-9]+\/[0-9]*[1-9][0-9]*$/.test(value)) {
    const [numerator, denominator] = value.split("/").map(BigInt);
    return new Fraction(numerator, denominator);
  }
  const found = ["number", "string"].includes(typeof value) ? DECIMAL.exec(String(value)) : null;
  if (found === null) return null;
  const [sign, whole, decimals, exponent] = [found[1], found[2], found[3] ?? "", Number(found[4] ?? 0)];
  const power = exponent - decimals.length;
  if (Math.abs(power) > 400) return null;
  const digits = BigInt(`${sign}${whole}${decimals}`);
  return power >= 0 ? new Fraction(digits * 10n ** BigInt(power)) : new Fraction(digits, 10n ** BigInt(-power));
}

/** Values of a query. clamp: move a number outside the range to the nearer end instead of refusing it. */
export class Values {
  constructor(query, clamp) {
    this.query = query;
    this.clamp = clamp;
    this.byLabel = query.labels === null ? null : new Map(query.labels.map((label, position) => [label, position]));
    this.byTick = query.answers.ticks === null ? null : new Map(Array.from(query.answers.ticks, (tick, k) => [tick, k]));
    if (clamp && this.byLabel !== null) throw new TypeError("clamp must be false for labels, which have no nearer end");
    if (query.rounds) throw new TypeError("the passport must be of values on a grid; this one rounds");
    Object.freeze(this);
  }

  /** The position of a value. The error of a value that is none does not repeat it. */
  position(value) {
    const position = this.byLabel === null ? this.numberPosition(value) : this.byLabel.get(labelOf(value));
    if (position === undefined) throw new RangeError(`value must be one of the ${this.query.answers.size} answers of the passport`);
    return position;
  }

  numberPosition(value) {
    const number = readExact(value);
    if (number === null) return undefined;
    const { answers } = this.query;
    const tick = number.minus(answers.start).over(answers.unit);
    if (this.clamp && tick.numerator < 0n) return 0;
    if (this.clamp && tick.numerator > answers.lastTick * tick.denominator) return Number(answers.size) - 1;
    if (tick.denominator !== 1n) return undefined;
    if (this.byTick !== null) return this.byTick.get(tick.numerator);
    return tick.numerator >= 0n && tick.numerator < answers.size ? Number(tick.numerator) : undefined;
  }

  /** What is sent for an output: its label, or its number. */
  output(position) {
    return this.byLabel === null ? toNumber(this.query.values.value(position)) : this.query.labels[position];
  }
}

/** The label of a value: itself, or its coordinates joined as passports join them. */
function labelOf(value) {
  if (!Array.isArray(value)) return value;
  const numbers = value.map(readExact);
  return numbers.includes(null) ? undefined : numbers.join(",");
}

/** The float nearest to a fraction. */
function toNumber({ numerator, denominator }) {
  if (numerator > SAFE || -numerator > SAFE || denominator > SAFE) throw new RangeError("an output has too many digits");
  return Number(numerator) / Number(denominator);
}
