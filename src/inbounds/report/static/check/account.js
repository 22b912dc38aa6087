// The account of a release record: parts that add up, and mechanisms that spend no more than their part.

function checkRelease(content, report, tables) {
  const version = content.get("version");
  insist(isInteger(version) && version >= 1n, "the record has no version");
  if (version > 2n) throw new Unjudged("this page knows release records of the versions 1 and 2; use inbounds verify");
  const style = version === 1n ? SPACED : CANONICAL;
  const digest = digestOf(content, style);
  insist(content.get("sha256") === digest, "the record was changed: it does not have its own digest");
  insist(isRecord(content), "this is not a whole release record");
  Object.assign(report, { digest, title: content.get("statement"), epsilon: content.get("epsilon").get("spent") });
  const plan = content.get("plan");
  const own = sha256(inBytes(canonical(plan, style)));
  insist(content.get("plan_sha256") === own, "the record was changed: its plan does not have the digest stated");
  report.checked.push("the record and the plan in it have the digests stated");
  checkPromise(content, version, report);
  report.promise = true;
  checkTable(content, report, tables);
  const mechanisms = content.get("mechanisms").length;
  report.unchecked.push(`the weights of the ${mechanisms} mechanisms: their digests are here, their passports prove them`);
  report.unchecked.push("that the table was drawn from these mechanisms, and that the question was fixed before looking");
}

function checkTable(content, report, tables) {
  const table = content.get("table");
  insist(table !== undefined, "the record names no table");
  const name = table.get("file");
  insist(name !== "" && !/[/\\]/.test(name) && name !== "." && name !== "..", "the record names a table that is not beside it");
  if (tables.length === 0) {
    report.unchecked.push(`the table ${name}: drop it here together with the record to compare its digest`);
    return;
  }
  const same = tables.some((bytes) => sha256(bytes) === table.get("sha256"));
  insist(same, `the table given is not ${name} as it was released: its digest differs`);
  report.checked.push(`${name} is the table that was released (${table.get("rows")} rows): it has the digest stated`);
}

function checkPromise(content, version, report) {
  const plan = content.get("plan");
  const [total, spent] = ["total", "spent"].map((name) => Fraction.read(content.get("epsilon").get(name)));
  const [sizes, neighbours] = [plan.get("sizes"), plan.get("neighbours")];
  const known = RELATIONS.some(([size, relation]) => size === sizes && relation === neighbours);
  insist(known && plan.has("person") === (neighbours === PERSON), "the record names a relation that no release has");
  const spends = total.equals(Fraction.read(plan.get("epsilon"))) && spent.compare(ZERO) > 0 && spent.compare(total) <= 0;
  insist(spends, "the record spends another epsilon than its plan");
  const said = content.get("statement") === statementOf(version, plan, spent);
  insist(said, "the statement is not what the plan and the account promise");
  report.checked.push("the statement is, word by word, what its plan and account promise");
  const lines = pairedLines(content);
  checkParts(lines, total, spent);
  const sum = lines.map(({ part }) => numberText(part)).join(" + ");
  report.checked.push(`the account adds up: ${sum} = ${numberText(spent)} of ${numberText(total)}`);
  checkMechanisms(content, lines);
  report.checked.push("every mechanism was drawn at no more than its statistic's part, by the record's own word");
}

/** Every line of the account with its statistic. */
function pairedLines(content) {
  const [account, plan] = [content.get("account"), content.get("plan")];
  const statistics = plan.get("statistics");
  insist(account.length === statistics.length, "the account must have a line for each statistic");
  return account.map((line, k) => {
    const statistic = statistics[k];
    const kind = STATISTICS.get(statistic.get("kind"));
    if (kind === undefined) throw new Unjudged(`this page does not know statistics of the kind ${statistic.get("kind")}`);
    const addsUp = kind.margins === true || (plan.has("hierarchy") && kind.groups === true);
    return { line, statistic, kind, addsUp, part: Fraction.read(line.get("spent")) };
  });
}

function checkParts(lines, total, spent) {
  for (const { line, statistic, part } of lines) {
    const share = statistic.has("share") ? Fraction.read(statistic.get("share")).times(total) : part;
    const told = statistic.has("epsilon") ? Fraction.read(statistic.get("epsilon")) : share;
    const allowed = line.get("statistic") === statistic.get("name") && part.compare(ZERO) > 0 && part.equals(told);
    insist(allowed, `the account of ${line.get("statistic")} is not what its plan allows`);
  }
  const sum = lines.reduce((all, { part }) => all.plus(part), ZERO);
  insist(sum.equals(spent), "the account does not add up to the epsilon stated");
}

/** How many of one person's records count in a group, and in how many groups. */
function contribution(plan) {
  const person = plan.get("person");
  if (person === undefined) return { records: 1n, groups: 1n };
  const [records, groups] = [person.get("max_records"), person.get("max_groups")];
  insist(records >= 1n && groups >= 1n, "a person must count in some record of some group");
  return { records, groups: groups < plan.get("groups") ? groups : plan.get("groups") };
}

/** The share of a statistic's epsilon at which each number of it may be drawn. */
function drawnAt({ kind, addsUp, part }, plan) {
  if (plan.get("neighbours") === PERSON) {
    const { records, groups } = contribution(plan);
    return part.over(new Fraction(groups * (kind.byUnit || addsUp ? records : 1n)));
  }
  const moves = plan.get("neighbours") === CHANGE && (plan.get("sizes") !== "public" || kind.cells === true);
  return moves ? part.over(whole(2)) : part;
}

/** What each layer of a statistic may spend, its own numbers first. */
function layersOf(entry, plan) {
  const { line, addsUp } = entry;
  const [most, wrong] = [drawnAt(entry, plan), `the account of ${line.get("statistic")} is not what its plan allows`];
  insist(Fraction.read(line.get("drawn_at")).equals(most) && addsUp === line.has("layers"), wrong);
  if (!addsUp) return new Map([["", most]]);
  const layers = new Map([...line.get("layers")].map(([name, text]) => [name, Fraction.read(text)]));
  const parts = [...layers.values()];
  const sum = parts.reduce((all, part) => all.plus(part), ZERO);
  insist(parts.length > 0 && parts.every((part) => part.compare(ZERO) > 0) && sum.compare(most) <= 0, wrong);
  return layers;
}

function checkMechanisms(content, lines) {
  const plan = content.get("plan");
  const statistics = new Map(lines.map((entry) => [entry.statistic.get("name"), { ...entry, answered: 0n, sizes: [] }]));
  for (const entry of statistics.values()) entry.layers = layersOf(entry, plan);
  insist(statistics.size === lines.length, "two statistics have one name");
  for (const made of content.get("mechanisms")) {
    const entry = statistics.get(made.get("statistic"));
    const layer = made.get("layer") ?? "";
    insist(entry !== undefined && entry.layers.has(layer), "a mechanism belongs to no statistic of the plan");
    checkMechanism(made, entry, layer, plan);
    if (layer === entry.layers.keys().next().value) {
      entry.answered += made.get("groups");
      takeSizes(entry, made);
    }
  }
  const nodes = plan.has("hierarchy") ? plan.get("hierarchy").get("nodes") : [plan.get("groups")];
  const groups = [...statistics.values()].map(({ answered }) => answered).concat(nodes[nodes.length - 1]);
  const rows = content.get("table")?.get("rows") === nodes.reduce((sum, count) => sum + count, 0n);
  const whole = rows && groups.every((count) => count === plan.get("groups"));
  insist(whole, "the mechanisms are not those of the plan's groups and statistics");
  const ends = [...statistics.values()].map(({ sizes }) => spanOf(sizes));
  insist(ends.every((span) => span === ends[0]), "the mechanisms are not for the sizes of the plan's groups");
}

/** The sizes that a mechanism answers, no two mechanisms the same. */
function takeSizes(entry, made) {
  const ends = String(made.get("size")).split("..").map((text) => (/^ *[0-9]{1,40} *$/.test(text) ? BigInt(text.trim()) : 0n));
  const rising = ends.length <= 2 && ends.every((end, k) => end >= 1n && (k === 0 || end > ends[k - 1]));
  const fresh = !entry.sizes.some((other) => other.join() === ends.join());
  insist(rising && fresh, "the mechanisms are not for the sizes of the plan's groups");
  entry.sizes.push(ends);
}

/** The least and the largest size, in words. */
function spanOf(sizes) {
  const [first, last] = [sizes.map((ends) => ends[0]), sizes.map((ends) => ends[ends.length - 1])];
  return `${first.reduce((a, b) => (b < a ? b : a))}..${last.reduce((a, b) => (b > a ? b : a))}`;
}

function checkMechanism(made, entry, layer, plan) {
  const epsilon = Fraction.read(made.get("epsilon"));
  const within = epsilon.compare(ZERO) > 0 && epsilon.compare(entry.layers.get(layer)) <= 0;
  insist(within && made.get("groups") >= 1n, "a mechanism spends more than the account allows");
  const quantile = made.has("quantile") ? new Quantile(made.get("quantile")) : null;
  const query = quantile === null ? new Query(field(made, "query"), 0n) : null;
  checkDrawnTogether(made, entry, plan, query);
  if (plan.get("neighbours") === PERSON) checkPerson({ made, entry, plan, query, quantile, epsilon });
  if (quantile === null) return;
  const fits = quantile.public === (plan.get("sizes") === "public") && String(made.get("size")) === String(quantile.size);
  insist(fits, "a mechanism is for groups of other sizes than those of the plan");
}

/** Sums of v - low and of high - v cost epsilon together where each costs epsilon · distance / (high - low). */
function checkDrawnTogether(made, { statistic }, plan, query) {
  const wrong = "a mechanism promises less than the numbers that were drawn by it need";
  const shared = query !== null && query.metric !== null;
  insist(shared === made.has("parts"), wrong);
  if (!shared) return;
  const name = statistic.get("name");
  const [low, high] = boundsOf(plan, statistic);
  const parts = made.get("parts").join("\n") === `${name}_above_low\n${name}_below_high`;
  insist(parts && statistic.get("kind") === "mean" && query.metric.equals(high.minus(low)), wrong);
}

function boundsOf(plan, statistic) {
  const column = field(plan.get("columns"), statistic.get("of"));
  return ["low", "high"].map((name) => Fraction.read(field(column, name)));
}
