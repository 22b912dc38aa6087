// One text in, one report out: what was checked, what was not, and the verdict.

const MOST_CHARACTERS = 1 << 26;
const PROVED = "proved";
const REFUSED = "refused";
const UNJUDGED = "unjudged";

const CHECKERS = new Map([
  ["inbounds mechanism", ["mechanism passport", checkPassport]],
  ["inbounds quantile mechanism", ["quantile passport", checkQuantilePassport]],
  ["inbounds release", ["release record", checkRelease]],
  ["inbounds ledger", ["exported ledger", checkLedger]],
]);

/** The report about a JSON text. tables: bytes of released tables that were given along with it. */
function judge(text, tables = []) {
  const report = {
    kind: "file", title: "", verdict: PROVED, reason: "", promise: false, says: "", digest: "", epsilon: "",
    checked: [], unchecked: [], nearest: null, violation: null, picture: null,
  };
  try {
    if (text.length > MOST_CHARACTERS) throw new Unjudged("the file is too long for this page; use inbounds verify");
    const content = JsonReader.read(text);
    const format = content instanceof Map ? content.get("format") : null;
    if (!CHECKERS.has(format)) refuseFormat(format);
    const [kind, check] = CHECKERS.get(format);
    report.kind = kind;
    check(content, report, tables);
  } catch (problem) {
    report.verdict = problem instanceof Unjudged ? UNJUDGED : REFUSED;
    report.reason = problem instanceof Refused || problem instanceof Unjudged ? problem.message : malformed(problem);
    report.violation = problem.violation ?? null;
  }
  return report;
}

function refuseFormat(format) {
  if (typeof format === "string" && format.startsWith("inbounds "))
    throw new Unjudged("this page judges passports, release records and exported ledgers; use inbounds verify for this file");
  refuse("this is not a passport, a release record or an exported ledger");
}

/** What is thrown by the engine itself: too large a number, too deep a stack. Never accepted. */
function malformed(problem) {
  return `the file cannot be checked as it is: ${problem.name}`;
}
