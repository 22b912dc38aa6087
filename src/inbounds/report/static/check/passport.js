// Passports: the envelope, the law of query and epsilon, and the claims.

const MOST_DRAWN = 1n << 16n;
const IN_RATIOS =
  "every comparison was W · 2^128 ≤ p · V in whole numbers, with p = ⌊2^128 · e^x⌋ enclosed from below and above";

const VERSION = 1n;
const ENVELOPE_FIELDS = ["format", "version", "content", "sha256"];

/** The content of an envelope; refused where it is of another version, has other fields, or was changed. */
function openEnvelope(envelope, report) {
  const version = envelope.get("version");
  const said = typeof version === "bigint" ? version : "of another kind";
  insist(version === VERSION, `this file has version ${said}; inbounds reads version ${VERSION}`);
  const known = envelope.size === 4 && ENVELOPE_FIELDS.every((name) => envelope.has(name));
  insist(known, "a file must have a format, a version, a content and a digest, and no other field");
  const content = envelope.get("content");
  insist(content instanceof Map, "the content of a file must be an object");
  const digest = digestOf(envelope);
  insist(envelope.get("sha256") === digest, "the digest does not match: the file was changed after it was written");
  report.digest = digest;
  report.checked.push("the SHA-256 of the canonical JSON of format, version and content is the digest stated");
  return content;
}

// --- every field is one that is read ----------------------------------------------------------------------------

const PASSPORT_KINDS = new Set(["count", "total", "mean", "extreme", "ordinal", "category", "interval", "graph", "map", "tree", "pair of counts", "histogram"]);
const SCALE_FIELDS = { start: null, unit: null, size: null, ticks: null };
const ORIGIN_FIELDS = { name: null, parameters: null, reference: null };
const PASSPORT_FIELDS = {
  epsilon: null, origin: ORIGIN_FIELDS,
  query: {
    kind: null, answers: SCALE_FIELDS, outputs: { lowers: SCALE_FIELDS, uppers: SCALE_FIELDS, values: SCALE_FIELDS },
    neighbours: null, rounds: null, labels: null, allowance: null, places: null,
  },
  law: {
    matrix: null, noise: { core: null, floor: null, end: null, size: null, remap: null },
    plane: { table: null, anywhere: null, remap: null }, response: { size: null, other: null },
  },
  claims: { losses: null, properties: null, effective_epsilon: null },
  optimality: { objective: null, value: null, bound: null, loss: null, prior: null },
};
const QUANTILE_FIELDS = {
  epsilon: null, origin: ORIGIN_FIELDS,
  query: { kind: null, values: { start: null, unit: null, size: null }, at: null, size: null, public: null, missing: null, records: null },
  law: {
    scores: { table: null, stride: null, deeper: null }, sides: { table: null, below: null, above: null, deeper: null },
    central: { first: null, length: null, matrix: null },
  },
};

const JOINT_FIELDS = {
  ...QUANTILE_FIELDS,
  law: { joint: { weight: null, spacing: null }, joint_sizes: { weight: null, spacing: null, sizes: null, floor: null }, counts: { table: null } },
};

const LABEL_FIELDS = {
  epsilon: null, origin: ORIGIN_FIELDS, query: PASSPORT_FIELDS.query,
  law: {
    blocks: {
      subsets: { size: null, inside: null }, affine: { modulus: null, size: null, inside: null },
      planes: { order: null, dimension: null, inside: null },
    },
  },
};

/** Refuse a field that nobody reads, which might be taken for something that was checked, and other values than objects. */
function refuseUnknownFields(content, known) {
  if (known === null || content === null) return;
  insist(content instanceof Map, "a part of the passport must be an object");
  for (const [name, part] of content) {
    insist(Object.hasOwn(known, name), `the passport has a field that no rule knows: ${name.slice(0, 40)}`);
    refuseUnknownFields(part, known[name]);
  }
}

/** Refuse a query that is written otherwise than passports write one: every number in lowest terms, nothing said twice. */
function refuseOtherSpelling(part, query) {
  const wrong = "the query must be written as passports write one, of a known kind";
  const exact = (text) => insist(Fraction.read(text).toString() === text, wrong);
  const scale = (own, read) => {
    exact(own.get("start"));
    exact(own.get("unit"));
    insist(own.size === 3 && own.has("ticks") === !read.regular, wrong);
  };
  insist(PASSPORT_KINDS.has(query.kind), wrong);
  scale(part.get("answers"), query.answers);
  if (part.get("outputs") !== null) {
    insist(!query.oneOutputPerAnswer, wrong);
    for (const name of ["lowers", "uppers", "values"]) scale(part.get("outputs").get(name), query[name]);
  }
  if (part.get("neighbours").has("metric")) exact(part.get("neighbours").get("metric"));
  if (query.graph !== null) insist(query.graph.isPlainlyWritten(part.get("neighbours").get("graph")), wrong);
  if (part.has("places")) {
    insist(part.get("places") !== null, wrong);
    for (const place of part.get("places")) place.split(" ").forEach(exact);
  }
  if (part.has("allowance")) {
    exact(part.get("allowance"));
    insist(!query.allowance.equals(ZERO), wrong);
  }
}

/** The name of an origin, all of whose texts are printable lines. */
function checkOrigin(content) {
  const origin = field(content, "origin");
  const parameters = field(origin, "parameters");
  insist(parameters instanceof Map, "the parameters of an origin must be named texts");
  const [name] = [field(origin, "name"), field(origin, "reference"), ...[...parameters].flat()].map(readLine);
  return name;
}

const LAWS_WITH_RULES = new Set([
  "approximate", "approximate_noise", "threshold", ...[PASSPORT_FIELDS, QUANTILE_FIELDS, JOINT_FIELDS, LABEL_FIELDS].flatMap(({ law }) => Object.keys(law)),
]);

/** One format for every mechanism: the kind of the query, and the key of the law, tell them apart. */
function checkPassport(envelope, report) {
  const content = openEnvelope(envelope, report);
  const [query, law] = [field(content, "query"), field(content, "law")];
  if (law instanceof Map && law.size === 1 && !LAWS_WITH_RULES.has([...law.keys()][0]))
    throw new Unjudged("this page has no verdict on a law of this kind; use inbounds verify");
  if (query instanceof Map && query.get("kind") === "quantile") checkQuantilePassport(content, report);
  else if (query instanceof Map && query.get("kind") === "quantiles") checkJointPassport(content, report);
  else if (law instanceof Map && law.has("blocks")) checkLabelPassport(content, report);
  else if (law instanceof Map && (law.has("approximate") || law.has("approximate_noise"))) checkApproximatePassport(content, report);
  else if (law instanceof Map && law.has("threshold")) checkThresholdPassport(content, report);
  else checkRangePassport(content, report);
}

function checkRangePassport(content, report) {
  refuseUnknownFields(content, PASSPORT_FIELDS);
  const part = field(content, "law");
  insist(part instanceof Map && part.size === 1, "the law of one answer must be a matrix, a noise table, a response, sets of labels or noise on a map");
  const rows = part.has("matrix") ? readMatrix(part.get("matrix")) : null;
  const noise = rows === null ? readNoise(part) : null;
  const listed = noise instanceof Noise ? (noise.remap ?? []).length : 0;
  const written = rows === null ? listed : Math.max(rows.length, rows[0].length);
  const query = new Query(field(content, "query"), BigInt(written));
  const epsilon = readEpsilon(field(content, "epsilon"));
  Object.assign(report, { title: `${query.kind}, epsilon ${epsilon}`, epsilon: epsilon.toString() });
  report.picture = pictureOf(rows, noise, query);
  report.nearest = rows === null ? noise.check(query, epsilon) : checkMatrix(rows, query, epsilon);
  promised(report, epsilon, nextAnswer(query));
  report.checked.push(...provedOf(rows, noise, query, epsilon), IN_RATIOS);
  checkWords(content, report, { rows, noise, query, epsilon });
}

function readNoise(part) {
  if (part.has("response")) return new TwoWeights(part.get("response"));
  return part.has("plane") ? new PlaneNoise(part.get("plane")) : new Noise(field(part, "noise"));
}

/** Outputs that are numbers of sets: they have no loss, so nothing is claimed. */
function checkLabelPassport(content, report) {
  refuseUnknownFields(content, LABEL_FIELDS);
  const part = field(content, "law");
  insist(part.size === 1, "the law must be one");
  const query = new Query(field(content, "query"), 0n);
  const [epsilon, law] = [readEpsilon(field(content, "epsilon")), new LabelSets(part.get("blocks"))];
  Object.assign(report, { title: `${query.kind}, epsilon ${epsilon}`, epsilon: epsilon.toString() });
  report.nearest = law.check(query, epsilon);
  promised(report, epsilon, nextAnswer(query));
  report.checked.push(`the query is whole: ${query.answers.size} labels`, ...law.proved(query), IN_RATIOS);
  const origin = checkOrigin(content);
  refuseOtherSpelling(content.get("query"), query);
  report.unchecked.push("that the question is what was asked", `where the mechanism comes from, which is said to be ${origin}`);
}

/** An answer that epsilon pays for, in words. */
function nextAnswer(query) {
  if (query.graph !== null) return "under one that is a length of 1 away along edges";
  return query.metric === null ? "under a neighbouring one" : `under one ${query.metric} away`;
}

/** Query, epsilon and law keep the promise, whatever else the file says. */
function promised(report, epsilon, circumstance) {
  const most = shown(approximateRatio(ratioAllowed(epsilon), 1n << RATIO_BITS));
  report.promise = true;
  report.says = `no output is more than ${most} times likelier under a true answer than ${circumstance}`;
}

function provedOf(rows, noise, query, epsilon) {
  const asked = `the query is whole: ${query.answers.size} answers, ${query.outputs} outputs that cover them`;
  if (noise !== null) return [asked, ...noise.proved(query)];
  if (query.graph !== null)
    return [
      asked,
      `${rows.length * rows[0].length} weights, each of the ${rows[0].length} columns sums to exactly 2^62`,
      `for every output and each of ${query.graph.size} edges, it is at most e^(epsilon · length) times as likely under the `
        + `tail as under the head (epsilon ${epsilon}); along a path the ratios multiply and the lengths add up`,
    ];
  const compared = query.metric === null ? "neighbouring answers" : "consecutive answers, each at its distance";
  return [
    asked,
    `${rows.length * rows[0].length} weights, each of the ${rows[0].length} columns sums to exactly 2^62`,
    `for every output and any ${compared}, one is at most e^epsilon times as likely as the other (epsilon ${epsilon})`,
  ];
}

/** Origin, claims and objective: where the law is too large to be measured here, that is said and not passed over. */
function checkWords(content, report, { rows, noise, query, epsilon }) {
  const origin = checkOrigin(content);
  refuseOtherSpelling(content.get("query"), query);
  const measured = isSmall(noise, query, CLAIMS_UP_TO) ? new Measured(rows ?? noise.matrix(query), query) : null;
  if (measured === null) report.unchecked.push("losses and properties that are claimed: too large to compute on this page");
  else {
    checkClaims(content.get("claims"), measured, epsilon, noise);
    report.checked.push("losses, properties and the tight epsilon that are claimed follow from the weights");
  }
  report.unchecked.push("that the question is what was asked, and that one person moves its answer no further");
  report.unchecked.push(`where the mechanism comes from, which is said to be ${origin}`);
  report.unchecked.push(...checkOptimality(field(content, "optimality"), measured, query, noise));
  report.measured = measured;
}

/** Refuse a quantile whose exact numbers are not in lowest terms. */
function refuseOtherNumbers(part) {
  const written = [...part.get("at").split(" "), part.get("values").get("start"), part.get("values").get("unit")];
  const plain = written.every((text) => Fraction.read(text).toString() === text);
  insist(plain, "the query must be written as passports write one");
}

function checkQuantilePassport(content, report) {
  report.kind = "quantile passport";
  refuseUnknownFields(content, QUANTILE_FIELDS);
  const quantile = new Quantile(field(content, "query"));
  const values = content.get("query").get("values");
  for (const text of [content.get("query").get("at"), values.get("start"), values.get("unit")])
    insist(Fraction.read(text).toString() === text, "the query must be written as passports write one");
  const epsilon = readEpsilon(field(content, "epsilon"));
  const { kind, law, rows } = readQuantileLaw(field(content, "law"));
  const name = checkOrigin(content);
  Object.assign(report, { title: `${name}: ${quantile.at}-quantile, epsilon ${epsilon}`, epsilon: epsilon.toString() });
  const names = Array.from({ length: Number(quantile.values.size) }, (_, k) => quantile.values.value(k).toString());
  const columns = rows === null ? [] : Array.from(rows[0], (_, j) => (law.length === 1n ? names.at(-1 - j) : `${j}`));
  if (rows !== null) report.picture = drawn(rows, names, columns);
  report.nearest = law.check(quantile, epsilon);
  promised(report, epsilon, "of a neighbouring group");
  refuseOtherNumbers(content.get("query"));
  report.checked.push(`the law is a ${kind}: all ratios between neighbouring groups that it can have were bounded`);
  const theorem = law instanceof ScoreTable ? 3 : law instanceof SidedTable ? 4 : null;
  if (theorem !== null)
    report.checked.push(`the bounds are those of Theorem ${theorem} on quantiles, the rounding of the sampler's index included`);
  report.checked.push(IN_RATIOS);
  report.unchecked.push("that the question is what was asked, and where the mechanism comes from");
}

function checkJointPassport(content, report) {
  report.kind = "quantile passport";
  refuseUnknownFields(content, JOINT_FIELDS);
  const group = new Quantiles(field(content, "query"));
  refuseOtherNumbers(content.get("query"));
  const epsilon = readEpsilon(field(content, "epsilon"));
  const law = readJointLaw(field(content, "law"));
  const name = checkOrigin(content);
  Object.assign(report, { title: `${name}: quantiles ${group.at.join(", ")}, epsilon ${epsilon}`, epsilon: epsilon.toString() });
  report.nearest = law.check(group, epsilon);
  promised(report, epsilon, "of a neighbouring group");
  report.checked.push(...law.proved, IN_RATIOS);
  report.unchecked.push("that the question is what was asked, and where the mechanism comes from");
}

// --- what is drawn of a law -------------------------------------------------------------------------------------

/** Whether a law can be written out within so many steps. */
function isSmall(noise, query, limit) {
  const steps = noise === null ? 0n : query.answers.size * query.answers.size;
  return query.outputs * query.answers.size <= limit && steps <= limit;
}

function pictureOf(rows, noise, query) {
  if (!isSmall(noise, query, MOST_DRAWN)) return null;
  if (noise !== null && !noise.canBeWrittenOut(query)) return null;
  const law = rows ?? noise.matrix(query);
  const outputs = law.map((_, i) => (BigInt(i) < query.outputs ? query.outputName(i) : `${i}`));
  const answers = Array.from(law[0], (_, j) => (BigInt(j) < query.answers.size ? query.answerName(j) : `${j}`));
  return drawn(law, outputs, answers);
}

function drawn(rows, outputs, answers) {
  const shares = rows.map((row) => Array.from(row, (weight) => Number(weight) / Number(TOTAL)));
  return { shares, outputs, answers };
}
