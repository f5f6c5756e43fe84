// What people say is read from events; going back is an event, too; agreement counts cases, not repeats.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Label } from "../src/data/source";
import { agreement, eventsOf, reviewed, standing, takenBack, type Field, type Value } from "../src/model/labels";
import { Table } from "../src/model/table";

let seq = 0;
const event = (author: string, field: Field, value: Value, index = 0, blind = false): Label => ({ seq: ++seq, at: seq, author, index, field, value, blind });

test("the last event of an author and a field stands, null takes it back", () => {
  const said = standing([
    event("ada", "verdict", "pass", 0, true), event("bo", "verdict", "fail"), event("ada", "score", 4), event("ada", "verdict", null),
    event("bo", "note", "odd"), event("cy", "star", true), event("cy", "star", null),
  ]);
  assert.deepEqual(said, [
    { author: "ada", score: 4, blind: false },
    { author: "bo", verdict: "fail", note: "odd", blind: false },
  ]);
});

test("events are those of a trial, in order", () => {
  const [a, b, c] = [event("x", "star", true, 1), event("x", "star", null, 2), event("x", "star", null, 1)];
  assert.deepEqual(eventsOf([c, b, a], 1), [a, c]);
});

test("going back goes on before what was taken back, until nothing is left", () => {
  const events = [event("ada", "verdict", "pass"), event("bo", "verdict", "fail"), event("ada", "score", 3), event("ada", "score", 5)];
  const steps: unknown[] = [];
  for (let back = takenBack(events, "ada"); back !== undefined; back = takenBack(events, "ada")) {
    steps.push([back.field, back.value]);
    events.push(event("ada", back.field, back.value));
    assert.ok(steps.length < 10);
  }
  assert.deepEqual(steps, [["score", 3], ["score", null], ["verdict", null]]);
  assert.equal(takenBack(events, "nobody"), undefined);
});

test("agreement is of people's verdicts with passes and failures; errors and trials unknown count for nothing", () => {
  const table = new Table(1);
  const none = [null, null, null, null, null];
  table.add({
    rows: ["a", "b", "c"].map((id) => ({ id, description: "", tags: [], metadata: {} })),
    index: [0, 1, 2, 3, 4], row: [0, 0, 1, 1, 2], variant: [0, 0, 0, 0, 0], repeat: [0, 1, 0, 1, 0], outcome: "ppffe",
    score: none, latency: none, cost: none, tokens_in: none, tokens_out: none, calls: [1, 1, 1, 1, 1], cached: [0, 0, 0, 0, 0],
    met: [0, 0, 0, 0, 0], asked: [0, 0, 0, 0, 0], error: ["", "", "", "", "x"], failing: [[], [], [], [], []], output: [1, 2, 3, 4, 5], metrics: {},
  });
  const found = agreement(table, [
    event("ada", "verdict", "pass", 0, true), event("ada", "verdict", "fail", 1), event("bo", "verdict", "pass", 2), event("bo", "verdict", "fail", 3),
    event("bo", "verdict", "fail", 0), event("bo", "verdict", null, 0), event("ada", "verdict", "pass", 4), event("ada", "verdict", "pass", 99),
  ]);
  assert.deepEqual([found.n, found.agreed, found.cases, found.tooKind, found.tooStrict, found.blind], [4, 2, 2, 1, 1, 1]);
  const { least, most, low, high } = found.rate!;
  assert.ok(least === 0.5 && most === 0.5 && low > 0 && low < 0.5 && high > 0.5);
});

test("how far a review is counts the last decision on each drawn trace, whoever made it", () => {
  const labels = [
    event("ada", "dataset", "keep", 1), event("bo", "dataset", "leave out", 1), event("ada", "dataset", "leave out", 2), event("ada", "dataset", null, 2),
    event("ada", "dataset", "keep", 3), event("ada", "dataset", "leave out", 9), event("ada", "verdict", "pass", 4),
  ];
  assert.deepEqual(reviewed([1, 2, 3, 4], labels), { kept: 1, leftOut: 1 });
  assert.deepEqual(reviewed([], labels), { kept: 0, leftOut: 0 });
});
