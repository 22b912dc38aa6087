// Every word of a small word size, one after the other: how often each output comes is exactly its weight.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Affine, Planes, Subsets } from "../src/label_sets.js";
import { MatrixSampler, NoiseSampler, PlaneSampler, ResponseSampler, SetSampler } from "../src/samplers.js";

/** How many of all words of so many bits give each output. */
function counts(sampler, answer, outputs, bits) {
  const found = new Array(outputs).fill(0);
  for (let word = 0n; word < 1n << BigInt(bits); word++) found[sampler.output(answer, [word])] += 1;
  return found;
}

/** Whole weights that sum to 2^bits; some are 0. */
function weights(count, bits, seed) {
  const cuts = Array.from({ length: count - 1 }, (_, k) => BigInt((seed * 7919 * (k + 3) ** 3) % 2 ** bits)).sort((a, b) => (a < b ? -1 : 1));
  return [...cuts, 1n << BigInt(bits)].map((cut, k) => cut - (k === 0 ? 0n : cuts[k - 1]));
}

for (const bits of [8, 11, 16])
  test(`a matrix over 2^${bits} is drawn as it is written`, () => {
    const columns = [1, 2, 3].map((seed) => weights(7, bits, seed));
    const rows = columns[0].map((_, i) => columns.map((column) => column[i]));
    const sampler = new MatrixSampler(rows, bits);
    columns.forEach((column, j) => assert.deepEqual(counts(sampler, j, 7, bits), column.map(Number)));
  });

for (const [size, half, remap] of [[9, 2, null], [9, 8, null], [9, 3, [0n, 0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 7n]]])
  test(`noise -${half}..${half} in 0..${size} is added and clamped${remap ? ", then renamed" : ""}`, () => {
    const [bits, floor, end] = [10, 3n, 5n];
    const run = BigInt(size - 1 - half);
    const core = weights(2 * half + 1, 9, 5).map((weight) => weight + 1n);
    core[half] += 1024n - 2n * end - 2n * run * floor - core.reduce((a, b) => a + b, 0n);
    const sampler = new NoiseSampler({ core, floor, end, size: BigInt(size), remap }, bits);
    const table = [end, ...Array(Number(run)).fill(floor), ...core, ...Array(Number(run)).fill(floor), end];
    for (let answer = 0; answer <= size; answer++) {
      const expected = new Array(size + 1).fill(0);
      table.forEach((weight, k) => {
        const clamped = Math.min(Math.max(answer + k - size, 0), size);
        expected[remap ? Number(remap[clamped]) : clamped] += Number(weight);
      });
      assert.deepEqual(counts(sampler, answer, size + 1, bits), expected);
    }
  });

test("a response has `other` words for every answer, and the rest for the true one", () => {
  const sampler = new ResponseSampler({ size: 5n, other: 100n }, 12);
  for (let answer = 0; answer < 5; answer++) {
    const expected = new Array(5).fill(100);
    expected[answer] = 4096 - 400;
    assert.deepEqual(counts(sampler, answer, 5, 12), expected);
  }
});

for (const remap of [null, [0n, 1n, 1n, 3n, 4n, 5n]])
  test(`noise on a map moves to the nearest cell${remap ? ", then renames" : ""}`, () => {
    const [rows, columns, anywhere, rest] = [2, 3, 4n, 7n];
    const flat = weights(15, 12, 3);
    flat[7] -= 6n * anywhere + rest;
    const table = [flat.slice(0, 5), flat.slice(5, 10), flat.slice(10)];
    const sampler = new PlaneSampler({ table, anywhere, rest, rows, columns, remap }, 12);
    const target = (cell) => (remap ? Number(remap[cell]) : cell);
    for (let answer = 0; answer < 6; answer++) {
      const expected = new Array(6).fill(0);
      table.forEach((row, a) =>
        row.forEach((weight, b) => {
          const y = Math.min(Math.max(Math.floor(answer / columns) + a - 1, 0), 1);
          const x = Math.min(Math.max((answer % columns) + b - 2, 0), 2);
          expected[target(y * columns + x)] += Number(weight);
        }),
      );
      for (let cell = 0; cell < 6; cell++) expected[target(cell)] += Number(anywhere);
      expected[target(0)] += Number(rest);
      assert.deepEqual(counts(sampler, answer, 6, 12), expected);
    }
  });

const digits = (number, order, places) => Array.from({ length: places }, (_, k) => Math.floor(number / order ** k) % order);

/** Points of a projective space in the order of their digits: vectors with 1 as their highest digit. */
function points(order, dimension) {
  const all = Array.from({ length: order ** dimension }, (_, number) => digits(number, order, dimension));
  return all.filter((vector) => vector.findLast((digit) => digit !== 0) === 1);
}

function subsetsOf(labels, size) {
  const bits = Array.from({ length: 2 ** labels }, (_, number) => digits(number, 2, labels));
  return bits.filter((flags) => flags.reduce((a, b) => a + b) === size).map((flags) => (x) => flags[x] === 1);
}

function affineSets(modulus, size) {
  const pairs = Array.from({ length: modulus * (modulus - 1) }, (_, k) => [Math.floor(k / modulus) + 1, k % modulus]);
  return pairs.map(([a, b]) => (x) => (a * x + b) % modulus < size);
}

function hyperplanes(order, dimension) {
  const all = points(order, dimension);
  return all.map((a) => (x) => a.reduce((sum, digit, k) => sum + digit * all[x][k], 0) % order === 0);
}

const FAMILIES = [
  ["subsets of 3 of 6", new Subsets(6, 3), 6, subsetsOf(6, 3)],
  ["subsets of 1 of 4", new Subsets(4, 1), 4, subsetsOf(4, 1)],
  ["affine sets of 3 modulo 7", new Affine(7, 3), 6, affineSets(7, 3)],
  ["planes over 2", new Planes(2, 4), 13, hyperplanes(2, 4)],
  ["planes over 3", new Planes(3, 3), 13, hyperplanes(3, 3)],
  ["planes over 5", new Planes(5, 2), 6, hyperplanes(5, 2)],
];

for (const [name, family, labels, sets] of FAMILIES) {
  test(`${name}: each label's sets are numbered once each`, () => {
    assert.equal(family.sets, sets.length);
    for (let label = 0; label < labels; label++)
      for (const holds of [true, false]) {
        const count = holds ? family.holding : family.sets - family.holding;
        const found = Array.from({ length: count }, (_, index) => family.place(label, holds, index)).sort((a, b) => a - b);
        assert.deepEqual(found, sets.flatMap((holder, k) => (holder(label) === holds ? [k] : [])));
      }
  });

  test(`${name}: over all pairs of words of 8 bits each set comes as often as its two draws say`, () => {
    const sampler = new SetSampler(family, 170n);
    for (const label of [0, labels - 1]) {
      const found = new Array(family.sets).fill(0);
      for (let coin = 0n; coin < 256n; coin++) for (let word = 0n; word < 256n; word++) found[sampler.output(label, [coin, word])] += 1;
      const expected = sets.map((holder, k) => {
        const holds = holder(label);
        const kind = holds ? family.holding : family.sets - family.holding;
        const index = Array.from({ length: kind }, (_, i) => family.place(label, holds, i)).indexOf(k);
        return (holds ? 170 : 86) * (Math.floor((255 - index) / kind) + 1);
      });
      assert.deepEqual(found, expected);
    }
  });
}

test("weights that do not sum to all words are refused", () => {
  assert.throws(() => new MatrixSampler([[100n], [155n]], 8).output(0, [0n]), RangeError);
  assert.throws(() => new MatrixSampler([[300n], [-44n]], 8).output(0, [0n]), RangeError);
  assert.throws(() => new ResponseSampler({ size: 5n, other: 52n }, 8), RangeError);
});
