// Release records: the form of every field, and the statement, word by word. A field that no rule knows is refused.

const CHANGE = "change one record";
const ADD_OR_REMOVE = "add or remove one record";
const PERSON = "add or remove one person";
const RELATIONS = [["public", CHANGE], ["maximum", CHANGE], ["maximum", ADD_OR_REMOVE], ["maximum", PERSON]];

// --- the form ---------------------------------------------------------------------------------------------------

const isText = (value) => typeof value === "string";
const isExact = (value) => isText(value) && Fraction.read(value).toString() === value;
const isDigest = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isSource = (value) => ["csv", "parquet", "xlsx", "spss", "stata", "sas", "duckdb", "sqlite", "postgresql", "postgres", "spark", "frame"].includes(value);
const isInteger = (value) => typeof value === "bigint";
const isNumber = (value) => isInteger(value) || value instanceof Float;
const isObject = (value) => value instanceof Map;
const isBoolean = (value) => typeof value === "boolean";
const orNull = (one) => (value) => value === null || one(value);
const listOf = (one) => (value) => Array.isArray(value) && value.every(one);
const named = (one) => (value) => isObject(value) && [...value.values()].every(one);
const either = (...these) => (value) => these.some((one) => one(value));

/** An object with these fields and no others; those whose name ends in ? may be missing. */
const fields = (form) => {
  const known = new Set(Object.keys(form).map((name) => name.replace("?", "")));
  return (value) =>
    isObject(value) &&
    [...value.keys()].every((name) => known.has(name)) &&
    Object.entries(form).every(([name, one]) => {
      const plain = name.replace("?", "");
      return value.has(plain) ? one(value.get(plain)) : name.endsWith("?");
    });
};

const isDesign = fields({
  "loss?": isText, "aim?": isText, "mechanism?": isText, "properties?": listOf(isText), "limits?": listOf(isText),
  "prior?": Array.isArray,
});

/** The rule of each kind of statistic. form: the fields that it has beside those of every kind. subject: what its column
 *  must have. cells: a record is in one of several numbers. byUnit: records of one person may touch several. groups,
 *  margins: sums. averages: with public sizes, a sum divided by the size.
 *  levels: drawn of every level by itself, unless it is computed from numbers of groups. parts: the ends of the names of
 *  the numbers that it is computed from if sizes are secret; knownParts: the same if they are public.
 *  once: a person moves a number by one, however many records there are. several: sizes must be at
 *  least two. changed: whether a record that is changed may move a number by twice what one added or removed
 *  does, always or with values of both signs. A record with any other kind is not verifiable yet. */
const ofColumn = { column: isText };
const SUMS = ["squares", "products", "far_squares"];
const STATISTICS = new Map([
  ["count", { form: { condition: isText }, groups: true }],
  ["count_distinct", { form: { condition: isText }, once: true }],
  ["histogram", { form: { ...ofColumn, "sum_to_size?": isBoolean }, subject: "labels", cells: true, byUnit: true, groups: true }],
  ["crosstab", { form: { columns: listOf(isText), margins: listOf(isText) }, cells: true, byUnit: true, margins: true }],
  ["sum", { form: ofColumn, subject: "low", changed: "sign", groups: true }],
  ["mean", { form: ofColumn, subject: "low", byUnit: true, averages: true, parts: ["above_low", "below_high"] }],
  ["variance", { form: ofColumn, subject: "low", several: true, byUnit: true, levels: true, parts: SUMS }],
  ["standard_deviation", { form: ofColumn, subject: "low", several: true, byUnit: true, levels: true, parts: SUMS, knownParts: ["variance"] }],
  ["percentage", { form: { condition: isText }, byUnit: true, averages: true, parts: ["with", "without"] }],
  ["min", { form: ofColumn, subject: "low", changed: "always", levels: true }],
  ["median", { form: ofColumn, subject: "low", changed: "always", levels: true }],
  ["max", { form: ofColumn, subject: "low", changed: "always", levels: true }],
  ["quantile", { form: { ...ofColumn, at: either(isExact, listOf(isExact)) }, subject: "low", changed: "always", levels: true }],
  ["mode", { form: ofColumn, subject: "labels", levels: true }],
]);

const ofEveryKind = { kind: isText, name: isText, "epsilon?": isExact, "budget_share?": isExact, "design?": isDesign };
const FORMS = new Map([...STATISTICS].map(([kind, { form }]) => [kind, fields({ ...ofEveryKind, ...form })]));

/** A statistic with exactly the fields of its kind; of an unknown kind nothing is known but that it has one, and a name. */
const isStatistic = (value) => {
  if (!isObject(value) || !isText(value.get("kind")) || !/^[a-z][a-z0-9_]{0,39}$/.test(value.get("kind"))) return false;
  return FORMS.has(value.get("kind")) ? FORMS.get(value.get("kind"))(value) : isText(value.get("name"));
};

/** One number of records, or the least and the largest. */
const isTypical = (value) => listOf(isInteger)(value) && [1, 2].includes(value.length) && value[0] >= 0n && value[0] <= value[value.length - 1];

const isPlan = fields({
  source: fields({ kind: isSource, "name?": isText, "table?": isText, "engine?": isText, "decimal?": isText, "thousands?": isText, "encoding?": isText, "header_row?": isText }),
  by: listOf(isText), groups: isInteger, keys_sha256: isText, "keys?": isText, "max_size?": isInteger, sizes: isText,
  columns: named(fields({
    type: isText, "low?": isExact, "high?": isExact, "step?": isExact, "missing?": isExact, "labels?": listOf(isText),
    "other?": isText, "ignore_case?": isBoolean, "trim?": isBoolean, "codes?": named(isText), "missing_codes?": listOf(isText),
    "max_length?": isInteger,
  })),
  statistics: listOf(isStatistic),
  epsilon: isExact, neighbours: isText, design: isDesign, credible_level: orNull(isExact), "people?": isText, "edition?": isText,
  "unit?": fields({ id: isText, max_records: isInteger, max_groups: isInteger }), "missing_key?": isText,
  "typical?": isTypical, "delta?": isExact, "persons?": isInteger, "allow_large_delta?": isBoolean,
  "period?": named(isText), "where?": isText,
  "hierarchy?": fields({
    levels: listOf(isText), weights: listOf(isExact), "shares?": listOf(isExact), nodes: listOf(isInteger),
  }),
});

const isMechanism = fields({
  statistic: isText, size: either(isInteger, isText), groups: isInteger, sha256: isText, epsilon: isExact, answers: isText,
  neighbours: isText, origin: isText, query: isObject, "law?": isText, expected_error: isNumber,
  "constant_error?": isNumber, "parent_error?": isNumber, "standard_error?": isNumber, "parts?": listOf(isText), "layer?": isText,
});

const isReports = fields({
  sizes: listOf(isInteger), parents: listOf(listOf(isInteger)), credible_level: isText, published: isBoolean,
  statistics: listOf(fields({
    statistic: isText, shape: listOf(isInteger), sums: isText, start: isText, step: isText, positions: isInteger, averages: isBoolean, by: isText,
    layers: listOf(fields({
      name: isText, columns: listOf(isText), rate: isText, weight: isText, reports: listOf(listOf(isInteger)),
    })),
  })),
});

const isEntry = fields({
  id: isText, entry: (value) => isInteger(value) && value >= 1n && value < 1n << 53n, sha256: isDigest, key: isText, people: isText, rule: isText,
  unit: isText, budget: orNull(isText), spent: isText, left: orNull(isText),
  "period?": isText, "period_spent?": isText, "period_budget?": isText,
  "delta_budget?": isText, "delta_spent?": isText, "delta_left?": isText,
});

const isRecord = fields({
  id: isText, time: isText, plan_sha256: isText, plan: isPlan, statement: isText,
  values: listOf(isText), epsilon: fields({ total: isExact, spent: isExact, "delta?": isExact }),
  account: listOf(fields({ statistic: isText, spent: isExact, draw_epsilon: isExact, reason: isText, "layers?": named(isExact), "draw_delta?": isExact })),
  composition: listOf(isText), mechanisms: listOf(isMechanism), useless: listOf(isText),
  versions: named(isText), groups: fields({ keys: named(listOf(isText)), types: named(isText), sizes: isText }), draws: named(isText),
  "reports?": isReports, "ledger?": orNull(isEntry),
  "about?": fields({ "title?": isText, "author?": isText, "contact?": isText, "notes?": isText }),
  "table?": fields({ file: isText, rows: isInteger, sha256: isText }),
});

// --- the statement, word by word --------------------------------------------------------------------------------

/** As people write it: at most so many digits, an exponent where there are more places. */
function general(value, digits) {
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  const trimmed = (text) => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);
  if (exponent >= -4 && exponent < digits) return trimmed(value.toFixed(digits - 1 - exponent));
  return `${trimmed(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A decimal where six digits say all of it, else the fraction. */
function numberText(value) {
  const short = general(value.approximate, 6);
  const [mantissa, power = "0"] = short.split("e");
  const written = readAmount(mantissa).times(
    Number(power) < 0 ? new Fraction(1n, 10n ** BigInt(-Number(power))) : new Fraction(10n ** BigInt(Number(power))),
  );
  return written.equals(value) ? short : value.toString();
}

function statementOf(plan, spent) {
  const [delta, person] = [deltaOf(plan), plan.get("unit")];
  const [isPublic, neighbours] = [plan.get("sizes") === "public", plan.get("neighbours")];
  const unit = person === undefined ? "Each row counts as one person" : `All rows with the same ${person.get("id")} are one person`;
  const factor = general(Math.exp(spent.approximate), 4);
  const change = changeMeant(isPublic, neighbours);
  const promise =
    delta === null
      ? `${unit}, and any table that can be published is at most ${factor} times as likely as it would be if ${change} ` +
        `(epsilon ${numberText(spent)}).`
      : `${unit}, and any set of tables has at most ${factor} times the probability that it would have if ${change}, plus ` +
        `${numberText(delta)} (epsilon ${numberText(spent)}, delta ${numberText(delta)}).`;
  const sizes = isPublic
    ? "Which group a person belongs to and how large each group is are public, and not protected."
    : "The size of each group is protected; only its declared maximum is public.";
  return `${promise} ${isFound(plan) ? foundMeant(delta) : sizes}\n${detailsOf(plan, spent, isPublic, neighbours)}`;
}

function changeMeant(isPublic, neighbours) {
  if (isPublic) return "one person's row were different or left out";
  if (neighbours === PERSON) return "one person's rows were added or removed";
  if (neighbours === CHANGE) return "one person's row were any other, also in another group";
  return "one person's row were added or removed";
}

function detailsOf(plan, spent, isPublic, neighbours) {
  const [person, source] = [plan.get("unit"), plan.get("source").get("kind")];
  const said = ["A row is a record that the source's reader delivers."];
  if (person !== undefined) {
    const [name, groups] = [person.get("id"), person.get("max_groups")];
    said.push(
      `At most ${person.get("max_records")} rows of a person count in each of at most ${groups} group${groups > 1n ? "s" : ""}, ` +
        `chosen by that person's own rows alone; rows without ${name} count for nobody, and values of ${name} are compared ` +
        "byte by byte.",
    );
  }
  const more = isFound(plan) ? ", and twice the delta" : deltaOf(plan) === null ? "" : ", and 1 + exp(epsilon) times the delta";
  const twice = `is covered at twice the epsilon, ${numberText(spent.plus(spent))}${more}.`;
  if (isPublic) said.push(`A person who moves from one group to another ${twice}`);
  else if (neighbours === PERSON) said.push(`A person who is replaced by another, or whose rows change, ${twice}`);
  else if (neighbours !== CHANGE) said.push(`A row that is replaced by another ${twice}`);
  if (source === "csv")
    said.push(
      "The CSV file must be well formed (fields with a quotation mark, the delimiter or a line break stand in quotation " +
        "marks, those within are doubled, and no carriage return stands alone among line feeds); if not, it is refused.",
    );
  return said.join(" ");
}
