// A delta for several answers together, in whole numbers over 2^256: each answer of epsilon e shows two neighbouring
// tables apart at most like a coin with the odds e^e, whose loss is +e or -e.

const FINENESS = 256n;
const ALL = 1n << FINENESS;

/** Most points of the losses of all answers; where the epsilons have no common unit with so few, losses are rounded up. */
const MOST_LOSSES = 1n << 14n;

/** Most answers whose delta is computed: the time grows with their square. More of them must add up. */
const MOST_TOGETHER = 1n << 10n;

const roundedUp = (n, d) => (n + d - 1n) / d;
const whole256 = (x) => x.numerator / x.denominator;

/** delta at `epsilon`: the mean of max(0, 1 - e^(epsilon - loss)), probabilities from above, exponentials from below. */
function deltaTogether(epsilons, epsilon) {
  const common = epsilons.reduce((all, one) => (all * one.denominator) / greatestCommonDivisor(all, one.denominator), 1n);
  const steps = epsilons.map((one) => whole256(one.times(new Fraction(common))));
  const exactUnit = new Fraction(steps.reduce((a, b) => greatestCommonDivisor(a, b)), common);
  const coarse = epsilons.reduce((sum, one) => sum.plus(one), ZERO).over(new Fraction(MOST_LOSSES));
  const unit = exactUnit.compare(coarse) >= 0 ? exactUnit : coarse;
  let [lowest, law] = [0n, [ALL]];
  for (const one of epsilons) {
    const inUnits = one.over(unit);
    const down = whole256(inUnits);
    law = withAnswer(law, one, Number(down + roundedUp(inUnits.numerator, inUnits.denominator)));
    lowest -= down;
  }
  let total = 0n;
  law.forEach((mass, k) => {
    const beyond = new Fraction(lowest + BigInt(k)).times(unit).minus(epsilon);
    if (mass > 0n && beyond.compare(ZERO) > 0) total += mass * (ALL - (ALL * ALL) / expBounds(beyond)[1]);
  });
  const found = new Fraction(total, ALL * ALL);
  return found.compare(ONE) > 0 ? ONE : found;
}

/** The probabilities of all sums of losses with one more answer, rounded up; the first is that of the lowest sum. */
function withAnswer(law, epsilon, width) {
  const [below, above] = expBounds(epsilon);
  const [risen, fallen] = [roundedUp(ALL * above, ALL + above), roundedUp(ALL * ALL, ALL + below)];
  const longer = [...law.map((mass) => mass * fallen), ...new Array(width).fill(0n)];
  law.forEach((mass, k) => (longer[k + width] += mass * risen));
  return longer.map((mass) => roundedUp(mass, ALL));
}

/** e^x from below and above, over 2^256, for x >= 0. */
function expBounds(x) {
  const spare = 64n;
  const [below, above] = expEnclosed(x, FINENESS + spare);
  return [below >> spare, (above >> spare) + 1n];
}
