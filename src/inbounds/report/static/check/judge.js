// One text in, one report out: what was checked, what was not, and the verdict.

const MOST_CHARACTERS = 1 << 26;
const PROVED = "proved";
const PARTLY = "partly";
const REFUSED = "refused";
const UNJUDGED = "unjudged";

const CHECKERS = new Map([
  ["inbounds/mechanism", ["mechanism passport", checkPassport]],
  ["inbounds/release", ["release record", checkRelease]],
  ["inbounds/ledger", ["exported ledger", checkLedger]],
]);
const OTHER_FORMATS = ["composition", "chain", "ledger-head", "draw", "collection", "permanent-reports"];

/** left: what this page should recompute and cannot; with any of it the verdict is never that all holds. */
function emptyReport() {
  return {
    kind: "file", title: "", verdict: PROVED, reason: "", promise: false, says: "", digest: "", epsilon: "",
    checked: [], unchecked: [], left: [], nearest: null, violation: null, picture: null,
  };
}

/** The report about a JSON text. others: bytes of files that were given along with it. */
function judge(text, others = []) {
  const report = emptyReport();
  try {
    if (text.length > MOST_CHARACTERS) throw new Unjudged("the file is too long for this page; use inbounds verify");
    const content = JsonReader.read(text);
    const format = content instanceof Map ? content.get("format") : null;
    if (!CHECKERS.has(format)) refuseFormat(format);
    const [kind, check] = CHECKERS.get(format);
    report.kind = kind;
    check(content, report, others);
    if (report.left.length > 0) {
      report.verdict = PARTLY;
      report.says = `not recomputed here: ${report.left.join("; ")}. Run inbounds verify`;
    }
  } catch (problem) {
    report.verdict = problem instanceof Unjudged ? UNJUDGED : REFUSED;
    report.reason = problem instanceof Refused || problem instanceof Unjudged ? problem.message : malformed(problem);
    report.violation = problem.violation ?? null;
  }
  return report;
}

function refuseFormat(format) {
  if (OTHER_FORMATS.some((name) => format === `inbounds/${name}`))
    throw new Unjudged("this page judges passports, release records and exported ledgers; use inbounds verify for this file");
  refuse("this is not a passport, a release record or an exported ledger");
}

/** What is thrown by the engine itself: too large a number, too deep a stack. Never accepted. */
function malformed(problem) {
  return `the file cannot be checked as it is: ${problem.name}`;
}

/** The text of a file; null where it is not UTF-8. */
function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
