// From random words to outputs. A word is a whole number, uniform on 0..2^bits - 1. A sampler splits the words into ranges, each
// of which belongs to one output; an output's probability is exactly the number of its words over 2^bits. There is no
// rejection: every report takes the same number of words.

/** Ranges of words in order: range k begins at starts[k] and ends before starts[k + 1], the last one at 2^bits. */
class Ranges {
  constructor(weights, bits) {
    let sum = 0n;
    this.starts = Array.from(weights, (weight) => {
      if (weight < 0n) throw new RangeError("weights must not be negative");
      const start = sum;
      sum += weight;
      return start;
    });
    if (sum !== 1n << BigInt(bits)) throw new RangeError(`weights must sum to 2^${bits}`);
    Object.freeze(this);
  }

  /** The range of a word, and the word's place in it. Looks at as many starts whichever word it is. */
  find(word) {
    let low = 0;
    for (let step = 1 << Math.floor(Math.log2(this.starts.length)); step >= 1; step >>= 1)
      if (low + step < this.starts.length && this.starts[low + step] <= word) low += step;
    return { range: low, place: word - this.starts[low] };
  }
}

/** A matrix of weights, outputs × answers. */
export class MatrixSampler {
  words = 1;

  constructor(rows, bits) {
    Object.assign(this, { rows, bits });
  }

  /** The ranges of one answer: a client draws for few answers, often for one. */
  ranges(answer) {
    return new Ranges(this.rows.map((row) => row[answer]), this.bits);
  }

  output(answer, [word]) {
    return this.ranges(answer).find(word).range;
  }
}

/** Noise that is added, clamped to 0..size, then renamed by `remap`. A run of equal weights is one range. */
export class NoiseSampler {
  words = 1;

  constructor({ core, floor, end, size, remap }, bits) {
    const half = Math.floor(core.length / 2);
    const last = Number(size);
    const run = BigInt(last - 1 - half);
    this.ranges = new Ranges([end, run * floor, ...core, run * floor, end], bits);
    // The noise of the first word of each range.
    this.firstNoise = [-last, 1 - last, ...Array.from(core, (_, k) => k - half), half + 1, last];
    Object.assign(this, { floor, last, remap });
  }

  output(answer, [word]) {
    const { range, place } = this.ranges.find(word);
    const inRun = range === 1 || range === this.firstNoise.length - 2;
    const noise = this.firstNoise[range] + (inRun ? Number(place / this.floor) : 0);
    const clamped = Math.min(Math.max(answer + noise, 0), this.last);
    return this.remap === null ? clamped : Number(this.remap[clamped]);
  }
}

/** Randomized response: every answer has `other` words, and the true answer also all that remain. */
export class ResponseSampler {
  words = 1;

  constructor({ size, other }, bits) {
    this.other = other;
    this.truthful = (1n << BigInt(bits)) - size * other;
    if (this.truthful < 0n) throw new RangeError(`weights must sum to 2^${bits}`);
  }

  output(answer, [word]) {
    return word < this.truthful ? answer : Number((word - this.truthful) / this.other);
  }
}

/** Noise on a map of rows × columns cells, moved to the nearest cell; some words name a cell whatever the answer is. */
export class PlaneSampler {
  words = 1;

  constructor({ table, anywhere, rest, rows, columns, remap }, bits) {
    const constant = new Array(rows * columns).fill(anywhere);
    constant[0] += rest;
    this.ranges = new Ranges([...table.flatMap((row) => Array.from(row)), ...constant], bits);
    Object.assign(this, { rows, columns, remap, width: 2 * columns - 1, steps: (2 * rows - 1) * (2 * columns - 1) });
  }

  output(answer, [word]) {
    const { range } = this.ranges.find(word);
    const cell = range < this.steps ? this.moved(answer, range) : range - this.steps;
    return this.remap === null ? cell : Number(this.remap[cell]);
  }

  moved(answer, step) {
    const { rows, columns, width } = this;
    const within = (line, lines) => Math.min(Math.max(line, 0), lines - 1);
    const row = within(Math.floor(answer / columns) + Math.floor(step / width) - (rows - 1), rows);
    return row * columns + within((answer % columns) + (step % width) - (columns - 1), columns);
  }
}

/** Reports that name a set of labels. The first word decides whether the set holds the true label, the second one which. */
export class SetSampler {
  words = 2;

  /** family: a family of sets, see label_sets.js. inside: of the first words, those for a set that holds the label. */
  constructor(family, inside) {
    Object.assign(this, { family, inside });
  }

  output(answer, [coin, word]) {
    const holds = coin < this.inside;
    const sets = holds ? this.family.holding : this.family.sets - this.family.holding;
    return this.family.place(answer, holds, Number(word % BigInt(sets)));
  }
}
