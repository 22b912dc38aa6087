// What a passport claims of its weights, computed anew: losses under the uniform prior, properties in units of 2^-62,
// the tight epsilon, the value of the objective. None of it is about privacy; all of it is compared.

const CLAIMS_UP_TO = 1n << 20n;
const CLOSE = 1e-9;
const WRITTEN_FLOAT = /^[ \t\n\r]*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[ \t\n\r]*$/;
const OBJECTIVE = /^(average|worst) (.{1,200}?) loss( under the given prior)?(?: (?:subject to|after the least) .*)?$/u;
const NAMED_LOSS =
  /^(?:(absolute|squared|zero-one)|off by more than ([0-9]{1,40}(?:\/[0-9]{1,40})?)|power ([0-9]{1,3}(?:\/[0-9]{1,3})?))$/;
const LOSSES_ON_GRAPHS = ["distance", "euclidean"];

function readFloat(text) {
  const read = typeof text === "string" && text.length <= MOST_DIGITS && WRITTEN_FLOAT.test(text);
  insist(read, "a claimed number must be a number in text");
  return Number(text);
}

function isClose(claimed, computed) {
  return Math.abs(readFloat(claimed) - computed) <= CLOSE * Math.max(1, Math.abs(computed));
}

/** A law written out, with what is needed to measure it. */
class Measured {
  constructor(rows, query) {
    Object.assign(this, { rows, query, answers: rows[0].length, outputs: rows.length });
    this.common = commonDenominator(query.values, query.answers);
    [this.reported, this.truths] = onOneGrid(query.values, query.answers);
    this.homes = query.oneOutputPerAnswer ? this.truths.map((_, j) => j) : query.homes();
  }

  distance(i, j) {
    const found = this.reported[i] - this.truths[j];
    return found < 0n ? -found : found;
  }

  /** For every answer: the sum of weight · loss(i, j), for a loss in whole numbers. */
  expected(loss) {
    return this.truths.map((_, j) => this.rows.reduce((sum, row, i) => sum + row[j] * loss(i, j), 0n));
  }

  /** Expected losses as floats, one for each answer, by the name of the loss. */
  losses(name, parameter) {
    const { common } = this;
    if (name === "absolute") return this.scaled(this.expected((i, j) => this.distance(i, j)), common);
    if (name === "squared") return this.scaled(this.expected((i, j) => this.distance(i, j) ** 2n), common * common);
    const missed = (i, j) => i !== this.homes[j] && this.distance(i, j) !== 0n;
    if (name === "zero-one") return this.scaled(this.expected((i, j) => (missed(i, j) ? 1n : 0n)), 1n);
    if (name === "off by more than") {
      const most = parameter.numerator * common;
      const off = (i, j) => (this.distance(i, j) * parameter.denominator > most ? 1n : 0n);
      return this.scaled(this.expected(off), 1n);
    }
    const exponent = parameter.approximate;
    const size = (i, j) => approximateRatio(this.distance(i, j), common) ** exponent;
    return this.truths.map((_, j) =>
      this.rows.reduce((sum, row, i) => sum + (Number(row[j]) / Number(TOTAL)) * size(i, j), 0),
    );
  }

  /** Expected losses by a table of outputs × answers. */
  tableLosses(table) {
    return this.truths.map((_, j) => this.rows.reduce((sum, row, i) => sum + (Number(row[j]) / Number(TOTAL)) * table[i][j], 0));
  }

  scaled(sums, common) {
    return sums.map((sum) => approximateRatio(sum, TOTAL * common));
  }

  average(name, parameter) {
    return this.losses(name, parameter).reduce((sum, loss) => sum + loss, 0) / this.answers;
  }

  /** The largest violation of each property, by its name. */
  properties() {
    const names = ["row_honest", "column_honest", "fair", "weakly_honest"];
    if (this.query.ordered) names.push("row_monotone", "column_monotone");
    if (this.query.ordered && this.mirrors) names.push("symmetric");
    return new Map(names.map((name) => [name, this.violation(PROPERTIES[name])]));
  }

  /** Pairs that must rise, [lesser, greater]: by how much they do not. */
  violation(pairs) {
    let worst = 0n;
    for (const [lesser, greater] of pairs(this)) if (lesser - greater > worst) worst = lesser - greater;
    return worst.toString();
  }

  /** How many answers are at or below the upper edge of each cell, and how many lie below the lower edge. */
  get edges() {
    if (this.query.oneOutputPerAnswer) return this.truths.map((_, i) => ({ below: i + 1, above: i }));
    const [answers, lowers, uppers] = onOneGrid(this.query.answers, this.query.lowers, this.query.uppers);
    return uppers.map((upper, i) => ({
      below: answers.filter((answer) => answer <= upper).length,
      above: answers.filter((answer) => answer < lowers[i]).length,
    }));
  }

  get mirrors() {
    const { homes, outputs, answers, edges } = this;
    const turned = homes.every((home, j) => homes[answers - 1 - j] === outputs - 1 - home);
    return turned && edges.every(({ above }, i) => edges[outputs - 1 - i].below === answers - above);
  }

  truth(j) {
    return this.rows[this.homes[j]][j];
  }

  /** The largest logarithm of a ratio between neighbours, over their distance. */
  tightEpsilon() {
    const { query, rows } = this;
    if (query.graph !== null) return query.graph.tightEpsilon(rows);
    let tight = 0;
    const take = (high, low, distance) => {
      if (high === 0n) return;
      const size = low === 0n ? Infinity : Math.log1p(approximateRatio(high - low, low));
      tight = Math.max(tight, size / distance);
    };
    if (query.metric === null) {
      const stops = query.stops();
      for (const row of rows) for (const [high, low] of extremesOfRuns(row, stops)) take(row[high], row[low], 1);
      return tight;
    }
    for (let j = 0; j + 1 < this.answers; j++) {
      const gap = new Fraction(query.answers.tick(j + 1) - query.answers.tick(j)).times(query.answers.unit);
      const distance = gap.over(query.metric).approximate;
      for (const row of rows) take(...(row[j] > row[j + 1] ? [row[j], row[j + 1]] : [row[j + 1], row[j]]), distance);
    }
    return tight;
  }
}

/** For every property the pairs [lesser, greater] that it demands. */
const PROPERTIES = {
  *row_honest(m) {
    for (let j = 0; j < m.answers; j++) for (const weight of m.rows[m.homes[j]]) yield [weight, m.truth(j)];
  },
  *column_honest(m) {
    for (let j = 0; j < m.answers; j++) for (const row of m.rows) yield [row[j], m.truth(j)];
  },
  *row_monotone(m) {
    const { edges } = m;
    for (let i = 0; i < m.outputs; i++)
      for (let j = 0; j + 1 < m.answers; j++) {
        if (j + 1 < edges[i].below) yield [m.rows[i][j], m.rows[i][j + 1]];
        if (j >= edges[i].above) yield [m.rows[i][j + 1], m.rows[i][j]];
      }
  },
  *column_monotone(m) {
    for (let i = 0; i + 1 < m.outputs; i++)
      for (let j = 0; j < m.answers; j++)
        yield i < m.homes[j] ? [m.rows[i][j], m.rows[i + 1][j]] : [m.rows[i + 1][j], m.rows[i][j]];
  },
  *fair(m) {
    for (let j = 0; j + 1 < m.answers; j++) {
      yield [m.truth(j), m.truth(j + 1)];
      yield [m.truth(j + 1), m.truth(j)];
    }
  },
  *weakly_honest(m) {
    const least = (TOTAL + BigInt(m.outputs) - 1n) / BigInt(m.outputs);
    for (let j = 0; j < m.answers; j++) yield [least, m.truth(j)];
  },
  *symmetric(m) {
    for (let i = 0; i < m.outputs; i++)
      for (let j = 0; j < m.answers; j++) yield [m.rows[m.outputs - 1 - i][m.answers - 1 - j], m.rows[i][j]];
  },
};

/** Two weights are measured in steps, so that nothing is claimed of them where numbers have gaps. */
function hasNoLosses(query, noise) {
  return noise instanceof TwoWeights && query.ordered && !query.answers.regular;
}

/** Refuse claims that do not follow from the weights. */
function checkClaims(claims, measured, epsilon, noise) {
  const wrong = "the stated losses or properties differ from those computed from the weights";
  const parts = ["losses", "properties", "effective_epsilon"];
  insist(claims instanceof Map && claims.size === parts.length && parts.every((name) => claims.has(name)), wrong);
  const { query } = measured;
  const silent = hasNoLosses(query, noise);
  const names = silent ? [] : query.ordered ? ["absolute", "squared", "zero-one"] : ["zero-one"];
  const losses = claims.get("losses");
  insist(losses instanceof Map && losses.size === names.length, wrong);
  for (const name of names) insist(losses.has(name) && isClose(losses.get(name), measured.average(name)), wrong);
  const [properties, computed] = [claims.get("properties"), silent ? new Map() : measured.properties()];
  insist(properties instanceof Map && properties.size === computed.size, wrong);
  for (const [name, units] of computed) insist(properties.get(name) === units, wrong);
  const most = epsilon.approximate;
  const tight = noise instanceof PlaneNoise ? noise.tightEpsilon(query) : noise instanceof Noise ? most : measured.tightEpsilon();
  insist(isClose(claims.get("effective_epsilon"), Math.min(tight, most)), wrong);
}

/** Refuse a value of the objective that does not follow from the weights; say what is left to belief. */
function checkOptimality(part, measured, query, noise) {
  if (part === null) return [];
  const objective = readLine(field(part, "objective"));
  const [value, bound] = ["value", "bound"].map((name) => readFloat(field(part, name)));
  insist(Number.isFinite(value) && Number.isFinite(bound), "an objective and its bound must be finite");
  const [table, prior] = [readLossTable(part, query), readPrior(part, query)];
  const words = wordsOf(objective);
  const saysLoss = words === null ? table === null && prior === null : (table === null) === words.known || noise !== null;
  const saysPrior = prior === null || (words !== null && words.prior);
  insist(saysLoss && saysPrior, "the objective must have a loss with a name, or the passport its table, and not both");
  insist(bound <= value, "the value of the objective does not follow from the weights");
  const bounded = `that no private mechanism with what was asked for has a lower ${objective} than ${bound}`;
  const said = words !== null && words.prior === (prior !== null) && (table !== null || words.loss !== null);
  const measurable = query.ordered && !hasNoLosses(query, noise);
  const meant = table === null ? measurable || words?.loss === "zero-one" : noise === null || noise instanceof Noise;
  insist(!said || meant, "the loss of the objective must be one that these answers have");
  if (!said || measured === null) return [`that its ${objective} is ${value}`, bounded];
  const losses = table === null ? measured.losses(words.loss, words.parameter) : measured.tableLosses(table);
  const weights = prior ?? losses.map(() => 1 / losses.length);
  const average = losses.reduce((sum, loss, j) => sum + loss * weights[j], 0);
  const found = words.aim === "average" ? average : losses.reduce((a, b) => Math.max(a, b));
  const same = Math.abs(found - value) <= CLOSE * Math.max(1, Math.abs(value));
  insist(same, "the value of the objective does not follow from the weights");
  return [bounded];
}

/** What the words of an objective mean; null where they are not ours. known: the name says how the loss is computed. */
function wordsOf(objective) {
  const found = OBJECTIVE.exec(objective);
  if (found === null || (found[3] !== undefined && found[1] === "worst")) return null;
  const [aim, prior, named] = [found[1], found[3] !== undefined, NAMED_LOSS.exec(found[2])];
  if (named === null) return { aim, prior, known: LOSSES_ON_GRAPHS.includes(found[2]), loss: null, parameter: null };
  const [, name, distance, power] = named;
  const loss = name ?? (distance === undefined ? "power" : "off by more than");
  const parameter = name === undefined ? Fraction.read(distance ?? power) : null;
  insist(loss !== "power" || parameter.compare(ZERO) > 0, "the power of a loss must be positive");
  return { aim, prior, known: true, loss, parameter };
}

function readFloats(text, count) {
  const numbers = typeof text === "string" ? text.split(" ").map(readFloat) : [];
  const whole = BigInt(numbers.length) === count && numbers.every(Number.isFinite);
  insist(whole, "a loss table and a prior must have one finite number for each answer");
  return numbers;
}

function readLossTable(part, query) {
  if (!part.has("loss")) return null;
  const rows = part.get("loss");
  insist(Array.isArray(rows) && BigInt(rows.length) === query.outputs, "a loss table must have a row for each output");
  return rows.map((row) => readFloats(row, query.answers.size));
}

function readPrior(part, query) {
  if (!part.has("prior")) return null;
  const prior = readFloats(part.get("prior"), query.answers.size);
  const sum = prior.reduce((all, weight) => all + weight, 0);
  insist(prior.every((weight) => weight >= 0) && Math.abs(sum - 1) <= CLOSE, "a prior must have weights that sum to 1");
  return prior;
}
