// The calls of the curator, from /openapi.json, each with a form to try it. No other address is asked.
"use strict";

const EXAMPLE = { count: "age > 40", by: ["sex"], epsilon: "0.1" };
const CHARGES = "/answers"; // what a question is sent to, and what its dry run is sent to instead
const DRY_RUN = "/preview";

const element = (name, text = "", attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

const token = () => document.getElementById("token").value.trim();

/** The address of a call, relative to this page, with its parameters put in. */
function addressOf(path, form) {
  const query = new URLSearchParams();
  let address = path.slice(1);
  for (const input of form.querySelectorAll("[data-parameter]")) {
    const value = input.value.trim();
    if (input.dataset.place === "path") {
      if (!value) throw new Error(`${input.dataset.parameter} must be given`);
      address = address.replace(`{${input.dataset.parameter}}`, encodeURIComponent(value));
    } else if (input.dataset.place === "query" && value) {
      query.set(input.dataset.parameter, value);
    }
  }
  return query.size ? `${address}?${query}` : address;
}

function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The same request for a shell. The token is not written out. */
function curlOf(method, address, body, key) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`curl -X ${method} ${quote(new URL(address, document.baseURI).href)}`, '-H "Authorization: Bearer $INBOUNDS_TOKEN"'];
  if (key) lines.push(`-H 'Idempotency-Key: ${key}'`);
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quote(body)}`);
  return lines.join(" \\\n  ");
}

async function send(method, address, body, key, out) {
  out.replaceChildren(element("p", "waiting …"));
  const headers = { accept: "application/json" };
  if (token()) headers.authorization = `Bearer ${token()}`;
  if (key) headers["idempotency-key"] = key;
  if (body !== undefined) headers["content-type"] = "application/json";
  const parts = [element("p", "The same from a shell:", { class: "hint" }), element("pre", curlOf(method, address, body, key))];
  try {
    const response = await fetch(address, { method, headers, body, credentials: "omit", redirect: "error" });
    let text = await response.text();
    try { text = JSON.stringify(JSON.parse(text), null, 1); } catch { /* not JSON: shown as it is */ }
    out.replaceChildren(element("p", `${response.status} ${response.statusText}`, { class: "status" }), element("pre", text), ...parts);
  } catch (error) {
    const again = key ? ` Send it again with the key ${key}, which is charged only once.` : "";
    out.replaceChildren(element("p", `No answer came: ${error.message}.${again}`, { role: "alert" }), ...parts);
  }
}

function fieldOf(parameter) {
  const label = element("label", `${parameter.name}${parameter.required ? "" : " (may be left out)"}`);
  const input = element("input", "", { spellcheck: "false", autocomplete: "off" });
  Object.assign(input.dataset, { parameter: parameter.name, place: parameter.in });
  label.append(input);
  if (parameter.description) label.append(element("small", parameter.description));
  return label;
}

function callOf(path, method, operation) {
  const details = element("details"), summary = element("summary"), form = element("form"), out = element("div", "", { "aria-live": "polite" });
  summary.append(element("b", method), element("code", path), element("span", ` ${operation.description ?? ""}`));
  const inside = element("div");
  const parameters = operation.parameters ?? [];
  for (const one of parameters) if (one.in !== "header") form.append(fieldOf(one));
  let body;
  if (operation.requestBody) {
    const label = element("label", "The question, as JSON");
    body = element("textarea", JSON.stringify(EXAMPLE, null, 1), { spellcheck: "false" });
    label.append(body);
    form.append(label);
  }
  const text = () => (body ? JSON.stringify(JSON.parse(body.value)) : undefined);
  const showError = (error) => out.replaceChildren(element("p", error.message, { role: "alert" }));
  const changes = method !== "GET" && !path.endsWith(DRY_RUN);
  const asks = path.endsWith(CHARGES) && method === "POST";
  if (!changes || asks) {
    const dry = asks ? path.slice(0, -CHARGES.length) + DRY_RUN : path;
    form.append(element("button", asks ? "Dry run" : "Send", { type: "submit" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      try { send(method, addressOf(dry, form), text(), "", out); } catch (error) { showError(error); }
    });
  }
  if (changes) {
    const sure = element("input", "", { type: "checkbox" }), label = element("label");
    label.append(sure, element("span", asks ? " Charge the people's budget. It is never given back." : " Change this on the curator."));
    const button = element("button", asks ? "Ask" : "Send", { type: "button", class: "charge", disabled: "" });
    sure.addEventListener("change", () => { button.disabled = !sure.checked; });
    button.addEventListener("click", () => {
      sure.checked = false;
      button.disabled = true;
      try { send(method, addressOf(path, form), text(), asks ? newKey() : "", out); } catch (error) { showError(error); }
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.append(label, button);
  }
  inside.append(form, out);
  details.append(summary, inside);
  return details;
}

async function main() {
  const failure = document.getElementById("failure");
  try {
    const described = await (await fetch("openapi.json", { credentials: "omit" })).json();
    document.getElementById("about").textContent = described.info.description;
    const calls = document.getElementById("calls");
    for (const [path, methods] of Object.entries(described.paths)) {
      for (const [method, operation] of Object.entries(methods)) calls.append(callOf(path, method.toUpperCase(), operation));
    }
  } catch (error) {
    failure.hidden = false;
    failure.textContent = `The description of the calls could not be read: ${error.message}`;
  }
}

main();
