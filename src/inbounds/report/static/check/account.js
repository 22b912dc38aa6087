// The record by itself: groups, account, mechanisms and draws must be those that the plan requires.

const LAYERS_OF_CELLS = ["rows", "columns"];

/** The level of all groups together, above the columns that name a group. */
const GRAND = "all";

/** Groups, account, lines and draws of a record, each held to the others. */
function readRelease(content) {
  const plan = content.get("plan");
  for (const name of plan.get("columns").keys()) columnOf(plan, name);
  const groups = readGroups(content, plan);
  const tree = plan.has("hierarchy") ? readTree(plan, groups) : null;
  checkDelta(plan, groups.sizes);
  checkStatistics(plan, groups.sizes);
  const costs = readAccount(content, plan, groups);
  const lines = costs.flatMap((cost) => requiredLines(cost, plan, groups, tree));
  checkLines(content.get("mechanisms"), lines);
  const outputs = readDraws(content, costs, plan, groups, tree);
  checkReports(content, costs, plan, groups, tree);
  const rows = tree === null ? groups.sizes.length : tree.keys.reduce((sum, nodes) => sum + nodes.length, 0);
  return { plan, groups, tree, costs, lines, outputs, rows };
}

// --- groups -----------------------------------------------------------------------------------------------------

/** The value that a key stands for, by the type of its column; keys of one value match the same records. */
const KEY_VALUES = {
  text: (key) => (/^(true|false)$/i.test(key) ? key.toLowerCase() : /^-?[0-9]+[.]0$/.test(key) ? key.slice(0, -2) : key),
  number: (key) => {
    insist(/^-?[0-9]{1,19}$/.test(key.trim()), "a key of a column of numbers must be a whole number");
    const value = BigInt(key.trim());
    insist(sizeOf(value) < 1n << 63n, "a key of a column of numbers must have at most 64 bits");
    return String(value);
  },
  boolean: (key) => {
    insist(/^(true|false)$/i.test(key.trim()), "a key of a column of booleans must be true or false");
    return key.trim().toLowerCase();
  },
  date: (key) => dayOf(key),
  time: (key) => dayOf(key),
};
const PERIOD_FORMS = { day: /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, month: /^[0-9]{4}-(0[1-9]|1[0-2])$/, quarter: /^[0-9]{4}-Q[1-4]$/, year: /^[0-9]{4}$/ };

function dayOf(key) {
  const found = /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]00:00(?::00(?:[.]0+)?)?)?$/.exec(key.trim());
  const [year, month, day] = (found ?? []).slice(1).map(Number);
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  const exists = found !== null && year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
  insist(exists, "a key of a column of dates must be a date such as 2024-01-31");
  return `${found[1]}-${found[2]}-${found[3]}`;
}

/** A text as it is read in its column: with cases ignored, or without spaces at its ends, if the plan says so. */
function spell(column, text) {
  const trimmed = optional(column, "trim", false) ? text.replace(/\s/g, " ").trim() : text;
  return optional(column, "ignore_case", false) ? trimmed.toLowerCase() : trimmed;
}

/** What a group's key stands for, column by column. */
function keyValues(plan, types) {
  const [by, missingKey, periods] = [plan.get("by"), optional(plan, "missing_key", ""), optional(plan, "period", new Map())];
  insist(types.size === by.length && by.every((name) => types.has(name)), "the groups must state the type of each column of `by`");
  insist([...types.values()].every((type) => Object.hasOwn(KEY_VALUES, type)), "the column of a key must be text, number, boolean, date or time");
  for (const [name, period] of periods) {
    const dated = by.includes(name) && Object.hasOwn(PERIOD_FORMS, period) && ["text", "date", "time"].includes(types.get(name));
    insist(dated, "a period must be a day, month, quarter or year of dates, times or texts");
  }
  return (stated, k) => {
    const [column, period] = [optional(plan.get("columns"), by[k], new Map()), periods.get(by[k])];
    const spelled = ["ignore_case", "trim", "codes", "missing_codes"].some((name) => column.has(name) && column.get("type") === "text");
    insist(period === undefined || !spelled, "texts that are dates are read as they are");
    const part = spell(column, stated);
    if (missingKey !== "" && part === spell(column, missingKey)) return part;
    if (period === undefined) return KEY_VALUES[column.has("codes") ? "text" : types.get(by[k])](part);
    insist(PERIOD_FORMS[period].test(part) && (period !== "day" || dayOf(part) === part), `a key must be a ${period}`);
    return part;
  };
}

/** Keys, one list for each group, and sizes; they have the digest that the plan states. */
function readGroups(content, plan) {
  const [stated, by] = [content.get("groups"), plan.get("by")];
  const columns = by.map((name) => field(stated.get("keys"), name));
  const keysOf = (sizes) => sizes.map((_, k) => columns.map((column) => column[k]));
  if (isFound(plan)) {
    checkFoundPlan(plan);
    insist(new Set(by).size === by.length && stated.get("keys").size === by.length, "the groups must have a key for every column");
    keyValues(plan, stated.get("types"));
    return readFoundGroups(stated, plan, columns, keysOf);
  }
  insist(!plan.has("max_size"), WRONG_PLAN);
  const sizes = [...readWholes(stated.get("sizes"))];
  const whole =
    new Set(by).size === by.length && stated.get("keys").size === by.length && BigInt(sizes.length) === plan.get("groups") &&
    columns.every((column) => column.length === sizes.length) && sizes.every((size) => size >= 1n && size < MOST_ANSWERS);
  insist(whole, "the groups must have a key for every column, and a size");
  const keys = keysOf(sizes);
  const valueOf = keyValues(plan, stated.get("types"));
  const toldApart = new Set(keys.map((key) => canonical(key.map(valueOf))));
  insist(toldApart.size === keys.length, "no two groups may have the same key, or keys that match the same records");
  const digest = sha256(inBytes(canonical([keys, sizes], SPACED)));
  insist(digest === plan.get("keys_sha256"), "the keys and sizes of the groups do not have the digest that the plan states");
  return { keys, sizes };
}

/** Nodes by level from the groups up; those of one parent stand together, in the order in which they are first met. */
function readTree(plan, groups) {
  const hierarchy = plan.get("hierarchy");
  const levels = hierarchy.get("levels");
  const [weights, nodes] = [hierarchy.get("weights"), hierarchy.get("nodes")];
  const by = plan.get("by");
  const columns = levels[0] === GRAND && !by.includes(GRAND) ? levels.slice(1) : levels;
  const fits =
    levels.length >= 2 && columns.every((level) => by.includes(level)) &&
    new Set(columns).size === by.length && columns.length === by.length &&
    weights.length === levels.length && nodes.length === levels.length;
  insist(fits, "the levels of a hierarchy must be the columns that name a group, below one for all or not");
  const leaves = groups.keys.map((key) => levels.map((level) => (by.includes(level) ? key[by.indexOf(level)] : GRAND)));
  const root = new Map();
  for (const key of leaves) {
    let node = root;
    for (const part of key) {
      if (!node.has(part)) node.set(part, new Map());
      node = node.get(part);
    }
  }
  const keys = [leaves];
  for (let depth = levels.length - 1; depth >= 1; depth--) keys.push(nodesAt(root, depth, []));
  const parents = keys.slice(0, -1).map((own, level) => {
    const place = new Map(keys[level + 1].map((key, k) => [canonical(key), k]));
    return own.map((key) => place.get(canonical(key.slice(0, -1))));
  });
  const people = [groups.sizes];
  parents.forEach((own, level) => people.push(summedBy(people[level], own, keys[level + 1].length)));
  const counted = keys.map((own) => BigInt(own.length)).reverse();
  insist(nodes.every((count, k) => count === counted[k]), "the hierarchy does not have the nodes that the plan states");
  return { levels, keys, parents, people };
}

function nodesAt(node, depth, path) {
  if (depth === 0) return [path];
  return [...node].flatMap(([part, below]) => nodesAt(below, depth - 1, [...path, part]));
}

function summedBy(values, parents, count) {
  const found = new Array(count).fill(0n);
  values.forEach((value, k) => (found[parents[k]] += value));
  return found;
}

// --- the statistics ---------------------------------------------------------------------------------------------

/** Hold every statistic to the rule of its kind. Only then say that a kind has no rule: whatever else is wrong is refused. */
function checkStatistics(plan, sizes) {
  const statistics = plan.get("statistics");
  insist(statistics.length > 0, "a plan must have a statistic");
  const names = new Set(statistics.map((one) => one.get("name")));
  insist(names.size === statistics.length, "no two statistics may have the same name");
  const unknown = new Set();
  for (const statistic of statistics) {
    const kind = STATISTICS.get(statistic.get("kind"));
    if (kind === undefined) unknown.add(`"${statistic.get("kind")}"`);
    else checkStatistic(statistic, plan, kind);
    const least = [...sizes, plan.get("max_size") ?? 2n];
    const spread = kind === undefined || kind.several !== true || least.every((size) => size >= 2n);
    insist(spread, WRONG_PLAN);
  }
  if (unknown.size > 0)
    throw new Unjudged(`not verifiable yet: this page has no rule for statistics of the kind ${[...unknown].join(", ")}`);
}

function checkStatistic(statistic, plan, kind) {
  insist(!(statistic.has("epsilon") && statistic.has("budget_share")), WRONG_PLAN);
  if (kind.margins === true) {
    const [crossed, margins] = [crossedNames(statistic), statistic.get("margins")];
    insist(crossed.length === 2 && crossed[0] !== crossed[1], WRONG_PLAN);
    insist(crossed.every((name) => columnOf(plan, name).labels !== undefined), WRONG_PLAN);
    insist(new Set(margins).size === margins.length && margins.every((name) => crossed.includes(name)), WRONG_PLAN);
  }
  insist(kind.once !== true || plan.has("unit"), WRONG_PLAN);
  if (kind.subject === undefined) return;
  const { other } = subjectOf(plan, statistic, kind.subject);
  const filled = !optional(statistic, "sum_to_size", false) || plan.get("sizes") !== "public" || other !== undefined;
  insist(filled, WRONG_PLAN);
}

// --- the account ------------------------------------------------------------------------------------------------

/** What every statistic spends, the epsilon of each of its layers, and how many records each number is drawn for. */
function readAccount(content, plan, groups) {
  const [account, statistics] = [content.get("account"), plan.get("statistics")];
  const total = Fraction.read(plan.get("epsilon"));
  const told = statistics.map((statistic) => {
    if (statistic.has("budget_share")) return Fraction.read(statistic.get("budget_share")).times(total);
    return statistic.has("epsilon") ? Fraction.read(statistic.get("epsilon")) : null;
  });
  const left = told.reduce((rest, part) => (part === null ? rest : rest.minus(part)), total);
  const silent = told.filter((part) => part === null).length;
  const enough = told.every((part) => part === null || part.compare(ZERO) > 0) && left.compare(ZERO) >= (silent > 0 ? 1 : 0);
  insist(enough, "the statistics spend more than the plan's epsilon");
  const shared = told.map((part) => part ?? left.over(whole(silent)));
  insist(account.length === shared.length, "the account must have a line for each statistic");
  const delta = deltaOf(plan);
  const [stated, statedDelta] = [content.get("epsilon"), content.get("epsilon").get("delta") ?? null];
  insist((delta === null ? null : delta.toString()) === statedDelta, "the record has another delta than its plan");
  const factor = delta === null ? ONE : Fraction.read(account[0].get("spent")).over(shared[0]);
  insist(factor.compare(ZERO) > 0, "the account must say what each statistic spends");
  const parts = shared.map((part) => part.times(factor));
  const spent = delta === null ? parts.reduce((sum, part) => sum.plus(part), ZERO) : total;
  const same = Fraction.read(stated.get("total")).equals(total) && Fraction.read(stated.get("spent")).equals(spent);
  insist(same, "the record spends another epsilon than its plan and account");
  if (isFound(plan)) checkFoundAccount(plan, groups, account, parts, total);
  else insist(account.every((line) => !line.has("draw_delta")), "only groups from the data are drawn at a delta");
  const isEnlarged = parts.reduce((sum, part) => sum.plus(part), ZERO).compare(total) > 0;
  if (delta !== null && isEnlarged) {
    const moved = statistics.map((statistic) => independentPlaces(plan, groups, statistic));
    const few = moved.reduce((sum, places) => sum + places, 0n) <= MOST_TOGETHER;
    insist(few, "so many numbers together have no delta: their epsilons must add up");
    const answers = moved.flatMap((places, k) => new Array(Number(places)).fill(parts[k].over(new Fraction(places))));
    insist(deltaTogether(answers, total).compare(delta) <= 0, "the statistics are together not private at this delta");
  }
  return statistics.map((statistic, k) => readCost(account[k], statistic, parts[k], plan, groups));
}

/** The delta of the plan; null without one. */
const deltaOf = (plan) => (plan.has("delta") ? Fraction.read(plan.get("delta")) : null);

/** A delta is at most 1 over the number of persons, which is declared or that of public sizes, unless the plan allows more. */
function checkDelta(plan, sizes) {
  const [delta, isPublic] = [deltaOf(plan), plan.get("sizes") === "public"];
  if (delta === null) return insist(!plan.has("persons") && !plan.has("allow_large_delta"), WRONG_PLAN);
  insist(delta.compare(ZERO) > 0 && delta.compare(ONE) < 0, "delta must be between 0 and 1");
  insist(!isPublic || !plan.has("persons"), "public sizes say how many persons there are");
  const persons = isPublic ? sizes.reduce((sum, size) => sum + size, 0n) : plan.get("persons") ?? null;
  const few = persons !== null && persons >= 1n && delta.times(new Fraction(persons)).compare(ONE) <= 0;
  insist(few || optional(plan, "allow_large_delta", false), "delta must be at most 1 over the persons");
  insist(plan.get("statistics").every((one) => !one.has("epsilon")), "statistics of a plan with a delta have no epsilon of their own");
}

/** In how many groups or cells apart one protected change may move a statistic, with no number in two of them. A changed
 *  record is one removed and one added: in one group, both may move the same number the same way. */
function independentPlaces(plan, groups, statistic) {
  const kind = STATISTICS.get(statistic.get("kind"));
  const person = plan.get("unit");
  if (person !== undefined) return hasLayers(plan, kind) ? 1n : groupsOfPerson(plan, groups);
  if (plan.get("neighbours") !== CHANGE || movesTwice(plan, statistic, kind)) return 1n;
  return plan.get("sizes") !== "public" || kind.cells === true ? 2n : 1n;
}

/** Whether a record removed and one added may move one number the same way: a sum of both signs, and a quantile. */
function movesTwice(plan, statistic, kind) {
  if (kind.changed !== "sign") return kind.changed === "always";
  const { low, high } = subjectOf(plan, statistic, kind.subject);
  return low.compare(ZERO) < 0 && high.compare(ZERO) > 0;
}

const isAdding = (plan, kind) =>
  kind.margins === true || (plan.has("hierarchy") && (kind.groups === true || (kind.averages === true && plan.get("sizes") === "public")));

/** Whether it is drawn of every level by itself. */
const isOfLevels = (plan, kind) => plan.has("hierarchy") && kind.levels === true && (plan.get("sizes") === "public" || kind.parts === undefined);

/** Whether its epsilon is shared between its own numbers and sums or levels above them. */
const hasLayers = (plan, kind) => isAdding(plan, kind) || isOfLevels(plan, kind);

function readCost(line, statistic, part, plan, groups) {
  const kind = STATISTICS.get(statistic.get("kind"));
  const wrong = `the account of ${statistic.get("name")} is not what its plan allows`;
  const [addsUp, layered] = [isAdding(plan, kind), hasLayers(plan, kind)];
  const alone = kind.byUnit === true || layered;
  const { moved, records } = numbersMoved(plan, groups, kind, alone);
  const drawnAt = Fraction.read(line.get("draw_epsilon"));
  const same = line.get("statistic") === statistic.get("name") && Fraction.read(line.get("spent")).equals(part);
  insist(same && drawnAt.times(new Fraction(moved)).equals(part) && layered === line.has("layers"), wrong);
  const layers = layered ? readLayers(line, statistic, plan, kind, drawnAt, wrong) : [["", drawnAt]];
  const delta = line.has("draw_delta") ? Fraction.read(line.get("draw_delta")) : null;
  return { statistic, kind, addsUp, ofLevels: isOfLevels(plan, kind), part, layers, records, delta };
}

/** How many numbers of a statistic one protected change may move, and for how many records of one person each is drawn. */
function numbersMoved(plan, groups, kind, alone) {
  const person = plan.get("unit");
  if (person !== undefined) {
    const [records, most] = [person.get("max_records"), person.get("max_groups")];
    insist(records >= 1n && most >= 1n, "a person must count in some record of some group");
    const among = groupsOfPerson(plan, groups);
    return alone ? { moved: among * records, records: 1n } : { moved: among, records: kind.once ? 1n : records };
  }
  const two = plan.get("neighbours") === CHANGE && (plan.get("sizes") !== "public" || kind.cells === true);
  return { moved: two ? 2n : 1n, records: 1n };
}

/** The epsilon of a statistic's own numbers and of the sums beside them; together that of one number. */
function readLayers(line, statistic, plan, kind, drawnAt, wrong) {
  const margins = statistic.get("margins");
  const names = kind.margins
    ? ["cells", ...margins.map((margin) => LAYERS_OF_CELLS[crossedNames(statistic).indexOf(margin)])]
    : [...plan.get("hierarchy").get("levels")].reverse();
  const stated = line.get("layers");
  insist(stated.size === names.length && names.every((name) => stated.has(name)), wrong);
  const layers = names.map((name) => [name, Fraction.read(stated.get(name))]);
  const sum = layers.reduce((all, [, epsilon]) => all.plus(epsilon), ZERO);
  insist(layers.every(([, epsilon]) => epsilon.compare(ZERO) > 0) && sum.equals(drawnAt), wrong);
  const shares = kind.margins ? undefined : plan.get("hierarchy").get("shares");
  if (shares !== undefined) {
    const told = [...shares].reverse().map((share) => Fraction.read(share).times(drawnAt));
    insist(told.length === layers.length && layers.every(([, epsilon], k) => epsilon.equals(told[k])), wrong);
  }
  return layers;
}

// --- the mechanisms ---------------------------------------------------------------------------------------------

/** The ends of the names of the numbers that it is computed from; none if it is drawn itself. */
const partsOf = (statistic, plan) => STATISTICS.get(statistic.get("kind"))[plan.get("sizes") === "public" ? "knownParts" : "parts"] ?? [];

/** Whether expected errors suppose how many records groups have, which a passport does not tell. */
const supposesSizes = (statistic, plan) =>
  partsOf(statistic, plan).length > 0 || (STATISTICS.get(statistic.get("kind")).subject === "low" && plan.get("sizes") !== "public");

function drawnParts(statistic, plan) {
  return partsOf(statistic, plan).map((end) => `${statistic.get("name")}_${end}`);
}

/** What the lines about a statistic's mechanisms must say, in order. */
function requiredLines(cost, plan, groups, tree) {
  const { statistic, layers, kind } = cost;
  const own = linesBySize(cost, plan, layers[0], groups.sizes);
  layers.slice(1).forEach(([layer, epsilon], k) => {
    if (cost.ofLevels) {
      own.push(...linesBySize(cost, plan, [layer, epsilon], tree.people[k + 1]));
      return;
    }
    const people = kind.margins ? groups.sizes : tree.people[k + 1];
    const size = people.reduce(largest);
    const query = requiredQuery(statistic, plan, size);
    own.push({ statistic: statistic.get("name"), layer, epsilon, parts: [], size, groups: BigInt(people.length), query });
  });
  return own;
}

/** The lines of numbers that each have the mechanism of their size; a mode has one for all. */
function linesBySize(cost, plan, [layer, epsilon], people) {
  const { statistic } = cost;
  const counts = new Map(isFound(plan) ? [[plan.get("max_size"), 0n]] : []);
  for (const size of people) counts.set(size, (counts.get(size) ?? 0n) + 1n);
  const sizes = [...counts.keys()].sort((a, b) => (a < b ? -1 : 1));
  const line = { statistic: statistic.get("name"), layer, epsilon, parts: drawnParts(statistic, plan), delta: cost.delta };
  if (statistic.get("kind") === "mode" && sizes.length > 1)
    return [{ ...line, size: `${sizes[0]}..${sizes[sizes.length - 1]}`, groups: BigInt(people.length), ...asked(cost, plan, sizes[0]) }];
  return sizes.map((size) => ({ ...line, size, groups: counts.get(size), ...asked(cost, plan, size) }));
}

/** The sizes of all groups that are drawn of, in the order of the table. */
const drawnSizes = ({ ofLevels }, groups, tree) => (ofLevels ? [...tree.people].reverse().flat() : groups.sizes);

const asked = ({ statistic, records }, plan, size) => ({ query: requiredQuery(statistic, plan, size, records) });

const ownerOf = ({ statistic, layer, size }) => `${statistic}${layer === "" ? "" : `, ${layer}`} in groups of ${size}`;

function checkLines(stated, lines) {
  const wrong = "the mechanisms are not those of the plan's groups and statistics";
  insist(stated.length === lines.length, wrong);
  lines.forEach((line, k) => {
    const made = stated[k];
    const { json } = line.query;
    const same =
      made.get("statistic") === line.statistic && optional(made, "layer", "") === line.layer && made.get("size") === line.size &&
      made.get("groups") === line.groups && canonical(optional(made, "parts", [])) === canonical(line.parts);
    insist(same, wrong);
    const epsilon = Fraction.read(made.get("epsilon"));
    insist(epsilon.equals(line.epsilon), `the mechanism of ${ownerOf(line)} was not drawn at the epsilon of its account`);
    const answers = canonical(made.get("query")) === canonical(json);
    insist(answers, `the mechanism of ${ownerOf(line)} has another query or other neighbours than its statistic requires`);
    insist(typeof made.get("law") === "string" && /^[0-9a-f]{64}$/.test(made.get("sha256")), wrong);
    Object.assign(line, { sha256: made.get("sha256"), expectedError: Number(made.get("expected_error").value ?? made.get("expected_error")) });
  });
}

// --- the draws --------------------------------------------------------------------------------------------------

function cellNames(statistic, plan) {
  const [kind, name] = [statistic.get("kind"), statistic.get("name")];
  if (kind === "histogram") return columnOf(plan, statistic.get("column")).labels.map((label) => `${name}: ${label}`);
  const shares = sharesOf(statistic);
  if (shares.length > 1) return shares.map((share) => `${name}_${shareName(share)}`);
  if (kind !== "crosstab") return [name];
  const [rows, columns] = crossedNames(statistic).map((column) => columnOf(plan, column).labels);
  return rows.flatMap((row) => columns.map((column) => `${name}: ${row}, ${column}`));
}

function marginNames(statistic, plan, layer) {
  const [rows, columns] = crossedNames(statistic).map((column) => columnOf(plan, column).labels);
  const name = statistic.get("name");
  return layer === "rows" ? rows.map((label) => `${name}: ${label}, all`) : columns.map((label) => `${name}: all, ${label}`);
}

/** The outputs of every column that was drawn and does not add up, one for each group, and for each node of levels. */
function readDraws(content, costs, plan, groups, tree) {
  const [stated, found] = [content.get("draws"), new Map()];
  for (const cost of costs) {
    const { statistic, addsUp, records } = cost;
    if (addsUp) continue;
    const sizes = drawnSizes(cost, groups, tree);
    const parts = drawnParts(statistic, plan);
    for (const column of parts.length > 0 ? parts : cellNames(statistic, plan)) {
      const line = field(stated, column);
      const outputs = groups.sizes.length === 0 && line === "" ? [] : readWholes(line);
      const last = new Map();
      for (const size of sizes) if (!last.has(size)) last.set(size, requiredQuery(statistic, plan, size, records).grid.last);
      const fits = outputs.length === sizes.length && outputs.every((output, k) => output <= last.get(sizes[k]));
      insist(fits, `the draws of ${column} are not outputs of its mechanisms for its groups`);
      const published = !isPublishing(plan, statistic) || outputs.every((output) => output > 0n);
      insist(published, `a group is in the table although its ${column} did not publish it`);
      found.set(column, [...outputs]);
    }
  }
  insist(found.size === stated.size, "there are draws of columns that the plan does not have");
  return found;
}

/** How the cells of a group sum: to its public size, to no more than its size, or anyhow. */
function sumsOfCells(statistic, plan) {
  const isPublic = plan.get("sizes") === "public";
  if (statistic.get("kind") === "crosstab") {
    const full = crossedNames(statistic).every((name) => columnOf(plan, name).other !== undefined);
    return isPublic && full ? "known" : "most";
  }
  return optional(statistic, "sum_to_size", false) ? (isPublic ? "known" : "most") : "";
}

/** The draws of what adds up: everything beside the numbers is what plan, account and groups imply. */
function checkReports(content, costs, plan, groups, tree) {
  const adding = costs.filter(({ addsUp }) => addsUp);
  insist(adding.length > 0 === content.has("reports"), "the field reports must be there if statistics add up, and not otherwise");
  if (adding.length === 0) return;
  const stated = content.get("reports");
  const parents = tree === null ? [] : tree.parents.map((own) => own.map(BigInt));
  const credibleLevel = plan.get("credible_level");
  const implied = new Map([
    ["sizes", groups.sizes], ["parents", parents], ["published", credibleLevel !== null],
    ["credible_level", Fraction.read(credibleLevel ?? "9/10").toString()],
  ]);
  for (const [name, value] of implied) {
    const same = canonical(stated.get(name)) === canonical(value);
    insist(same, "the field reports is not about the plan's groups and levels");
  }
  insist(stated.get("statistics").length === adding.length, "the field reports is not about the plan's statistics");
  adding.forEach((cost, k) => checkAdding(stated.get("statistics")[k], cost, plan, groups, tree));
}

function checkAdding(stated, { statistic, kind, layers }, plan, groups, tree) {
  const wrong = `the draws of ${statistic.get("name")} are not those of its plan and account`;
  const one = requiredQuery(statistic, plan, 1n);
  const shape = kind.margins ? crossedNames(statistic).map((name) => BigInt(columnOf(plan, name).labels.length)) : [];
  const implied = new Map([
    ["statistic", statistic.get("name")], ["shape", shape], ["sums", sumsOfCells(statistic, plan)],
    ["start", one.grid.start.toString()], ["step", one.grid.unit.toString()], ["positions", one.grid.last],
    ["averages", kind.averages === true],
  ]);
  for (const [name, value] of implied) insist(canonical(stated.get(name)) === canonical(value), wrong);
  insist(["posterior", "least squares"].includes(stated.get("by")) && stated.get("layers").length === layers.length, wrong);
  const weights = kind.margins ? layers.map(() => "1") : [...plan.get("hierarchy").get("weights")].reverse();
  stated.get("layers").forEach((layer, level) => {
    const [name, epsilon] = layers[level];
    const columns = level > 0 && kind.margins ? marginNames(statistic, plan, name) : cellNames(statistic, plan);
    const said = new Map([
      ["name", name], ["columns", columns], ["rate", epsilon.over(new Fraction(one.steps)).toString()],
      ["weight", Fraction.read(weights[level]).toString()],
    ]);
    for (const [part, value] of said) insist(canonical(layer.get(part)) === canonical(value), wrong);
    const people = kind.margins ? groups.sizes : tree.people[level];
    const ends = level === 0 ? people : people.map(() => people.reduce(largest));
    const last = ends.map((size) => requiredQuery(statistic, plan, size).grid.last);
    const rows = layer.get("reports");
    const fits = rows.length === columns.length && rows.every((row) => row.length === last.length && row.every((x, k) => x >= 0n && x <= last[k]));
    insist(fits, `the draws of ${statistic.get("name")} are not outputs of its mechanisms for its groups`);
  });
}
