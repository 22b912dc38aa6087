// Passports that Python wrote, in the folder PASSPORTS: the words of each output are counted from the thresholds.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { JsonReader, Query } from "../src/check.js";
import { readMechanism } from "../src/index.js";
import { makeSampler } from "../src/mechanism.js";
import { MatrixSampler, NoiseSampler, ResponseSampler, SetSampler } from "../src/samplers.js";

const folder = process.env.PASSPORTS ?? null;
const names = folder === null ? [] : readdirSync(folder).filter((file) => file.endsWith(".passport.json"));
const ALL = 1n << 62n;

function pinsOf(text, changes = {}) {
  const { content, sha256 } = JSON.parse(text);
  return { digest: sha256, maxEpsilon: content.epsilon, query: content.query, ...changes };
}

/** The first words of stretches that may have different outputs. */
function firstWords(sampler, answer) {
  if (sampler instanceof ResponseSampler) {
    const others = Array.from({ length: Number((ALL - sampler.truthful) / sampler.other) }, (_, k) => BigInt(k) * sampler.other);
    return [0n, ...others.map((word) => word + sampler.truthful)];
  }
  const { starts } = sampler instanceof MatrixSampler ? sampler.ranges(answer) : sampler.ranges;
  if (!(sampler instanceof NoiseSampler)) return starts;
  const inRun = (k) => k === 1 || k === starts.length - 2;
  return starts.flatMap((start, k) => {
    const steps = inRun(k) ? Number((starts[k + 1] - start) / sampler.floor) : 1;
    return Array.from({ length: steps }, (_, step) => start + BigInt(step) * sampler.floor);
  });
}

/** How many words each output has. Within a stretch all words have one output: its two ends are looked at. */
function countWords(sampler, answer, outputs) {
  const found = new Array(outputs).fill(0n);
  const firsts = firstWords(sampler, answer);
  firsts.forEach((first, k) => {
    const next = k + 1 < firsts.length ? firsts[k + 1] : ALL;
    if (next === first) return;
    const output = sampler.output(answer, [first]);
    assert.equal(sampler.output(answer, [next - 1n]), output);
    found[output] += next - first;
  });
  return found;
}

for (const name of names) {
  const text = readFileSync(join(folder, name), "utf8");
  const expected = JSON.parse(readFileSync(join(folder, name.replace("passport", "expected")), "utf8"));

  test(`${name}: every output has exactly its weight`, () => {
    readMechanism(text, pinsOf(text));
    const content = JsonReader.read(text).get("content");
    const sampler = makeSampler(content.get("law"), new Query(content.get("query"), 1n << 20n));
    if (sampler instanceof SetSampler) {
      assert.equal(sampler.inside, BigInt(expected.inside));
      assert.equal(sampler.family.sets, expected.sets);
      for (const [label, holds, places] of expected.places)
        assert.deepEqual(places.map((_, index) => sampler.family.place(label, holds, index)), places);
    } else
      expected.columns.forEach((column, k) => {
        const answer = expected.answers[k];
        assert.deepEqual(countWords(sampler, answer, column.length), column.map(BigInt));
      });
  });

  test(`${name}: values and reports are those of Python`, () => {
    const mechanism = readMechanism(text, pinsOf(text));
    const reports = new Set(expected.reports);
    for (const value of expected.values)
      for (let k = 0; k < 20; k++) assert.ok(reports.has(mechanism.randomize(value)));
    for (const value of expected.refused) assert.throws(() => mechanism.randomize(value), RangeError);
    assert.equal(mechanism.longestReport, Math.max(...expected.reports.map((report) => Buffer.byteLength(JSON.stringify(report)))));
  });

  test(`${name}: what differs from the pins is refused`, () => {
    assert.throws(() => readMechanism(text, pinsOf(text, { digest: "0".repeat(64) })), /digest/);
    assert.throws(() => readMechanism(text, pinsOf(text, { maxEpsilon: "1/1000000000" })), /epsilon/);
    assert.throws(() => readMechanism(text, pinsOf(text, { query: { kind: "count" } })), /query/);
    assert.throws(() => readMechanism(text, { query: {}, maxEpsilon: "1" }), TypeError);
    assert.throws(() => readMechanism(text, pinsOf(text, { maxEpsilon: 1 })), TypeError);
  });
}

if (folder !== null)
  test("passports that are not private or changed are refused", () => {
    const refused = readdirSync(join(folder, "refuse"));
    assert.ok(refused.length > 0);
    for (const file of refused) {
      const text = readFileSync(join(folder, "refuse", file), "utf8");
      const pins = { digest: JSON.parse(text).sha256 ?? "", maxEpsilon: "64", query: {} };
      assert.throws(() => readMechanism(text, { ...pins, query: JSON.parse(text).content?.query ?? {} }), file);
    }
  });

test("without the system's generator nothing is drawn", { skip: folder === null }, () => {
  const text = readFileSync(join(folder, names[0]), "utf8");
  const expected = JSON.parse(readFileSync(join(folder, names[0].replace("passport", "expected")), "utf8"));
  const mechanism = readMechanism(text, pinsOf(text));
  const real = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
  try {
    assert.throws(() => mechanism.randomize(expected.values[0]), TypeError);
  } finally {
    Object.defineProperty(globalThis, "crypto", real);
  }
});

test("each report reads new words of 62 bits", { skip: folder === null }, () => {
  const text = readFileSync(join(folder, names[0]), "utf8");
  const expected = JSON.parse(readFileSync(join(folder, names[0].replace("passport", "expected")), "utf8"));
  const mechanism = readMechanism(text, pinsOf(text));
  const real = globalThis.crypto.getRandomValues;
  const lengths = [];
  globalThis.crypto.getRandomValues = (bytes) => {
    lengths.push(bytes.length);
    return bytes.fill(255);
  };
  try {
    for (let k = 0; k < 3; k++) mechanism.randomize(expected.values[0]);
  } finally {
    globalThis.crypto.getRandomValues = real;
  }
  const bytes = expected.sets ? 16 : 8; // two words for a set
  assert.deepEqual(lengths, [bytes, bytes, bytes]);
});
