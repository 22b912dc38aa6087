/* Search and sort the tables of a page for the public. Without this script the page shows the same numbers. */
(() => {
"use strict";

/** Return what a row is sorted by: its number in a column, or its text. */
function keyOf(row, column, kind) {
  const cell = row.cells[column];
  return kind === "number" ? Number(cell.dataset.value) : cell.textContent.trim();
}

/** Sort the rows of a table by a column, the other way around if it is sorted by that already. */
function sortBy(head, kind) {
  const table = head.closest("table"), body = table.tBodies[0];
  const down = head.getAttribute("aria-sort") === "ascending" || (kind === "number" && !head.hasAttribute("aria-sort"));
  for (const other of table.tHead.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const order = kind === "number" ? (a, b) => a - b : new Intl.Collator(undefined, { numeric: true }).compare;
  const rows = [...body.rows].map((row) => [keyOf(row, head.cellIndex, kind), row]);
  rows.sort(([a], [b]) => (down ? order(b, a) : order(a, b)));
  body.append(...rows.map(([, row]) => row));
}

for (const head of document.querySelectorAll("th[data-sort]")) {
  if (head.closest("table").tBodies[0].rows.length < 2) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.title = "Sort";
  button.append(...head.childNodes);
  button.addEventListener("click", () => sortBy(head, head.dataset.sort));
  head.append(button);
}

const search = document.getElementById("search");
const foldable = [...document.querySelectorAll(".part details")];
const tables = [...document.querySelectorAll("table.groups")];

/** Show the rows whose group has the text that is looked for, also in tables that are folded; hide tables without any. */
function find() {
  const wanted = search.value.trim().toLowerCase(), names = new Set();
  for (const table of tables) {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) {
      const name = row.cells[0].textContent.toLowerCase();
      row.hidden = !name.includes(wanted);
      if (wanted && !row.hidden) names.add(name);
    }
    table.closest(".part").hidden = rows.every((row) => row.hidden);
  }
  for (const one of foldable) one.open = wanted !== "";
  document.getElementById("found").textContent = wanted ? `${names.size} found` : "";
}

if (search) {
  search.closest("p").hidden = false;
  search.addEventListener("input", find);
}

const opened = new Set();
addEventListener("beforeprint", () => {
  for (const one of foldable) if (!one.open) { opened.add(one); one.open = true; }
});
addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
  opened.clear();
});
})();
