// The published table: read from its file, recomputed from the draws where that takes no estimate, and held to its sums.

const PARQUET = [0x50, 0x41, 0x52, 0x31];
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
/** Stands for a cell that is an estimate, and is compared with what the draws give up to small differences. */
const ESTIMATE = Symbol("estimate");
/** The largest difference of an estimate, as a part of its range: sums of floats differ in their last digits. */
const NEAR = 1e-6;
const NUMBER_TEXT = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** Head and rows of a CSV file, or of JSON rows; null for a Parquet file, which this page cannot read. */
function readTable(bytes, name) {
  if (PARQUET.every((byte, k) => bytes[k] === byte)) return null;
  const text = textOf(bytes);
  insist(text !== null, `the table ${name} is not UTF-8 text`);
  if (name.toLowerCase().endsWith(".json")) return readJsonTable(text);
  const [head, ...rows] = readCsv(text);
  insist(new Set(head).size === head.length, "no two columns of the table may have the same name");
  insist(rows.every((row) => row.length === head.length), "every row of the table must have all columns");
  return { head, rows, written: true };
}

function readJsonTable(text) {
  const listed = JsonReader.read(text);
  insist(Array.isArray(listed) && listed.every((row) => row instanceof Map), "the table must have rows");
  if (listed.length === 0) return { head: [], rows: [], written: false };
  const head = [...listed[0].keys()];
  const same = listed.every((row) => canonical([...row.keys()]) === canonical(head));
  insist(same, "the rows of the table must have the same columns");
  return { head, rows: listed.map((row) => [...row.values()]), written: false };
}

/** RFC 4180: fields in quotation marks may hold commas, line breaks and doubled quotation marks. */
function readCsv(text) {
  const rows = [];
  let [row, value, place] = [[], "", 0];
  const end = () => {
    row.push(value);
    value = "";
  };
  while (place < text.length) {
    const one = text[place];
    if (one === '"' && value === "") {
      place += 1;
      for (;;) {
        const stop = text.indexOf('"', place);
        insist(stop >= 0, "a quotation mark of the table is never closed");
        value += text.slice(place, stop);
        place = stop + 1;
        if (text[place] !== '"') break;
        value += '"';
        place += 1;
      }
      insist(place === text.length || ",\n\r".includes(text[place]), "a field of the table goes on behind its quotation marks");
    } else if (one === ",") {
      end();
      place += 1;
    } else if (one === "\n" || one === "\r") {
      end();
      rows.push(row);
      row = [];
      place += text.startsWith("\r\n", place) ? 2 : 1;
    } else {
      const stop = text.slice(place).search(/[,\n\r"]/);
      insist(stop !== 0, "a quotation mark stands within a field of the table");
      value += stop < 0 ? text.slice(place) : text.slice(place, place + stop);
      place = stop < 0 ? text.length : place + stop;
    }
  }
  if (value !== "" || row.length > 0) {
    end();
    rows.push(row);
  }
  return rows;
}

/** A cell as a CSV file has it; a text that a spreadsheet would take for a formula has an apostrophe before it. */
function spelledCell(cell) {
  if (cell === null) return "";
  if (typeof cell === "string") return FORMULA.test(cell) && !NUMBER_TEXT.test(cell) ? `'${cell}` : cell;
  return cell instanceof Float ? floatText(cell.value) : String(cell);
}

function sameCell(published, expected, written) {
  if (written) return published === spelledCell(expected);
  if (expected instanceof Float) return published instanceof Float && published.value === expected.value;
  return published === expected;
}

const toFloat = (fraction) => Number(fraction.numerator) / Number(fraction.denominator);

/** Whole numbers in a common unit, and one division: as the table has its numbers. */
function gridFloat({ start, unit }, position) {
  const common = (start.denominator / greatestCommonDivisor(start.denominator, unit.denominator)) * unit.denominator;
  const [first, step] = [start, unit].map((part) => part.numerator * (common / part.denominator));
  return (Number(first) + Number(step) * Number(position)) / Number(common);
}

// --- the columns that every row of a plan has -------------------------------------------------------------------

function publicColumns({ plan, groups, tree }) {
  const found = [];
  const size = plan.get("sizes") === "public" ? "group_size" : "group_maximum";
  const by = plan.get("by");
  if (tree !== null) {
    const rows = [...tree.keys].reverse().flat();
    found.push(["level", rows.map((key) => tree.levels[key.length - 1])]);
    for (const name of by) {
      const depth = tree.levels.indexOf(name);
      found.push([name, rows.map((key) => key[depth] ?? null)]);
    }
    if (!by.includes(size)) found.push([size, [...tree.people].reverse().flat()]);
    return found;
  }
  by.forEach((name, k) => found.push([name, groups.keys.map((key) => key[k])]));
  if (new Set(groups.sizes).size > 1 && !by.includes(size)) found.push([size, groups.sizes]);
  return found;
}

/** The columns of a statistic's answers and margins. */
function publishedNames(statistic, plan) {
  const layers = optional(statistic, "margins", []).map((margin) => LAYERS_OF_CELLS[crossedNames(statistic).indexOf(margin)]);
  return [...cellNames(statistic, plan), ...layers.flatMap((layer) => marginNames(statistic, plan, layer))];
}

/** Every column of the table in order, each with what it holds: numbers, an error, or the ends of intervals. */
function expectedColumns(release) {
  const { plan, costs } = release;
  const found = publicColumns(release).map(([name]) => ({ name, part: "public" }));
  for (const { statistic } of costs) {
    const names = publishedNames(statistic, plan);
    const interval = plan.get("credible_level") !== null && statistic.get("kind") !== "mode";
    found.push(...[...names, ...drawnParts(statistic, plan)].map((name) => ({ name, part: "number" })));
    if (sharesOf(statistic).length > 1) {
      const ends = interval ? ["error", "low", "high"] : ["error"];
      found.push(...names.flatMap((name) => ends.map((end) => ({ name: `${name}_${end}`, part: end === "error" ? end : "interval" }))));
      continue;
    }
    found.push({ name: `${statistic.get("name")}_error`, part: "error", statistic });
    if (interval) for (const name of names) found.push(...["low", "high"].map((end) => ({ name: `${name}_${end}`, part: "interval" })));
  }
  return found;
}

// --- what follows from the draws --------------------------------------------------------------------------------

/** Outputs as they are published: quantiles of one column that were drawn one by one are put in order in each group. */
function inOrder({ costs, outputs }) {
  const found = new Map(outputs);
  const columns = new Map();
  for (const { statistic } of costs)
    if (statistic.get("kind") === "quantile" && sharesOf(statistic).length === 1) columns.set(statistic.get("column"), [...(columns.get(statistic.get("column")) ?? []), statistic]);
  for (const members of columns.values()) {
    const sorted = [...members].sort((a, b) => Fraction.read(a.get("at")).compare(Fraction.read(b.get("at"))));
    const names = sorted.map((statistic) => statistic.get("name"));
    const count = outputs.get(names[0]).length;
    const rising = Array.from({ length: count }, (_, k) =>
      names.map((name) => outputs.get(name)[k]).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    );
    names.forEach((name, n) => found.set(name, rising.map((group) => group[n])));
  }
  return found;
}

/** All columns whose cells follow from the draws without an estimate; empty above the groups of a hierarchy. */
function drawnColumns(release) {
  const { plan, groups, tree, costs, rows } = release;
  const above = new Array(rows - groups.sizes.length).fill(null);
  const outputs = inOrder(release);
  const found = [];
  for (const cost of costs) {
    const { statistic, addsUp, records } = cost;
    if (addsUp) continue;
    const parts = drawnParts(statistic, plan);
    const [sizes, before] = [drawnSizes(cost, groups, tree), cost.ofLevels ? [] : above];
    if (parts.length > 0) {
      const drawn = parts.map((part) => outputs.get(part));
      const own = plan.get("sizes") === "public" ? rootsOf(valuesOf(statistic, plan, sizes, records, drawn[0])) : computedOf(statistic, plan, drawn);
      found.push([statistic.get("name"), [...before.map(() => ESTIMATE), ...own]]);
    }
    const names = parts.length > 0 ? parts : cellNames(statistic, plan);
    if (optional(statistic, "sum_to_size", false)) {
      const isPublic = plan.get("sizes") === "public";
      const summed = groups.sizes.map((size, k) => summingTo(names.map((name) => outputs.get(name)[k]), size, isPublic));
      names.forEach((name, n) => found.push([name, [...above, ...summed.map((cells) => cells[n])]]));
      continue;
    }
    for (const name of names) found.push([name, [...before, ...valuesOf(statistic, plan, sizes, records, outputs.get(name))]]);
  }
  return found;
}

function valuesOf(statistic, plan, sizes, records, outputs) {
  if (statistic.get("kind") === "mode") return outputs.map((k) => columnOf(plan, statistic.get("column")).labels[Number(k)]);
  const grids = new Map();
  for (const size of sizes) if (!grids.has(size)) grids.set(size, requiredQuery(statistic, plan, size, records).grid);
  const isWhole = [...grids.values()].every(({ start, unit }) => start.denominator === 1n && unit.denominator === 1n);
  return outputs.map((position, k) => {
    const grid = grids.get(sizes[k]);
    return isWhole ? grid.start.numerator + grid.unit.numerator * position : new Float(gridFloat(grid, position));
  });
}

const rootsOf = (values) => values.map((one) => new Float(Math.sqrt(one instanceof Float ? one.value : Number(one))));

/** The number of every group of secret size, from the sums that were drawn of it. */
function computedOf(statistic, plan, drawn) {
  if (!SPREADS.includes(statistic.get("kind"))) return meansOf(statistic, plan, ...drawn);
  const { low, high } = numbersOf(plan, statistic);
  const width = toFloat(high.minus(low));
  const isRoot = statistic.get("kind") === "standard_deviation";
  return drawn[0].map((_, k) => {
    const share = spreadShare(...drawn.map((row) => Number(row[k])));
    return new Float(isRoot ? width * Math.sqrt(share) : width * width * share);
  });
}

/** (A·C - B²/4)/(A + B + C)², between 0 and 1/4; 0 where all are 0. */
function spreadShare(...sums) {
  const whole = sums.reduce((all, one) => all + one, 0);
  if (!(whole > 0)) return 0;
  const [a, b, c] = sums.map((one) => one / whole);
  return Math.min(Math.max(a * c - (b * b) / 4, 0), 0.25);
}

/** low + (high - low)·U/(U + V), within the bounds; `missing` where both sums are 0. */
function meansOf(statistic, plan, above, below) {
  const column = numbersOf(plan, statistic);
  const [low, high, missing] = [column.low, column.high, column.missing].map(toFloat);
  return above.map((u, k) => {
    const both = u + below[k];
    if (Number(both) === 0) return new Float(missing);
    return new Float(Math.min(Math.max(low + (high - low) * (Number(u) / Number(both)), low), high));
  });
}

/** The nearest cells that are not negative and sum to the size, or with a maximum to no more than it: the largest lose the
 *  same amount, rounded up, and the first of them get back what is then missing. */
function summingTo(cells, size, isPublic) {
  const sum = cells.reduce((all, cell) => all + cell, 0n);
  const total = isPublic ? size : least(sum, size);
  if (total === 0n) return cells.map(() => 0n);
  const falling = [...cells].sort((a, b) => (a > b ? -1 : a < b ? 1 : 0));
  let [kept, upto] = [0n, 0n];
  for (const cell of falling) {
    if ((kept + 1n) * cell <= upto + cell - total) break;
    [kept, upto] = [kept + 1n, upto + cell];
  }
  const excess = upto - total;
  const loss = excess > 0n ? (excess + kept - 1n) / kept : excess / kept;
  const found = cells.map((cell) => largest(cell - loss, 0n));
  let missing = total - found.reduce((all, cell) => all + cell, 0n);
  return found.map((cell, k) => {
    if (missing === 0n || kept * cells[k] <= excess) return cell;
    missing -= 1n;
    return cell + 1n;
  });
}

// --- sums that must hold ----------------------------------------------------------------------------------------

/** Published numbers as steps from the least possible one; refused off the grid or out of the range. */
function positionsOf({ statistic, kind }, plan, table, name, rows) {
  const { grid } = requiredQuery(statistic, plan, 1n);
  const common = (grid.start.denominator / greatestCommonDivisor(grid.start.denominator, grid.unit.denominator)) * grid.unit.denominator;
  const [start, unit] = [grid.start, grid.unit].map((part) => part.numerator * (common / part.denominator));
  const column = table.head.indexOf(name);
  return rows.map(([size, row]) => {
    const published = table.rows[row][column];
    const number = typeof published === "string" ? Number(published) : Number(published?.value ?? published);
    insist(published !== null && published !== "" && Number.isFinite(number), `${name} in row ${row + 1} is no number`);
    const people = kind.averages ? size : 1n;
    const steps = BigInt(Math.round((number * Number(people * common) - Number(size * start)) / Number(unit)));
    const exact = size * start + steps * unit;
    const expected = common === 1n && !kind.averages ? exact : new Float(Number(exact) / Number(common * people));
    const fits = sameCell(published, expected, table.written) && steps >= 0n && steps <= size * grid.last;
    insist(fits, `${name} in row ${row + 1} is not in its range`);
    return steps;
  });
}

function checkSums(release, cost, table) {
  const { plan, groups, tree, rows } = release;
  const { statistic, kind } = cost;
  const above = rows - groups.sizes.length;
  const sameSums = (found, expected) => found.every((sum, k) => sum === expected[k]);
  const added = (columns) => columns[0].map((_, k) => columns.reduce((sum, column) => sum + column[k], 0n));
  const checkSizes = (columns, sizes) => {
    const [how, sums] = [sumsOfCells(statistic, plan), added(columns)];
    if (how === "known") insist(sameSums(sums, sizes), `the cells of ${statistic.get("name")} do not sum to the sizes of the groups`);
    if (how === "most") insist(sums.every((sum, k) => sum <= sizes[k]), `the cells of ${statistic.get("name")} sum to more than the sizes of the groups`);
  };
  const names = cellNames(statistic, plan);
  if (kind.margins) {
    const places = groups.sizes.map((size, k) => [size, above + k]);
    const cells = new Map(publishedNames(statistic, plan).map((name) => [name, positionsOf(cost, plan, table, name, places)]));
    for (const name of cells.keys()) {
      const column = table.head.indexOf(name);
      const empty = table.rows.slice(0, above).every((row) => sameCell(row[column], null, table.written));
      insist(empty, `${name} must be empty above the groups`);
    }
    const [down, across] = crossedNames(statistic).map((name) => columnOf(plan, name).labels.length);
    for (const margin of statistic.get("margins")) {
      const layer = LAYERS_OF_CELLS[crossedNames(statistic).indexOf(margin)];
      marginNames(statistic, plan, layer).forEach((name, n) => {
        const members = names.filter((_, k) => (layer === "rows" ? Math.floor(k / across) : k % across) === n);
        insist(members.length === (layer === "rows" ? across : down), WRONG_PLAN);
        insist(sameSums(added(members.map((one) => cells.get(one))), cells.get(name)), `${name} is not the sum of its cells`);
      });
    }
    checkSizes(names.map((name) => cells.get(name)), groups.sizes);
    return;
  }
  let [first, below] = [rows, null];
  tree.people.forEach((people, level) => {
    first -= people.length;
    const places = people.map((size, k) => [size, first + k]);
    const own = names.map((name) => positionsOf(cost, plan, table, name, places));
    if (level > 0)
      own.forEach((column, n) => {
        const sums = summedBy(below[n], tree.parents[level - 1], people.length);
        insist(sameSums(sums, column), `${names[n]} of a ${tree.levels[tree.levels.length - 1 - level]} is not the sum of its parts`);
      });
    checkSizes(own, people);
    below = own;
  });
}

/** Numbers above the groups, from the sums drawn of their groups, highest level first. A draw at an end of its range is read
 *  farther out by what geometric noise has beyond the end on average: with a falling to a for each step, a/(1 - a). */
function pooledNumbers({ plan, groups, tree, outputs }, { statistic, layers }) {
  const falls = Math.exp(-toFloat(layers[0][1]) / Number(requiredQuery(statistic, plan, groups.sizes[0]).apart));
  const last = groups.sizes.map((size) => requiredQuery(statistic, plan, size).grid.last);
  const read = (drawn, k) => Number(drawn) + (falls / (1 - falls)) * (Number(drawn === last[k]) - Number(drawn === 0n));
  let sums = drawnParts(statistic, plan).map((part) => outputs.get(part).map(read));
  const found = [];
  tree.parents.forEach((parents, level) => {
    sums = sums.map((values) => {
      const added = new Array(tree.keys[level + 1].length).fill(0);
      values.forEach((value, k) => (added[parents[k]] += value));
      return added;
    });
    const cut = sums.map((row) => row.map((one) => Math.max(one, 0)));
    found.unshift(...computedOf(statistic, plan, cut).map((one) => one.value));
  });
  return found;
}

/** The least and the largest number that a statistic can be. */
function endsOf(plan, statistic) {
  const { low, high } = numbersOf(plan, statistic);
  const half = toFloat(high.minus(low)) / 2;
  const most = { variance: half * half, standard_deviation: half }[statistic.get("kind")];
  return most === undefined ? [toFloat(low), toFloat(high)] : [0, most];
}

function checkPooled(release, cost, table) {
  const { plan, tree } = release;
  if (tree === null) return;
  const [low, high] = endsOf(plan, cost.statistic);
  const name = cost.statistic.get("name");
  const column = table.head.indexOf(name);
  pooledNumbers(release, cost).forEach((mean, k) => {
    const published = table.rows[k][column];
    const number = typeof published === "string" ? Number(published) : Number(published?.value ?? NaN);
    insist(published !== "" && number >= low && number <= high, `${name} in row ${k + 1} is not in its range`);
    insist(Math.abs(number - mean) <= NEAR * (high - low), `${name} in row ${k + 1} is not what the draws of its groups give`);
  });
}

// --- the whole table --------------------------------------------------------------------------------------------

/** Refuse a table that does not follow from the draws. Returns the names of the columns that were not recomputed here. */
function checkCells(release, table, errors) {
  const columns = expectedColumns(release);
  const head = columns.map(({ name }) => (table.written ? spelledCell(name) : name));
  const nameless = !table.written && table.rows.length === 0; // JSON without rows has no names of columns
  insist(nameless || canonical(table.head) === canonical(head), "the table does not have the columns of its plan, in order");
  insist(table.rows.length === release.rows, "the table does not have a row for each of the plan's groups");
  const named = { ...table, head: columns.map(({ name }) => name) };
  const known = new Map([...publicColumns(release), ...drawnColumns(release), ...errorColumns(release, errors)]);
  for (const [name, cells] of known) {
    const column = named.head.indexOf(name);
    cells.forEach((cell, row) => {
      const same = cell === ESTIMATE || sameCell(named.rows[row][column], cell, named.written);
      insist(same, `${name} in row ${row + 1} is not what its draw gives`);
    });
  }
  for (const cost of release.costs) {
    if (cost.addsUp) checkSums(release, cost, named);
    else if (drawnParts(cost.statistic, release.plan).length > 0 && !cost.ofLevels) checkPooled(release, cost, named);
  }
  return columns.filter(({ name, part }) => !known.has(name) && part !== "public").map(({ name }) => name);
}

/** Columns of expected errors, of the statistics for which the passports given tell them. errors: by statistic, layer and size. */
function errorColumns(release, errors) {
  const { plan, groups, tree, costs, rows } = release;
  const above = new Array(rows - groups.sizes.length).fill(null);
  const found = [];
  for (const { statistic, addsUp, ofLevels, layers } of costs) {
    const own = errors.get(statistic.get("name"));
    if (addsUp || own === undefined || drawnParts(statistic, plan).length > 0) continue;
    const levels = ofLevels ? tree.people : [groups.sizes];
    const errorOf = (level) => (size) => own.get(`${layers[level][0]}: ${size}`) ?? own.get(`${layers[level][0]}: all`);
    const cells = levels.map((sizes, level) => sizes.map(errorOf(level))).reverse().flat();
    if (cells.every((cell) => cell !== undefined)) found.push([`${statistic.get("name")}_error`, [...(ofLevels ? [] : above), ...cells.map((error) => new Float(error))]]);
  }
  return found;
}
