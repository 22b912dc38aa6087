// The studio's script: it asks the server again and puts the answer in its place. No number is computed here.
"use strict";

const tab = Math.random().toString(36).slice(2);
const headers = { "x-part": "1", "x-tab": tab };
const running = new Map();
document.documentElement.classList.add("scripted");

async function ask(url, options = {}) {
  const answer = await fetch(url, { headers, ...options });
  if (answer.redirected) { location.assign(answer.url); return null; }
  return { text: answer.status === 204 ? "" : await answer.text(), url: answer.headers.get("x-url") };
}

// The last question of a place wins; earlier answers that come late are dropped.
async function fill(place, url, options = {}) {
  running.get(place)?.abort();
  const mine = new AbortController();
  running.set(place, mine);
  place.setAttribute("aria-busy", "true");
  try {
    const found = await ask(url, { ...options, signal: mine.signal });
    if (!found || !document.contains(place)) return null;
    place.innerHTML = found.text;
    begin(place);
    return found;
  } catch (error) {
    if (error.name !== "AbortError") place.textContent = "The studio does not answer: is it still running?";
    return null;
  } finally {
    if (running.get(place) === mine) place.removeAttribute("aria-busy");
  }
}

// --- what a new part of the page needs ------------------------------------------------------------------------

function begin(root) {
  root.querySelectorAll("[data-ask]").forEach((place) => fill(place, place.dataset.ask));
  root.querySelectorAll("[data-look]").forEach((place) => look(document.querySelector(place.dataset.form)));
  root.querySelectorAll("[data-again]").forEach((note) => {
    const place = note.closest("[data-part]");
    const body = place.dataset.form ? bodyOf(document.querySelector(place.dataset.form)) : null;
    const options = body ? { method: "POST", body } : {};
    setTimeout(() => { if (document.contains(note)) fill(place, note.dataset.again, options); }, 500);
  });
}

const bodyOf = (form) => new URLSearchParams(new FormData(form));

// --- live forms -----------------------------------------------------------------------------------------------

let waiting = 0;
function later(work, wait) { clearTimeout(waiting); waiting = setTimeout(work, wait); }

// Attributes by name: a field called "action" or "dataset" would stand in the place of the form's own.
const posts = (form) => form.getAttribute("method") === "post";

async function look(form) {
  const place = document.querySelector(form.getAttribute("data-live"));
  if (posts(form)) return fill(place, form.getAttribute("data-url"), { method: "POST", body: bodyOf(form) });
  const found = await fill(place, `${form.getAttribute("action")}?${bodyOf(form)}`);
  if (found?.url) history.replaceState(null, "", found.url);
  return found;
}

function follow(slider) {
  const typed = slider.form.elements[slider.dataset.with];
  const stops = slider.dataset.stops?.split(" ");
  typed.value = stops ? stops[slider.value] : slider.value;
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (event.target.dataset.with) follow(event.target);
  if (form?.hasAttribute("data-live")) later(() => look(form), posts(form) ? 350 : 90);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.hasAttribute("data-live") && !posts(form)) { event.preventDefault(); look(form); }
  if (form.hasAttribute("data-stop")) {
    event.preventDefault();
    ask(form.getAttribute("action"), { method: "POST" }).then(() => { form.closest(".working").textContent = "Stopped."; });
  }
  if (form.hasAttribute("data-once")) form.querySelectorAll("button").forEach((button) => { setTimeout(() => { button.disabled = true; }); });
});

// A column that is declared otherwise moves, in every choice of columns, between those that fit and the others.
document.addEventListener("change", (event) => {
  const name = event.target.closest?.("[data-column]")?.dataset.column;
  if (!event.target.matches("select[name$='.use']")) return;
  document.querySelectorAll("select[data-columns]").forEach((choice) => {
    const [fitting, others] = choice.querySelectorAll("optgroup");
    const option = [...choice.querySelectorAll("optgroup > option")].find((own) => own.value === name);
    if (option) (event.target.value === choice.dataset.columns ? fitting : others).append(option);
  });
});

// --- reading a published value -------------------------------------------------------------------------------------

function read(row) {
  document.querySelectorAll("a.report.chosen").forEach((own) => own.classList.remove("chosen"));
  row.classList.add("chosen");
  const url = new URL(row.getAttribute("href"), location.href);
  const place = document.querySelector("#reading");
  if (!place) return;
  const value = url.searchParams.get("read");
  const select = document.querySelector("[data-read] select");
  if (select) select.value = value;
  const kept = document.querySelector("form.explore input[name=read]");
  if (kept) kept.value = value;
  fill(place, `/explore/reading${url.search}`);
}

let pointed = 0;
document.addEventListener("pointerover", (event) => {
  const row = event.target.closest?.("a.report");
  if (!row || row.classList.contains("chosen")) return;
  clearTimeout(pointed);
  pointed = setTimeout(() => read(row), 40);
});

document.addEventListener("click", (event) => {
  const row = event.target.closest?.("a.report");
  if (row) { event.preventDefault(); read(row); }
  const button = event.target.closest?.("[data-copy]");
  if (button) {
    navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent)
      .then(() => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); });
  }
});

document.addEventListener("change", (event) => {
  const chooser = event.target.closest?.("[data-read]");
  if (!chooser) return;
  const name = event.target.value;
  const rows = [...document.querySelectorAll("a.report")];
  const row = rows.find((own) => new URL(own.getAttribute("href"), location.href).searchParams.get("read") === name);
  if (row) read(row);
});

// On a phone the result comes before all that could be chosen.
if (matchMedia("(max-width: 61rem)").matches) {
  document.querySelectorAll("details[data-wide]").forEach((part) => { part.open = false; });
}

begin(document);
