// A passport that passed the exact check, ready to draw.

import {
  JsonReader, LabelSets, Noise, PlaneNoise, Query, TOTAL_BITS, TwoWeights, canonical, checkPassport, field, readEpsilon,
  readMatrix,
} from "./check.js";
import { Affine, Planes, Subsets } from "./label_sets.js";
import { MatrixSampler, NoiseSampler, PlaneSampler, ResponseSampler, SetSampler } from "./samplers.js";
import { Values, readExact } from "./values.js";

const BITS = Number(TOTAL_BITS);
const MOST_OUTPUTS = 1 << 20;
const FORMAT = "inbounds/mechanism";

/** A mechanism for one person's value. `readMechanism` makes it. */
class Mechanism {
  #sampler;
  #values;

  constructor(digest, epsilon, values, sampler, outputs) {
    this.#sampler = sampler;
    this.#values = values;
    this.digest = digest;
    this.epsilon = epsilon.toString();
    this.longestReport = longestReport(outputs);
    Object.freeze(this);
  }

  /** Draw a report. Every call draws anew: use a Reporter to send one report for one value. */
  randomize(value) {
    return this.#report(this.#sampler.output(this.#values.position(value), systemWords(this.#sampler.words)));
  }

  #report(output) {
    return this.#sampler instanceof SetSampler ? output : this.#values.output(output);
  }
}

/**
 * Read a passport, check it exactly, and compare it with what the app expects.
 *
 * text: the passport. pins: what the app was built with; a passport that differs is refused.
 *   digest: its sha256. maxEpsilon: a number as text, such as "1" or "1/2". query: the passport's content.query.
 * clamp: move a number outside the range to the nearer end instead of refusing it.
 */
export function readMechanism(text, { digest, maxEpsilon, query, clamp = false }) {
  if (typeof digest !== "string" || typeof query !== "object" || query === null) throw new TypeError("pin digest, maxEpsilon and query");
  const most = typeof maxEpsilon === "string" ? readExact(maxEpsilon) : null;
  if (most === null) throw new TypeError('maxEpsilon must be a number as text, such as "1"');
  const envelope = JsonReader.read(text);
  if (!(envelope instanceof Map) || envelope.get("format") !== FORMAT) throw new Error("this is not a passport");
  const report = { checked: [], unchecked: [] };
  checkPassport(envelope, report);
  if (report.promise !== true) throw new Error("the passport has no proved promise");
  if (report.digest !== digest) throw new Error("the passport is not the one that the app pins: its digest differs");
  const content = envelope.get("content");
  const expected = canonical(JsonReader.read(JSON.stringify(query)));
  if (canonical(content.get("query")) !== expected) throw new Error("the passport asks another query than the app pins");
  const epsilon = readEpsilon(content.get("epsilon"));
  if (epsilon.compare(most) > 0) throw new Error("the passport has a larger epsilon than the app pins");
  return makeMechanism(content, report.digest, epsilon, clamp);
}

function makeMechanism(content, digest, epsilon, clamp) {
  const query = new Query(field(content, "query"), BigInt(MOST_OUTPUTS));
  const [values, sampler] = [new Values(query, clamp), makeSampler(content.get("law"), query)];
  const count = sampler instanceof SetSampler ? sampler.family.sets : Number(query.outputs);
  if (count > MOST_OUTPUTS) throw new RangeError(`the passport must have at most ${MOST_OUTPUTS} outputs`);
  const outputs = sampler instanceof SetSampler ? [count - 1] : Array.from({ length: count }, (_, k) => values.output(k));
  return new Mechanism(digest, epsilon, values, sampler, outputs);
}

const SAMPLERS = {
  matrix: (rows) => new MatrixSampler(readMatrix(rows), BITS),
  noise: (part) => new NoiseSampler(new Noise(part), BITS),
  response: (part) => new ResponseSampler(new TwoWeights(part), BITS),
  plane: (part) => new PlaneSampler(new PlaneNoise(part), BITS),
  blocks: (part, query) => new SetSampler(familyOf(part, query), new LabelSets(part).inside),
};

/** The sampler of a law that passed the check. */
export function makeSampler(law, query) {
  const [[kind, part]] = law;
  if (!Object.hasOwn(SAMPLERS, kind)) throw new TypeError("the passport must be for one person's value");
  return SAMPLERS[kind](part, query);
}

function familyOf(part, query) {
  const [[name, numbers]] = part;
  const number = (key) => Number(numbers.get(key));
  if (name === "subsets") return new Subsets(Number(query.answers.size), number("size"));
  return name === "affine" ? new Affine(number("modulus"), number("size")) : new Planes(number("order"), number("dimension"));
}

/** Words of 62 bits, from the browser's or the system's generator, read afresh for each report. There is no other source. */
function systemWords(count) {
  const bytes = new Uint8Array(8 * count);
  globalThis.crypto.getRandomValues(bytes);
  const view = new DataView(bytes.buffer);
  return Array.from({ length: count }, (_, k) => view.getBigUint64(8 * k) >> BigInt(64 - BITS));
}

/** How many bytes the longest report takes as JSON. */
function longestReport(outputs) {
  const length = (report) => new TextEncoder().encode(JSON.stringify(report)).length;
  return outputs.reduce((longest, report) => Math.max(longest, length(report)), 0);
}
