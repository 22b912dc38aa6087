// Groups that the data holds: none stands in the plan, and one is in the table where its number of persons published it.

const FROM_DATA = "from the data";

/** Whether the groups of a plan are those that the data holds. */
const isFound = (plan) => plan.has("keys");

/** In how many groups one person counts. How many the data holds is no bound for that. */
function groupsOfPerson(plan, groups) {
  const most = plan.get("unit").get("max_groups");
  return isFound(plan) ? most : least(most, BigInt(groups.sizes.length));
}

/** Whether it is the number of persons by which groups are published. */
function isPublishing(plan, statistic) {
  const kind = plan.has("unit") ? "count_distinct" : "count";
  return isFound(plan) && statistic.get("kind") === kind && statistic.get("condition") === "true";
}

/** Refuse a plan whose groups cannot be read from the data. */
function checkFoundPlan(plan) {
  const whole = plan.get("keys") === FROM_DATA && plan.has("max_size") && plan.get("max_size") >= 1n && plan.get("max_size") < MOST_ANSWERS;
  insist(whole && plan.get("groups") === 0n && plan.get("sizes") === "maximum" && plan.get("by").length > 0, WRONG_PLAN);
  insist(plan.has("delta"), "groups from the data need a delta");
  insist(plan.get("neighbours") !== CHANGE && !plan.has("hierarchy"), WRONG_PLAN);
  const statistics = plan.get("statistics");
  insist(statistics.every((one) => STATISTICS.get(one.get("kind"))?.margins !== true), WRONG_PLAN);
  insist(statistics.filter((one) => isPublishing(plan, one)).length === 1, "groups from the data are published by one number of persons");
}

/** Keys of published groups: in order, each as long as its column allows; their number stands in no plan. */
function readFoundGroups(stated, plan, columns, keysOf) {
  const most = plan.get("max_size");
  const sizes = stated.get("sizes") === "" ? [] : [...readWholes(stated.get("sizes"))];
  const fits = sizes.every((size) => size === most) && columns.every((column) => column.length === sizes.length);
  insist(fits, "groups from the data must have a key for every column, and all the same size");
  const keys = keysOf(sizes);
  const inOrder = keys.every((key, k) => k === 0 || comparedKeys(keys[k - 1], key) < 0);
  insist(inOrder, "groups from the data must stand in the order of their keys");
  plan.get("by").forEach((name, k) => {
    const longest = optional(plan.get("columns"), name, new Map()).get("max_length");
    const bytes = columns[k].map((key) => BigInt(inBytes(key).length));
    const kept = longest !== undefined && longest >= 1n && bytes.every((length) => length >= 1n && length <= longest);
    insist(kept, `keys of ${name} must be declared with their largest length, and keep it`);
  });
  insist(plan.get("keys_sha256") === sha256(inBytes(canonical([[], []], SPACED))), "a plan must not state keys from the data");
  return { keys, sizes };
}

/** Keys in the order of their code points. */
function comparedKeys(one, other) {
  for (let k = 0; k < one.length; k++) {
    const [a, b] = [[...one[k]], [...other[k]]].map((letters) => letters.map((letter) => letter.codePointAt(0)));
    for (let n = 0; n < Math.max(a.length, b.length); n++) if (a[n] !== b[n]) return (a[n] ?? -1) - (b[n] ?? -1);
  }
  return 0;
}

/** All of delta is for what is published, in equal parts for the groups of a person; epsilons add up. */
function checkFoundAccount(plan, groups, account, parts, total) {
  insist(parts.reduce((sum, part) => sum.plus(part), ZERO).equals(total), "groups from the data spend all of the epsilon, and no more");
  plan.get("statistics").forEach((statistic, k) => {
    const wrong = `the account of ${statistic.get("name")} is not what its plan allows`;
    insist(account[k].has("draw_delta") === isPublishing(plan, statistic), wrong);
    if (!account[k].has("draw_delta")) return;
    const groupsMoved = plan.has("unit") ? groupsOfPerson(plan, groups) : 1n;
    const leaked = Fraction.read(account[k].get("draw_delta")).times(new Fraction(groupsMoved));
    insist(leaked.equals(deltaOf(plan)), "the numbers of persons do not have the delta of the plan");
  });
}

/** Which groups are in the table, in words. */
function foundMeant(delta) {
  return (
    "Groups are read from the data: a group is in the table only where its number of persons, with noise, exceeds a threshold, " +
    "so one that is missing may be empty, or have persons. If a person is alone in groups, any of these is in the table with a " +
    `probability of at most ${numberText(delta)}.`
  );
}
