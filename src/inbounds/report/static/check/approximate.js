// Matrices with a delta. For two neighbours j and k: the sum over outputs of max(0, W[j] · 2^128 - p · W[k]), with
// p = floor(2^128 · e^epsilon), is at most delta · 2^62 · 2^128; then so is Pr[S | j] - e^epsilon · Pr[S | k], for every set S.

const MOST_COMPARED = 1n << 24n;

const APPROXIMATE_FIELDS = {
  epsilon: null, origin: ORIGIN_FIELDS, query: PASSPORT_FIELDS.query,
  law: { approximate: { delta: null, matrix: null } },
};

function checkApproximatePassport(content, report) {
  refuseUnknownFields(content, APPROXIMATE_FIELDS);
  const part = field(content, "law");
  insist(part.size === 1, "the law must be one");
  const law = field(part, "approximate");
  const rows = readMatrix(field(law, "matrix"));
  const query = new Query(field(content, "query"), BigInt(Math.max(rows.length, rows[0].length)));
  const [epsilon, delta] = [readEpsilon(field(content, "epsilon")), Fraction.read(field(law, "delta"))];
  Object.assign(report, { title: `${query.kind}, epsilon ${epsilon}, delta ${delta}`, epsilon: epsilon.toString() });
  report.picture = pictureOf(rows, null, query);
  checkApproximate(rows, query, epsilon, delta);
  const most = shown(approximateRatio(ratioAllowed(epsilon), 1n << RATIO_BITS));
  report.promise = true;
  report.says =
    `any set of reports has at most ${most} times the probability under a true answer that it has under a neighbouring ` +
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

function excessOf(rows, high, low, p) {
  let sum = 0n;
  for (const row of rows) {
    const beyond = (row[high] << RATIO_BITS) - p * row[low];
    if (beyond > 0n) sum += beyond;
  }
  return sum;
}
