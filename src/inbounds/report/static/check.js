// The page: a file is dropped, chosen or pasted, judged here, and the report is drawn. Everything that comes from a
// file goes in as text; nothing is asked of the network unless the page came with an address for a second verdict.

const SVG = "http://www.w3.org/2000/svg";
const MOST_BLOCKS = 60;
const MOST_SHOWN = 100000;
const VERDICTS = {
  [PROVED]: ["✓", "Holds", "everything on this page that can be checked was found to be true"],
  [PARTLY]: ["~", "Checked in part", "what was recomputed here holds, and something was not"],
  [REFUSED]: ["✗", "Refused", "do not rely on this file"],
  [UNJUDGED]: ["?", "No verdict", "this page cannot judge the file"],
};

const place = (id) => document.getElementById(id);

/** An element with attributes and children; texts become text, never markup. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function drawing(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

function section(title, ...parts) {
  return element("section", {}, element("h2", {}, title), ...parts);
}

function listed(title, sentences) {
  if (sentences.length === 0) return null;
  return section(title, element("ul", {}, ...sentences.map((one) => element("li", {}, one))));
}

function boxOf(who, verdict, sentence) {
  const [sign, word] = VERDICTS[verdict];
  const head = element("p", { class: "word" }, element("span", { "aria-hidden": "true" }, `${sign} `), word);
  return element("div", { class: `verdict ${verdict}` }, element("h3", {}, who), head, element("p", {}, sentence));
}

// --- the two verdicts -------------------------------------------------------------------------------------------

function browserBox(report) {
  const [, , otherwise] = VERDICTS[report.verdict];
  const sentence = report.reason === "" ? report.says || otherwise : report.reason;
  return boxOf("This browser finds", report.verdict, `${sentence}.`.replace(/\.\.$/, "."));
}

function serverBox(who, said) {
  if (said === null) return null;
  const sentence = said.valid ? said.promise || said.checked || "the same file" : said.reason;
  const verdict = said.valid === null ? UNJUDGED : said.valid ? PROVED : REFUSED;
  return boxOf(who, verdict, String(sentence));
}

function agreement(report, said) {
  if (said === null || said.valid === null || report.verdict === UNJUDGED) return null;
  if (said.valid && report.verdict === PARTLY)
    return element("p", { class: "agree" }, "Both agree on what was recomputed here; the other one recomputed all of it.");
  if (said.valid === (report.verdict === PROVED)) return element("p", { class: "agree" }, "Both checkers agree.");
  if (report.verdict === PARTLY)
    return element("p", { class: "agree apart" }, "The other checker, which recomputes more, refuses the file: do not rely on it.");
  return element("p", { class: "agree apart" }, "The two checkers do not agree: rely on neither until you know why.");
}

// --- the picture ------------------------------------------------------------------------------------------------

/** Neighbouring cells in blocks by their mean, so that a large law still fits the page. */
function blocks({ shares, outputs, answers }) {
  const cut = (count) => {
    const parts = Math.min(count, MOST_BLOCKS);
    return Array.from({ length: parts + 1 }, (_, k) => Math.floor((k * count) / parts));
  };
  const [rows, columns] = [cut(shares.length), cut(shares[0].length)];
  const mean = (i, j) => {
    let sum = 0;
    for (let r = rows[i]; r < rows[i + 1]; r++) for (let c = columns[j]; c < columns[j + 1]; c++) sum += shares[r][c];
    return sum / ((rows[i + 1] - rows[i]) * (columns[j + 1] - columns[j]));
  };
  const values = rows.slice(1).map((_, i) => columns.slice(1).map((_, j) => mean(i, j)));
  const firsts = (cuts, names) => cuts.slice(0, -1).map((first) => names[first]);
  return { values, rows, columns, outputs: firsts(rows, outputs), answers: firsts(columns, answers) };
}

function shade(share) {
  const mix = Math.sqrt(Math.min(1, Math.max(0, share)));
  const [light, dark] = [[247, 251, 255], [8, 48, 107]];
  return `rgb(${light.map((from, k) => Math.round(from + (dark[k] - from) * mix)).join(",")})`;
}

const written = (text, anchor, where) => drawing("text", { ...where, "text-anchor": anchor }, text);

const short = (name) => (name.length <= 12 ? name : `${name.slice(0, 11)}…`);

/** The law as a heatmap, outputs up and true answers across; the cells that were compared are framed. */
function heatmap(report) {
  const { values, rows, columns, outputs, answers } = blocks(report.picture);
  const [left, top, wide] = [52, 6, 300];
  const [w, h] = [wide / answers.length, Math.min(26, wide / outputs.length)];
  const high = h * outputs.length;
  const peak = Math.max(...values.map((row) => Math.max(...row))) || 1;
  const x = (j) => left + j * w;
  const y = (i) => top + high - (i + 1) * h;
  const marked = report.violation ?? report.nearest;
  const label = report.violation === null ? "comes nearest to what is allowed" : "breaks the promise";
  const parts = [
    drawing("title", {}, "Probability of every output for every true answer"),
    drawing("desc", {}, `Darker is likelier.${marked === null ? "" : ` The pair of cells that is framed ${label}.`}`),
  ];
  values.forEach((row, i) =>
    row.forEach((value, j) => {
      const cell = { x: x(j), y: y(i), width: w + 0.3, height: h + 0.3, fill: shade(value / peak) };
      const meant = `output ${outputs[i]}, true answer ${answers[j]}: ${value.toPrecision(4)}`;
      parts.push(drawing("rect", cell, drawing("title", {}, meant)));
    }),
  );
  const broken = report.violation !== null;
  if (marked?.answers !== undefined) parts.push(...frames(marked, { rows, columns, x, y, w, h }, broken));
  const every = (names) => Math.ceil(names.length / 11);
  answers.forEach((name, j) => {
    if (j % every(answers) === 0) parts.push(written(short(name), "middle", { x: x(j) + w / 2, y: top + high + 14 }));
  });
  outputs.forEach((name, i) => {
    if (i % every(outputs) === 0) parts.push(written(short(name), "end", { x: left - 5, y: y(i) + h / 2 + 4 }));
  });
  parts.push(written("true answer", "middle", { x: left + wide / 2, y: top + high + 32 }));
  parts.push(written("published", "middle", { transform: `translate(12,${top + high / 2}) rotate(-90)` }));
  return drawing("svg", { viewBox: `0 0 ${left + wide + 8} ${top + high + 40}`, role: "img" }, ...parts);
}

/** Frames around the blocks that hold the two cells of a comparison. */
function frames(marked, { rows, columns, x, y, w, h }, violated) {
  const block = (cuts, at) => cuts.findIndex((start, k) => start <= at && at < cuts[k + 1]);
  const i = block(rows, marked.output);
  return [...new Set(marked.answers.map((j) => block(columns, j)))].map((j) =>
    drawing("rect", {
      x: x(j) + 1,
      y: y(i) + 1,
      width: Math.max(w - 2, 3),
      height: Math.max(h - 2, 3),
      class: violated ? "mark broken" : "mark",
    }),
  );
}

// --- the report -------------------------------------------------------------------------------------------------

function nearestPart(report) {
  const marked = report.violation ?? report.nearest;
  const parts = [];
  if (marked !== null) {
    const sentence = marked.ratio === 1 ? "no output tells any two neighbours apart" : comparison(marked);
    parts.push(element("p", {}, `${sentence[0].toUpperCase()}${sentence.slice(1)}.`));
  }
  if (report.picture !== null) parts.push(element("figure", {}, heatmap(report)));
  if (parts.length === 0) return null;
  const title = report.violation === null ? "The ratio that comes nearest" : "Where the promise breaks";
  return section(title, ...parts);
}

function peoplePart(report) {
  if (report.people === undefined) return null;
  const heads = ["people", "spent", "budget", "in units of"];
  const head = element("tr", {}, ...heads.map((name) => element("th", { scope: "col" }, name)));
  const rows = report.people.map(({ name, ...amounts }) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...Object.values(amounts).map((one) => element("td", {}, one))),
  );
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  return section("Who, and what was spent", table);
}

function show(report, name, said, who) {
  const head = [element("h2", { id: "found", tabindex: "-1" }, `${name || "The text"}: ${report.kind}`)];
  if (report.title !== "") head.push(element("p", { class: "sub" }, report.title));
  const boxes = element("div", { class: "verdicts" }, browserBox(report));
  const other = serverBox(who, said);
  if (other !== null) boxes.append(other);
  const code = element("code", {}, report.digest);
  const digest = report.digest === "" ? null : element("p", { class: "sub" }, "Digest, computed here: ", code);
  const parts = [...head, boxes, agreement(report, said), digest, nearestPart(report), peoplePart(report)];
  parts.push(listed("What was checked here", report.checked));
  parts.push(listed("Not recomputed here: run inbounds verify", report.left));
  parts.push(listed("Claimed, not checked", report.unchecked));
  place("result").replaceChildren(...parts.filter((part) => part !== null));
  document.body.dataset.verdict = report.verdict;
}

/** A release record among the files is judged together with all others, its table and passports; else the first of ours. */
async function take(files) {
  const bytesOf = async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) });
  const read = await Promise.all([...files].map(bytesOf));
  const ours = read.filter(({ bytes }) => textOf(bytes)?.includes('"inbounds/'));
  const record = ours.find(({ bytes }) => /"format": ?"inbounds\/release"/.test(textOf(bytes)));
  const chosen = record ?? ours[0] ?? read[0];
  const others = read.filter((one) => one !== chosen).map(({ bytes }) => bytes);
  await judgeBytes(chosen.bytes, chosen.name, others, null);
}

/** The report about the bytes of a file. others: of files that were given along with it. */
function reportOn(bytes, others = []) {
  const text = textOf(bytes);
  const report = judge(text ?? "", others);
  if (text === null) report.reason = "the file is not UTF-8 text";
  return report;
}

async function judgeBytes(bytes, name, others, said) {
  place("result").replaceChildren(element("p", { class: "sub" }, `Checking ${name || "the text"} …`));
  await new Promise((ready) => setTimeout(ready));
  const report = reportOn(bytes, others);
  const asked = said ?? (await serverVerdict(bytes, others));
  show(report, name, asked, document.body.dataset.server === undefined ? "inbounds verify found" : "The server finds");
  place("found")?.focus({ preventScroll: true });
}

/** What the server that sent this page finds of the same bytes; null where there is none.
 *  Other files follow it in one body: a header says how long each part is. */
async function serverVerdict(bytes, others) {
  const address = document.body.dataset.server;
  if (address === undefined) return null;
  try {
    const parts = [bytes, ...others];
    const headers = { "Content-Type": "application/json" };
    if (others.length > 0) headers["X-Sizes"] = parts.map((part) => part.length).join(" ");
    const answer = await fetch(address, { method: "POST", body: others.length > 0 ? new Blob(parts) : bytes, headers });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function start() {
  const drop = place("drop");
  for (const kind of ["dragover", "drop"])
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length > 0) take(event.dataTransfer.files);
    });
  place("file").addEventListener("change", (event) => {
    if (event.target.files.length > 0) take(event.target.files);
  });
  place("judge").addEventListener("click", () => judgeBytes(inBytes(place("text").value), "", [], null));
  place("print").addEventListener("click", () => window.print());
  const held = place("document");
  if (held === null) return;
  const bytesIn = (holder) => Uint8Array.from(atob(holder.textContent.trim()), (one) => one.charCodeAt(0));
  const bytes = bytesIn(held);
  place("shown").textContent = (textOf(bytes) ?? "").slice(0, MOST_SHOWN);
  const said = place("said") === null ? null : JSON.parse(place("said").textContent);
  judgeBytes(bytes, held.dataset.name, [...document.querySelectorAll("script.other")].map(bytesIn), said);
}

globalThis.inboundsCheck = { reportOn, sha256, ratioAllowed: (epsilon) => ratioAllowed(Fraction.read(epsilon)) };
start();
