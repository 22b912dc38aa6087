// Noise on a map. A map has rows × columns cells in reading order; t[a, b] is the weight of moving a rows down and b
// columns to the right. The output for a cell is cell + noise, moved to the nearest cell of the map. Whatever the answer
// is, every cell has the weight u besides, and the first cell what is left of 2^62. A remap may then rename the output.
//
// What leads to a cell is a rectangle of noise. Along the rows: a cell in the first row gathers all steps from the
// outermost up to its own, one in the last row all from its own on, any other its own alone; the same along the columns.
// So the weight of a cell of one kind depends on the step from the answer to it, and two answers that are a move apart
// see it at two steps that are a move apart. All such pairs of steps that occur on the map are compared.

const MOST_MOVES = 512;

/** Where along one axis of so many lines a cell may lie: the steps from an answer to it, and those that lead to it. */
function placesAlong(lines) {
  const most = lines - 1;
  const first = { least: -most, most: 0, gathers: (step) => [-most, step] };
  const last = { least: 0, most, gathers: (step) => [step, most] };
  const between = { least: 1 - most, most: most - 1, gathers: (step) => [step, step] };
  return lines > 2 ? [first, between, last] : [first, last];
}

class PlaneNoise {
  constructor(part) {
    this.table = readMatrix(field(part, "table"));
    this.anywhere = readWhole(field(part, "anywhere"));
    const remap = field(part, "remap");
    this.remap = remap === null ? null : readWholes(remap);
    [this.rows, this.columns] = [this.table.length, this.table[0].length].map((length) => (length >> 1) + 1);
    Object.freeze(this);
  }

  get cells() {
    return this.rows * this.columns;
  }

  /** What the first cell has besides, whatever the answer is. */
  get rest() {
    let sum = BigInt(this.cells) * this.anywhere;
    for (const row of this.table) for (const weight of row) sum += weight;
    return TOTAL - sum;
  }

  check(query, epsilon) {
    this.refuseOtherForms(query);
    const moves = this.moves(query);
    const kinds = placesAlong(this.rows).flatMap((down) => placesAlong(this.columns).map((right) => ({ down, right })));
    const steps = ({ down, right }) => (down.most - down.least + 1) * (right.most - right.least + 1);
    if (moves.length * kinds.reduce((sum, kind) => sum + steps(kind), 0) > MOST_COMPARISONS)
      throw new Unjudged("this page has no verdict on a map with so many cells times moves; use inbounds verify");
    const [corners, nearest] = [this.cornerSums(), new Nearest()];
    for (const kind of kinds) {
      const weights = this.weightsOf(kind, corners);
      for (const move of moves) this.checkMove(kind, weights, move, ratioAllowed(epsilon.times(move.length)), nearest);
    }
    return nearest.found;
  }

  refuseOtherForms(query) {
    const { table, remap } = this;
    const odd = table.length % 2 === 1 && table[0].length % 2 === 1;
    insist(odd, "a table of noise on a map must have steps from -K to K each way");
    const named = query.graph !== null && query.labels !== null && query.oneOutputPerAnswer;
    insist(named, "noise on a map needs named cells on a graph, each an output of its own");
    insist(BigInt(this.cells) === query.answers.size, "a map must have as many cells as there are answers");
    if (remap !== null) {
      const targets = remap.length === this.cells && remap.every((cell) => cell < BigInt(this.cells));
      insist(targets, "a remap must name a cell for every cell of the map");
    }
    const { rest } = this;
    insist(rest >= 0n, `weights must sum to at most 2^62, they exceed it by ${-rest}`);
  }

  /** The different moves from the tail of an edge to its head, each with the length of its shortest edge. */
  moves(query) {
    const [found, place] = [new Map(), (cell) => [Math.floor(cell / this.columns), cell % this.columns]];
    for (const { length, tail, head } of query.graph.edges()) {
      const [from, to] = [place(tail), place(head)];
      const [down, right] = [to[0] - from[0], to[1] - from[1]];
      const name = `${down} ${right}`;
      const known = found.get(name)?.length;
      if (known === undefined || (length !== known && length.compare(known) < 0)) found.set(name, { down, right, length });
      insist(found.size <= MOST_MOVES, `noise on a map must serve at most ${MOST_MOVES} kinds of edges`);
    }
    return [...found.values()];
  }

  /** corners[y][x]: the sum of the first y rows and x columns of the table. Any rectangle is four of them. */
  cornerSums() {
    const corners = [new Array(this.table[0].length + 1).fill(0n)];
    for (const row of this.table) {
      const [above, sums] = [corners[corners.length - 1], [0n]];
      let along = 0n;
      row.forEach((weight, x) => {
        along += weight;
        sums.push(above[x + 1] + along);
      });
      corners.push(sums);
    }
    return corners;
  }

  /** weights[a - least][b - least]: the weight of a cell of this kind that is the step (a, b) away from the answer. */
  weightsOf({ down, right }, corners) {
    const [y0, x0] = [this.rows - 1, this.columns - 1];
    const steps = ({ least, most }) => Array.from({ length: most - least + 1 }, (_, k) => least + k);
    return steps(down).map((a) => {
      const [top, bottom] = down.gathers(a).map((step) => step + y0);
      return steps(right).map((b) => {
        const [left, end] = right.gathers(b).map((step) => step + x0);
        const inside = corners[bottom + 1][end + 1] - corners[top][end + 1] - corners[bottom + 1][left] + corners[top][left];
        return inside + this.anywhere;
      });
    });
  }

  /** A cell that is the step (a, b) away from the tail of an edge is (a, b) minus the move away from its head. */
  checkMove({ down, right }, weights, move, p, nearest) {
    for (let y = Math.max(move.down, 0); y < weights.length + Math.min(move.down, 0); y++) {
      const [highs, lows] = [weights[y], weights[y - move.down]];
      for (let x = Math.max(move.right, 0); x < highs.length + Math.min(move.right, 0); x++)
        nearest.compare(highs[x], lows[x - move.right], p, () => ({
          subject: `a cell ${y + down.least} down and ${x + right.least} to the right of the true one`,
          circumstance: `than from a cell ${move.down} down and ${move.right} to the right`,
        }));
    }
  }

  /** The largest logarithm of a ratio along a move, over its length, before any remap. For people to read. */
  tightEpsilon(query) {
    let tight = 0;
    const corners = this.cornerSums();
    const moves = this.moves(query);
    for (const down of placesAlong(this.rows))
      for (const right of placesAlong(this.columns)) {
        const weights = this.weightsOf({ down, right }, corners);
        for (const move of moves) {
          const taken = { compare: (high, low) => (tight = Math.max(tight, logarithmOver(high, low, move.length))) };
          this.checkMove({ down, right }, weights, move, 0n, taken);
        }
      }
    return tight;
  }

  canBeWrittenOut(query) {
    const fits = BigInt(this.cells) === query.answers.size && this.table.length % 2 === 1 && this.table[0].length % 2 === 1;
    return fits && (this.remap === null || (this.remap.length === this.cells && this.remap.every((cell) => cell < BigInt(this.cells))));
  }

  /** The law written out by its definition, outputs × answers. */
  matrix() {
    const { rows, columns, cells, table, rest } = this;
    const law = Array.from({ length: cells }, () => new BigUint64Array(cells));
    const target = (cell) => law[this.remap === null ? cell : Number(this.remap[cell])];
    const moved = (line, step, lines) => Math.min(Math.max(line + step, 0), lines - 1);
    for (let j = 0; j < cells; j++) {
      const [y, x] = [Math.floor(j / columns), j % columns];
      table.forEach((row, a) =>
        row.forEach((weight, b) => {
          target(moved(y, a - rows + 1, rows) * columns + moved(x, b - columns + 1, columns))[j] += weight;
        }),
      );
      for (let cell = 0; cell < cells; cell++) target(cell)[j] += this.anywhere;
      target(0)[j] += rest;
    }
    return law;
  }

  proved(query) {
    return [
      `the noise weights, the weight that each of ${this.cells} cells has anyway, and the rest are not negative and sum to 2^62`,
      `for each of ${this.moves(query).length} moves along edges, any two noise weights that far apart, and any two sums of all `
        + "beyond a side or a corner of the map, are within the ratio of the move's shortest edge",
      "along a path the ratios multiply and the lengths add up; renaming looks at the noisy cell alone",
    ];
  }
}

function logarithmOver(high, low, length) {
  return high > low ? Math.log1p(approximateRatio(high - low, low)) / length.approximate : 0;
}
