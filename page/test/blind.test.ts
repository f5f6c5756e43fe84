// Blind, a filter may only ask for what tells nothing of variants and verdicts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { blinded } from "../src/model/blind";
import { parse } from "../src/model/query";

const NAMES = { metrics: ["clarity"], columns: [{ name: "best", prompt: "best", model: "m" }], baseline: true };
const kept = (query: string): number => blinded(parse(query, NAMES)).terms.length;

test("texts, cases, tags, metadata and labels are asked for as ever", () => {
  for (const query of ["refund", '"30 days"', "case:7", "-tag:billing", "metadata.topic:a,b", "has:note", "has:star,label", "label:pass", "rating>=4", "is:different", "repeat:2"]) {
    assert.equal(kept(query), 1, query);
  }
});

test("what would tell is left out and said, whether or not it is negated", () => {
  for (const query of [
    "status:fail", "-status:pass", "variant:best", "prompt:best", "model:m", "failing:x", "error:code", "has:error", "has:note,score", "is:flaky", "is:cached",
    "changed:regressed", "score<0.5", "passed=1", "latency>1s", "cost>0", "tokens>3", "change<0", "clarity<3", "rating@best>4", "repeat<score",
  ]) {
    const { terms, problems } = blinded(parse(query, NAMES));
    assert.deepEqual([terms.length, problems.length, problems[0]?.end], [0, 1, query.length], query);
  }
});

test("what is wrong is told without the names of columns and metrics", () => {
  const { problems } = blinded(parse("score@bast<1 clarit<2", NAMES));
  assert.equal(problems.length, 2);
  assert.doesNotMatch(JSON.stringify(problems), /best|clarity/);
});
