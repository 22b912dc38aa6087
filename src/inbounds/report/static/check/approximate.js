// Matrices with a delta. For two neighbours j and k: the sum over outputs of max(0, W[j] · 2^128 - p · W[k]), with
// p = floor(2^128 · e^epsilon), is at most delta · 2^62 · 2^128; then so is Pr[S | j] - e^epsilon · Pr[S | k], for every set S.

const MOST_COMPARED = 1n << 24n;

const APPROXIMATE_FIELDS = {
  epsilon: null, origin: ORIGIN_FIELDS, query: PASSPORT_FIELDS.query,
  law: { approximate: { delta: null, matrix: null }, approximate_noise: { delta: null, table: null } },
};

function checkApproximatePassport(content, report) {
  refuseUnknownFields(content, APPROXIMATE_FIELDS);
  const part = field(content, "law");
  insist(part.size === 1, "the law must be one");
  const isNoise = part.has("approximate_noise");
  const law = field(part, isNoise ? "approximate_noise" : "approximate");
  const given = isNoise ? null : readMatrix(field(law, "matrix"));
  const query = new Query(field(content, "query"), given === null ? 0n : BigInt(Math.max(given.length, given[0].length)));
  const rows = given ?? clampedNoise(readWholes(field(law, "table")), query);
  const [epsilon, delta] = [readEpsilon(field(content, "epsilon")), Fraction.read(field(law, "delta"))];
  Object.assign(report, { title: `${query.kind}, epsilon ${epsilon}, delta ${delta}`, epsilon: epsilon.toString() });
  report.picture = pictureOf(rows, null, query);
  checkApproximate(rows, query, epsilon, delta);
  const most = shown(approximateRatio(ratioAllowed(epsilon), 1n << RATIO_BITS));
  report.promise = true;
  report.says =
    `any set of outputs has at most ${most} times the probability under a true answer that it has under a neighbouring ` +
    `one, plus ${delta}`;
  report.checked.push(
    `the query is whole: ${query.answers.size} answers, ${query.outputs} outputs that cover them`,
    `${rows.length * rows[0].length} weights, each of the ${rows[0].length} columns sums to exactly 2^62`,
    `for every two neighbours, in both orders, what one exceeds e^epsilon times the other adds up to at most delta`,
    IN_RATIOS,
  );
  const origin = checkOrigin(content);
  refuseOtherSpelling(content.get("query"), query);
  report.unchecked.push("that the question is what was asked, and that one person moves its answer no further");
  report.unchecked.push(`where the mechanism comes from, which is said to be ${origin}`);
}

function checkApproximate(rows, query, epsilon, delta) {
  insist(delta.compare(ZERO) > 0 && delta.compare(ONE) < 0, "delta must be above 0 and below 1");
  const shape = [BigInt(rows.length), BigInt(rows[0].length)];
  insist(shape[0] === query.outputs && shape[1] === query.answers.size, "the matrix must fit the query");
  insist(query.graph === null && query.metric === null, "a delta needs neighbours at distance 1");
  checkDistributions(rows);
  const stops = query.stops();
  const pairs = stops.reduce((sum, stop, start) => sum + 2 * (stop - start - 1), 0);
  insist(BigInt(pairs) * shape[0] <= MOST_COMPARED, "there are too many pairs of neighbours and outputs");
  const p = ratioAllowed(epsilon);
  const allowed = (delta.numerator * TOTAL) << RATIO_BITS;
  stops.forEach((stop, j) => {
    for (let k = j + 1; k < stop; k++) {
      for (const [high, low] of [[j, k], [k, j]]) {
        const fits = excessOf(rows, high, low, p) * delta.denominator <= allowed;
        insist(fits, `answers ${query.answerName(high)} and ${query.answerName(low)} need a larger delta`);
      }
    }
  });
}

/** Pr[output | answer] of noise that is added to an answer and clamped to the range. */
function clampedNoise(table, query) {
  const numeric = query.labels === null && query.answers.regular && !query.everyone && query.graph === null;
  insist(numeric && query.oneOutputPerAnswer, "a noise table needs numeric answers without gaps and neighbours within a reach");
  const size = Number(query.answers.size);
  const fits = table.length % 2 === 1 && table.length <= 2 * size - 1 && BigInt(size) * BigInt(size) <= MOST_COMPARED;
  insist(fits, "a noise table must not be longer than the range, in both directions");
  const rows = Array.from({ length: size }, () => new Array(size).fill(0n));
  for (let answer = 0; answer < size; answer++)
    table.forEach((weight, d) => {
      const output = Math.min(Math.max(answer + d - (table.length >> 1), 0), size - 1);
      rows[output][answer] += weight;
    });
  return rows;
}

function excessOf(rows, high, low, p) {
  let sum = 0n;
  for (const row of rows) {
    const beyond = (row[high] << RATIO_BITS) - p * row[low];
    if (beyond > 0n) sum += beyond;
  }
  return sum;
}

// --- counts above a threshold -----------------------------------------------------------------------------------

const THRESHOLD_FIELDS = {
  epsilon: null, origin: ORIGIN_FIELDS, query: PASSPORT_FIELDS.query, law: { threshold: { delta: null, wide: null, narrow: null } },
};

/** A count plus noise is published where it exceeds the bound of the noise that was drawn, else nothing (0) is. */
function checkThresholdPassport(content, report) {
  refuseUnknownFields(content, THRESHOLD_FIELDS);
  const part = field(content, "law");
  insist(part.size === 1, "the law must be one");
  const law = field(part, "threshold");
  const query = new Query(field(content, "query"), 0n);
  const [epsilon, delta] = [readEpsilon(field(content, "epsilon")), Fraction.read(field(law, "delta"))];
  const [wide, narrow] = ["wide", "narrow"].map((name) => (field(law, name) === "" ? [] : [...readWholes(law.get(name))]));
  Object.assign(report, { title: `${query.kind}, epsilon ${epsilon}, delta ${delta}`, epsilon: epsilon.toString() });
  const counts = query.kind === "count" && query.reach === 1n && query.metric === null && !query.everyone && query.graph === null;
  insist(counts && query.labels === null && query.oneOutputPerAnswer, "a threshold needs a count, which one person moves by 1");
  checkThreshold(wide, narrow, epsilon, delta);
  const most = shown(approximateRatio(ratioAllowed(epsilon), 1n << RATIO_BITS));
  report.promise = true;
  report.says =
    `any set of outputs has at most ${most} times the probability under a number of persons that it has with one person more ` +
    `or less, plus ${delta}; of nobody, nothing is ever published`;
  report.checked.push(
    `the query is whole: ${query.answers.size} answers`,
    `${wide.length + narrow.length} weights of noise sum to exactly 2^62, and only numbers above the bound of their noise are published`,
    "for every two counts one apart, in both orders, what one exceeds e^epsilon times the other adds up to at most delta",
    IN_RATIOS,
  );
  const origin = checkOrigin(content);
  refuseOtherSpelling(content.get("query"), query);
  report.unchecked.push("that the question is what was asked, and that one person moves its answer no further");
  report.unchecked.push(`where the mechanism comes from, which is said to be ${origin}`);
}

function checkThreshold(wide, narrow, epsilon, delta) {
  insist(delta.compare(ZERO) > 0 && delta.compare(ONE) < 0, "delta must be above 0 and below 1");
  const shaped = wide.length >= 3 && wide.length % 2 === 1 && (narrow.length === 0 || narrow.length === wide.length - 2);
  insist(shaped, "the noise must be -k..k with k at least 1, and -(k - 1)..k - 1 or nothing");
  const sum = [...wide, ...narrow].reduce((all, weight) => all + weight, 0n);
  insist(sum === TOTAL, "the weights of both noises together must sum to 2^62");
  const bound = wide.length >> 1;
  // from a count of 2·bound + 1 on every number is published, and all pairs are alike
  const last = 2 * bound + 2;
  if (BigInt(last) * BigInt(6 * bound) > MOST_COMPARED)
    throw new Unjudged("this page has no verdict on noise of so many steps; use inbounds verify");
  const p = ratioAllowed(epsilon);
  const allowed = (delta.numerator * TOTAL) << RATIO_BITS;
  let before = reportsOf(0, wide, narrow);
  for (let count = 1; count <= last; count++) {
    const now = reportsOf(count, wide, narrow);
    const rows = now.map((weight, output) => [before[output], weight]);
    const fits = [excessOf(rows, 0, 1, p), excessOf(rows, 1, 0, p)].every((excess) => excess * delta.denominator <= allowed);
    insist(fits, `the counts ${count - 1} and ${count} need a larger delta`);
    before = now;
  }
}

/** The weight of every output of a count, without a largest one; the first is that of no output. */
function reportsOf(count, wide, narrow) {
  const found = new Array(3 * (wide.length >> 1) + 3).fill(0n);
  for (const table of [wide, narrow]) {
    const bound = table.length >> 1;
    table.forEach((weight, place) => {
      const noisy = count + place - bound;
      found[noisy > bound ? noisy : 0] += weight;
    });
  }
  return found;
}
