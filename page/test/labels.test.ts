// What people say is read from events; going back is an event, too; agreement counts cases, not repeats.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Head, Label } from "../src/data/source";
import { facets, toggled } from "../src/model/facets";
import { namesOf, parse, select } from "../src/model/filter";
import { agreement, eventsOf, reviewed, standing, takenBack, thread, type Field, type Value } from "../src/model/labels";
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

test("notes stand one below another until their author takes them back, the last one first", () => {
  const notes = (events: Label[]): Value[] => thread(events).map(({ value }) => value);
  const events = [event("ada", "note", "one"), event("ada", "verdict", "pass"), event("bo", "note", "why?"), event("ada", "note", "two")];
  assert.deepEqual(notes(events), ["one", "why?", "two"]);
  const back = takenBack(events, "ada")!;
  assert.deepEqual(notes([...events, event("ada", back.field, back.value)]), ["one", "why?"]);
  assert.deepEqual(notes([...events, event("ada", "note", null), event("ada", "note", "three")]), ["why?", "three"]);
  assert.deepEqual(notes([]), []);
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

test("each judged metric that people labelled has a facet, which counts what its filter chooses", () => {
  const table = new Table(1);
  const none = [null, null, null];
  table.add({
    rows: ["a", "b", "c"].map((id) => ({ id, description: "", tags: [], metadata: {}, number: 1 })),
    index: [0, 1, 2], row: [0, 1, 2], variant: [0, 0, 0], repeat: [0, 0, 0], outcome: "ppf",
    score: none, latency: none, cost: none, tokens_in: none, tokens_out: none, calls: [1, 1, 1], cached: [0, 0, 0],
    met: [0, 0, 0], asked: [0, 0, 0], error: ["", "", ""], failing: [[], [], []], output: [1, 2, 3], metrics: {},
  });
  const said = (value: string, index: number, metric: string): Label => ({ ...event("ada", "verdict", value, index), metric });
  const odd = 'Says "x", or y: z';
  table.labels = new Map([[0, [said("fail", 0, "policy"), said("pass", 0, odd)]], [1, [said("pass", 1, "policy")]], [2, [event("ada", "verdict", "fail", 2)]]]);
  const head = { columns: [{ name: "v", prompt: "", model: "" }] } as unknown as Head;
  const names = namesOf(head, table, false);
  const context = { head, texts: new Map() };
  const found = facets(table, [], new Uint8Array(3).fill(1), context);
  const counted = (title: string) => found.find((each) => each.title === title)?.values.map(({ value, n }) => [value, n]);
  assert.deepEqual(counted("Label"), [["fail", 2], ["pass", 2]]);
  assert.deepEqual(counted("Label: policy"), [["fail", 1], ["pass", 1]]);
  for (const facet of found.filter(({ title }) => title.startsWith("Label: "))) {
    for (const { value, n } of facet.values) {
      const query = toggled("", names, facet.field, value);
      const { terms, problems } = parse(query, names);
      assert.deepEqual(problems, [], query);
      const chosen = select(table, terms, context);
      assert.equal(chosen.reduce((a, b) => a + b, 0), n, query);
      assert.ok(facets(table, terms, chosen, context).some(({ field, values }) => field === facet.field && values.some((each) => each.value === value && each.on)), query);
      assert.equal(toggled(query, names, facet.field, value), "");
    }
  }
});
