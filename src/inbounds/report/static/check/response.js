// Randomized response. Of the 2^62 equally likely draws every answer has `other`, and the true one also all that are left:
// an output has the weight `other` under every answer that is not itself, and the rest of 2^62 under itself.

class TwoWeights {
  constructor(part) {
    [this.size, this.other] = ["size", "other"].map((name) => readWhole(field(part, name)));
    Object.freeze(this);
  }

  /** The weight of the true answer. */
  get truth() {
    return TOTAL - (this.size - 1n) * this.other;
  }

  /** There are two weights, so that one ratio is that of all outputs and any two answers. */
  check(query, epsilon) {
    const { size, other, truth } = this;
    insist(size === query.answers.size && query.oneOutputPerAnswer, "two weights need one output per answer");
    insist(query.metric === null && query.graph === null, "two weights need neighbours at distance 1");
    insist(other >= 1n && truth >= other, "the weight of the other answers must be positive, and not above that of the true one");
    const nearest = new Nearest();
    nearest.compare(truth, other, ratioAllowed(epsilon), () => ({ subject: "an output", circumstance: "under itself than under any other answer" }));
    return nearest.found;
  }

  proved() {
    const { size, other } = this;
    return [
      `each of ${size - 1n} answers that are not the true one has the weight ${other} of 2^62, and the true one the rest`,
      "the rest is not less, and within the ratio: that is every ratio there is",
    ];
  }

  canBeWrittenOut(query) {
    return this.size === query.answers.size && this.truth >= 0n;
  }

  /** The law written out, outputs × answers, where that is small enough to look at. */
  matrix(query) {
    return Array.from({ length: Number(query.outputs) }, (_, i) => {
      const row = new BigUint64Array(Number(this.size)).fill(this.other);
      row[i] = this.truth;
      return row;
    });
  }
}
