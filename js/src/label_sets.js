// Families of sets of labels, numbered as the collector numbers them. `place(label, holds, index)` is the number of the set
// with this index among those that hold the label, or among those that do not: each of them once.

function choose(n, k) {
  let found = 1;
  for (let i = 1; i <= k; i++) found = (found * (n - k + i)) / i;
  return k < 0 || k > n ? 0 : found;
}

/** All sets of `size` labels, in the order of their bits read as a number. */
export class Subsets {
  constructor(labels, size) {
    Object.assign(this, { labels, size, sets: choose(labels, size), holding: choose(labels - 1, size - 1) });
  }

  place(label, holds, index) {
    const members = unrank(index, holds ? this.size - 1 : this.size).map((other) => (other < label ? other : other + 1));
    if (holds) members.push(label);
    members.sort((a, b) => a - b);
    return members.reduce((rank, member, k) => rank + choose(member, k + 1), 0);
  }
}

/** The members, from the largest, of the set of `size` whole numbers with this rank in the order of bits. */
function unrank(rank, size) {
  const found = [];
  for (let k = size; k >= 1; k--) {
    let member = k - 1;
    while (choose(member + 1, k) <= rank) member += 1;
    rank -= choose(member, k);
    found.push(member);
  }
  return found;
}

/** Set (a, b) holds the labels x with (a·x + b) mod modulus < size; a is not 0. */
export class Affine {
  constructor(modulus, size) {
    Object.assign(this, { modulus, size, sets: modulus * (modulus - 1), holding: size * (modulus - 1) });
  }

  place(label, holds, index) {
    const { modulus, size } = this;
    const values = holds ? size : modulus - size;
    const factor = Math.floor(index / values);
    const value = (index % values) + (holds ? 0 : size);
    const offset = (((value - (factor + 1) * label) % modulus) + modulus) % modulus;
    return factor * modulus + offset;
  }
}

/** Hyperplanes of a projective space over a prime field: set a holds the point x where <a, x> = 0. Points are vectors with
 * 1 as their highest nonzero digit, numbered in the order of their digits.
 */
export class Planes {
  constructor(order, dimension) {
    const points = (digits) => (order ** digits - 1) / (order - 1);
    Object.assign(this, { order, dimension, sets: points(dimension), holding: points(dimension - 1) });
    this.powers = Array.from({ length: dimension }, (_, place) => order ** place);
    this.firsts = Array.from({ length: dimension }, (_, place) => points(place));
  }

  /** The place of a point's highest digit, and the number that its digits make. */
  vector(point) {
    const top = lastAtMost(this.firsts, point);
    return { top, number: point - this.firsts[top] + this.powers[top] };
  }

  digits(number) {
    return this.powers.map((power) => Math.floor(number / power) % this.order);
  }

  /** The point of a vector that is not zero: divided by its highest digit, then counted. */
  point(number) {
    const top = lastAtMost(this.powers, number);
    const factor = this.inverse(Math.floor(number / this.powers[top]));
    const scaled = this.digits(number).reduce((sum, digit, place) => sum + ((digit * factor) % this.order) * this.powers[place], 0);
    return scaled - this.powers[top] + this.firsts[top];
  }

  inverse(digit) {
    let found = 1;
    while ((found * digit) % this.order !== 1) found += 1;
    return found;
  }

  /** All digits of a but one are free; the one at x's highest place solves <a, x> = 0, or 1 where the set does not hold x. */
  place(label, holds, index) {
    const { top, number } = this.vector(label);
    const [truth, power] = [this.digits(number), this.powers[top]];
    const free = holds ? this.vector(index).number : index;
    const low = free % power;
    const spread = (free - low) * this.order + low;
    const partial = this.digits(spread).reduce((sum, digit, place) => sum + digit * truth[place], 0);
    const solved = ((((holds ? 0 : 1) - partial) % this.order) + this.order) % this.order;
    return this.point(spread + solved * power);
  }
}

function lastAtMost(rising, number) {
  let found = 0;
  while (found + 1 < rising.length && rising[found + 1] <= number) found += 1;
  return found;
}
