// Reports that are drawn once for each period, stored before they are sent, and sent again unchanged.

const NAME = /^[\p{L}\p{N} ._:/-]{1,100}$/u;

/**
 * Sends a person's reports. For each period one report is drawn and stored; asking again in the same period sends the same
 * report, whatever the value is then. After `periods` periods nothing more is drawn.
 */
export class Reporter {
  #mechanism;
  #storage;

  /** name: of the collection. periods: the most that will ever be reported in. storage: see `openStorage`. */
  constructor(mechanism, { name, periods, storage }) {
    checkName(name, "name");
    if (!Number.isInteger(periods) || periods < 1) throw new TypeError("periods must be a whole number from 1");
    if (typeof storage?.update !== "function") throw new TypeError("storage must have a method update");
    this.#mechanism = mechanism;
    this.#storage = storage;
    this.name = name;
    this.periods = periods;
    Object.freeze(this);
  }

  /** The body of the report of this period: drawn and stored at the first call, the same text ever after. */
  async report(value, period) {
    checkName(period, "period");
    const stored = await this.#change((state) => {
      if (!Object.hasOwn(state.reports, period)) this.#draw(state, value, period);
    });
    return stored.reports[period].body;
  }

  /** Store the report, then have `deliver` send its body. Call it again after a failure or a reload: the body is the same. */
  async send(value, period, deliver) {
    const body = await this.report(value, period);
    const { reports } = await this.#change(() => {});
    if (reports[period].delivered) return false;
    await deliver(body);
    await this.#change((state) => (state.reports[period].delivered = true));
    return true;
  }

  #draw(state, value, period) {
    if (Object.keys(state.reports).length >= this.periods) throw new RangeError(`reports must be in at most ${this.periods} periods`);
    const report = this.#mechanism.randomize(value);
    state.reports[period] = { body: padded(period, report, this.#mechanism.longestReport), delivered: false };
  }

  /** Change what is stored and return it, once it is durable. */
  async #change(change) {
    const fresh = { mechanism: this.#mechanism.digest, periods: this.periods, reports: {} };
    const text = await this.#storage.update(this.name, (stored) => {
      const state = stored === null ? fresh : JSON.parse(stored);
      const same = state.mechanism === fresh.mechanism && state.periods === fresh.periods;
      if (!same) throw new Error("reports of this name are stored for another passport or number of periods; use another name");
      change(state);
      return JSON.stringify(state);
    });
    return JSON.parse(text);
  }
}

function checkName(text, argument) {
  if (typeof text !== "string" || !NAME.test(text) || text === "__proto__")
    throw new TypeError(`${argument} must be a short text of letters, digits, spaces and . _ : / -`);
}

/** The body of a request. Spaces after the report make all bodies of a period equally long. */
function padded(period, report, longest) {
  const text = JSON.stringify(report);
  const spaces = " ".repeat(longest - new TextEncoder().encode(text).length);
  return `{"period":${JSON.stringify(period)},"report":${text}${spaces}}`;
}

/**
 * Open the browser's storage for reports. Its `update(key, change)` calls change(text or null) for the text that is stored,
 * stores the text that it returns, and resolves with that text once it is durable. No two changes of a key overlap, also not
 * in two tabs. An app outside a browser brings an object with such a method.
 */
export async function openStorage(database = "inbounds") {
  const opened = await finished(indexedDB.open(database, 1), (request) => {
    request.onupgradeneeded = () => request.result.createObjectStore("reports");
  });
  return {
    update: (key, change) =>
      new Promise((resolve, reject) => {
        const transaction = opened.transaction("reports", "readwrite", { durability: "strict" });
        const store = transaction.objectStore("reports");
        let text = null;
        const reading = store.get(key);
        reading.onsuccess = () => {
          try {
            text = change(reading.result ?? null);
            store.put(text, key);
          } catch (problem) {
            reject(problem);
            transaction.abort();
          }
        };
        transaction.oncomplete = () => resolve(text);
        transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("the report could not be stored"));
      }),
  };
}

function finished(request, prepare) {
  return new Promise((resolve, reject) => {
    prepare(request);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
