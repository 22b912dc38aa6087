import assert from "node:assert/strict";
import { test } from "node:test";
import { Reporter } from "../src/index.js";

/** Storage in memory that keeps the contract: changes of a key follow each other. */
function memory(texts = new Map()) {
  let turn = Promise.resolve();
  const update = (key, change) => {
    const next = turn.then(() => {
      const text = change(texts.get(key) ?? null);
      texts.set(key, text);
      return text;
    });
    turn = next.catch(() => {});
    return next;
  };
  return { update, texts };
}

/** A mechanism whose reports are 0, 1, 2, …, so that another draw would be noticed. */
function counting(digest = "d") {
  let drawn = 0;
  return { digest, longestReport: 4, randomize: () => drawn++ };
}

const options = (storage) => ({ name: "mood", periods: 2, storage });

test("a report is stored before it is delivered, and a failed delivery sends the same body again, also after a reload", async () => {
  const storage = memory();
  const mechanism = counting();
  const bodies = [];
  const failing = async (body) => {
    assert.ok(storage.texts.get("mood").includes(JSON.stringify(body)));
    bodies.push(body);
    throw new Error("offline");
  };
  await assert.rejects(new Reporter(mechanism, options(storage)).send("yes", "2026-11", failing), /offline/);
  await assert.rejects(new Reporter(mechanism, options(storage)).send("no", "2026-11", failing), /offline/);
  assert.equal(await new Reporter(mechanism, options(storage)).send("no", "2026-11", async (body) => bodies.push(body)), true);
  assert.equal(await new Reporter(mechanism, options(storage)).send("no", "2026-11", () => assert.fail()), false);
  assert.deepEqual(new Set(bodies).size, 1);
  assert.deepEqual(JSON.parse(bodies[0]), { period: "2026-11", report: 0 });
});

test("many calls at once draw one report", async () => {
  const reporter = new Reporter(counting(), options(memory()));
  const bodies = await Promise.all(Array.from({ length: 20 }, () => reporter.report("yes", "now")));
  assert.equal(new Set(bodies).size, 1);
});

test("no more periods are reported than were declared", async () => {
  const reporter = new Reporter(counting(), options(memory()));
  await reporter.report("yes", "one");
  await reporter.report("yes", "two");
  await assert.rejects(reporter.report("yes", "three"), RangeError);
  assert.equal(JSON.parse(await reporter.report("yes", "one")).report, 0);
});

test("reports of another passport are not drawn on top", async () => {
  const storage = memory();
  await new Reporter(counting(), options(storage)).report("yes", "one");
  await assert.rejects(new Reporter(counting("other"), options(storage)).report("yes", "two"), /another passport/);
  await assert.rejects(new Reporter(counting(), { ...options(storage), periods: 3 }).report("yes", "two"), /number of periods/);
});

test("what cannot be stored is not delivered", async () => {
  const storage = { update: async () => Promise.reject(new Error("full")) };
  await assert.rejects(new Reporter(counting(), options(storage)).send("yes", "one", () => assert.fail()), /full/);
});

test("all bodies of a period are equally long, whatever the report's letters", async () => {
  const reports = ["ä", "yes", "x", "€€"];
  const longestReport = 8;
  const lengths = await Promise.all(
    reports.map(async (report) => {
      const mechanism = { digest: "d", longestReport, randomize: () => report };
      const body = await new Reporter(mechanism, options(memory())).report("v", "one");
      assert.equal(JSON.parse(body).report, report);
      return new TextEncoder().encode(body).length;
    }),
  );
  assert.equal(new Set(lengths).size, 1);
});

test("names and numbers of periods are checked", async () => {
  const storage = memory();
  assert.throws(() => new Reporter(counting(), { name: "", periods: 1, storage }), TypeError);
  assert.throws(() => new Reporter(counting(), { name: "x", periods: 0, storage }), TypeError);
  assert.throws(() => new Reporter(counting(), { name: "x", periods: 1, storage: {} }), TypeError);
  await assert.rejects(new Reporter(counting(), options(storage)).report("yes", "__proto__"), TypeError);
});
