// A release record: digests, form, statement, then everything that the plan requires, the table, and the passports.

const TIGHT = 1e-5;

/** others: bytes of files that were given along with the record, tables and passports. */
function checkRelease(envelope, report, others) {
  const content = openEnvelope(envelope, report);
  if (content.has("levels")) throw new Unjudged("this page has no verdict on tables that were drawn in levels; use inbounds verify");
  insist(isRecord(content), "this is not a whole release record, or has a field that no rule knows");
  Object.assign(report, { title: content.get("statement").split("\n")[0], epsilon: content.get("epsilon").get("spent") });
  const plan = content.get("plan");
  insist(content.get("plan_sha256") === sha256(inBytes(canonical(plan))), "the plan does not have the digest stated");
  checkRelation(plan);
  const release = readRelease(content);
  report.checked.push("the record, its plan and its groups have the digests stated");
  const [delta, epsilon] = [deltaOf(plan), Fraction.read(plan.get("epsilon"))];
  const spent = delta === null ? release.costs.reduce((sum, { part }) => sum.plus(part), ZERO) : epsilon;
  insist(content.get("statement") === statementOf(plan, spent), "the statement is not what the plan and the account promise");
  report.checked.push("the statement is, word by word, what its plan and account promise");
  const parts = release.costs.map(({ part }) => numberText(part)).join(" + ");
  if (delta === null || isFound(plan)) report.checked.push(`the account adds up: ${parts} = ${numberText(spent)} of ${numberText(epsilon)}`);
  else report.checked.push(`statistics of epsilon ${parts} are together epsilon ${numberText(epsilon)} at delta ${numberText(delta)}`);
  if (isFound(plan)) report.checked.push(`all of delta ${numberText(delta)} is for which groups are published`);
  report.checked.push("every mechanism has the query, the range, the neighbours and the epsilon that its statistic requires");
  report.promise = true;
  const { passports, tables } = sortedFiles(others);
  const errors = checkPassports(passports, release, report);
  checkReleasedTable(content, release, tables, errors, report);
  report.unchecked.push("that the stored draws came from the data, were drawn once, and by nothing but these mechanisms");
  report.unchecked.push("the entry of the ledger, the time, and texts of the record beside its statement");
}

function checkRelation(plan) {
  const [sizes, neighbours] = [plan.get("sizes"), plan.get("neighbours")];
  const known = RELATIONS.some(([size, relation]) => size === sizes && relation === neighbours);
  insist(known && plan.has("unit") === (neighbours === PERSON), "the plan has a relation that no release has");
  insist(!(plan.has("typical") && sizes === "public"), "a typical size is for groups whose sizes are not public");
  insist(!(plan.has("where") && plan.get("where") !== "" && sizes === "public"), "a plan with a condition has no public sizes");
  const level = plan.get("credible_level") === null ? null : Fraction.read(plan.get("credible_level"));
  insist(level === null || (level.compare(ZERO) > 0 && level.compare(ONE) < 0), WRONG_PLAN);
}

/** Which of the files are passports of mechanisms, and which may be the table. */
function sortedFiles(others) {
  const [passports, tables] = [[], []];
  for (const bytes of others) {
    const content = passportIn(bytes);
    if (content === null) tables.push(bytes);
    else passports.push(content);
  }
  return { passports, tables };
}

function passportIn(bytes) {
  const text = bytes.length > MOST_CHARACTERS ? null : textOf(bytes);
  if (text === null || !text.includes(`"${PASSPORT_FORMAT}"`)) return null;
  try {
    const content = JsonReader.read(text);
    return content instanceof Map && content.get("format") === PASSPORT_FORMAT ? content : null;
  } catch {
    return null;
  }
}

// --- passports --------------------------------------------------------------------------------------------------

const PASSPORT_FORMAT = "inbounds/mechanism";

/** Certify the passports given and connect them to the lines of the record by their digests. Returns expected errors. */
function checkPassports(passports, release, report) {
  const found = new Map();
  for (const envelope of passports) {
    const own = emptyReport();
    try {
      checkPassport(envelope, own);
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      refuse(`a passport given along with the record is refused: ${problem.message}`);
    }
    found.set(own.digest, { content: envelope.get("content"), measured: own.measured ?? null });
  }
  const [drawn, errors] = [new Set(), new Map()];
  for (const line of release.lines) {
    const passport = found.get(line.sha256);
    if (passport === undefined) continue;
    const { json } = line.query;
    const { content, measured } = passport;
    const same = canonical(content.get("query")) === canonical(json) && content.get("epsilon") === line.epsilon.toString();
    insist(same, `the passport of ${ownerOf(line)} has another query or epsilon than the record`);
    checkDeltaOfLaw(content.get("law"), line);
    drawn.add(line.sha256);
    noteError(errors, line, measured, release);
  }
  const missing = release.lines.filter((line) => !drawn.has(line.sha256)).map(ownerOf);
  const strays = [...found.keys()].filter((digest) => !drawn.has(digest));
  const apart = missing.length > 0 && strays.length > 0;
  insist(!apart, `the passports given are not those of the record: none has the digest stated for ${missing[0]}`);
  if (drawn.size > 0) report.checked.push(`${drawn.size} passports were certified and drew numbers of the record, by their digests`);
  if (strays.length > 0) report.checked.push(`${strays.length} passports drew no number of this record`);
  if (missing.length > 0) report.left.push(`the weights of ${missing.join("; ")}: give their passports along with the record`);
  return errors;
}

/** A law has a delta only where groups are published by it, and then the one of the account. */
function checkDeltaOfLaw(law, line) {
  const stated = [...law.values()].flatMap((part) => (part instanceof Map && part.has("delta") ? [part.get("delta")] : []));
  if ((line.delta ?? null) === null) return insist(stated.length === 0, `the passport of ${ownerOf(line)} has a delta, which the record does not count`);
  const same = law.has("threshold") && stated.length === 1 && stated[0] === line.delta.toString();
  insist(same, `the passport of ${ownerOf(line)} is not the threshold, at its delta, that the record states`);
}

/** The expected error of a line, where its passport tells it: on average over all answers alike. */
function noteError(errors, line, measured, { plan, costs }) {
  const cost = costs.find(({ statistic }) => statistic.get("name") === line.statistic);
  const design = optional(cost.statistic, "design", plan.get("design"));
  const prior = optional(design, "prior", null);
  const uniform = prior === null || (Array.isArray(prior) && prior.length === 1 && prior[0] === "uniform");
  if (measured === null || !uniform || cost.addsUp || supposesSizes(cost.statistic, plan)) return;
  const computed = measured.average(cost.statistic.get("kind") === "mode" ? "zero-one" : "absolute");
  const close = Math.abs(line.expectedError - computed) <= TIGHT * Math.abs(computed) + Number.MIN_VALUE;
  insist(close, `the expected error stated for ${ownerOf(line)} does not follow from its passport`);
  const own = errors.get(line.statistic) ?? new Map();
  own.set(`${line.layer}: ${typeof line.size === "string" ? "all" : line.size}`, line.expectedError);
  errors.set(line.statistic, own);
}

// --- the table --------------------------------------------------------------------------------------------------

function checkReleasedTable(content, release, tables, errors, report) {
  const stated = content.get("table");
  insist(stated !== undefined, "the record names no table");
  const name = stated.get("file");
  insist(name !== "" && !/[/\\\0]/.test(name) && name !== "." && name !== "..", "the record names a table that is not beside it");
  insist(stated.get("rows") === BigInt(release.rows), "the table does not have a row for each of the plan's groups");
  insist(/^[0-9a-f]{64}$/.test(stated.get("sha256")), "the table must have a SHA-256 digest");
  if (tables.length === 0) {
    report.left.push(`the table ${name}: drop it here together with the record`);
    return;
  }
  const bytes = tables.find((one) => sha256(one) === stated.get("sha256"));
  insist(bytes !== undefined, `the table given is not ${name} as it was released: its digest differs`);
  const table = readTable(bytes, name);
  if (table === null) {
    report.left.push(`the cells of ${name}: this page reads CSV and JSON, not Parquet`);
    return;
  }
  const left = checkCells(release, table, errors);
  const cells = release.rows * (table.head.length - left.length);
  report.checked.push(`${cells} cells of ${name} were recomputed from the stored draws and are the same`);
  if (release.costs.some(({ addsUp }) => addsUp)) report.checked.push("what adds up lies in its range, and every sum in the table is the sum of its parts");
  if (left.length > 0) report.left.push(`the columns ${left.join(", ")}`);
}
