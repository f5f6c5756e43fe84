// What an address says of the order reads back as itself, metrics of any name included.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nextSort, readSort, writeSort } from "../src/model/order";

test("an order in an address reads back as itself", () => {
  for (const text of ["score", "-score", "latency.3", "-cost.0", "metric.all.clarity", "-metric.2.nDCG@10", "metric.0.p.1", "metric.1.rating:a b\nc"]) {
    assert.equal(writeSort(readSort(text)), text);
  }
  for (const text of ["plan", "", "metric", "metric.1.", "metric.x.y", "score.x", "latent.1"]) assert.equal(readSort(text), undefined);
});

test("clicks lead through lowest, highest and the plan's order", () => {
  const by = { key: "metric", metric: "clarity" } as const;
  const first = nextSort(undefined, by, 1);
  assert.equal(writeSort(first), "metric.1.clarity");
  const second = nextSort(first, by, 1);
  assert.equal(writeSort(second), "-metric.1.clarity");
  assert.equal(nextSort(second, by, 1), undefined);
  assert.equal(writeSort(nextSort(second, { key: "metric", metric: "words" }, 1)), "metric.1.words");
});
