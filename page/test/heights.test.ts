/** Heights of rows in a long list. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Heights } from "../src/model/heights";

test("rows that were never drawn are as high as those that were drawn first", () => {
  const heights = new Heights();
  heights.take([5, 3, 9, 1], "m", 136);
  assert.deepEqual([...heights.offsets], [0, 136, 272, 408, 544]);
  assert.equal(heights.measure([[0, 50], [1, 70]]), 0);
  assert.deepEqual([...heights.offsets], [0, 50, 120, 180, 240]);
  assert.equal(heights.measure([[0, 50], [1, 70]]), -1);
  assert.equal(heights.measure([[3, 100]]), 3);
  assert.deepEqual([...heights.offsets], [0, 50, 120, 180, 280]);
});

test("a row keeps its height in another order, and loses it with what it depends on", () => {
  const heights = new Heights();
  heights.take([0, 1], "m", 100);
  heights.measure([[0, 40], [1, 60]]);
  heights.take([1, 0, 2], "m", 100);
  assert.deepEqual([...heights.offsets], [0, 60, 100, 150]);
  heights.take([1, 0, 2], "l", 288);
  assert.deepEqual([...heights.offsets], [0, 288, 576, 864]);
});

test("the row at a place is the one that is drawn there, and the last one below the list", () => {
  const heights = new Heights();
  heights.take([0, 1, 2], "m", 10);
  assert.deepEqual([-5, 0, 9.9, 10, 29, 1e9].map((px) => heights.rowAt(px)), [0, 0, 0, 1, 2, 2]);
  heights.take([], "m", 10);
  assert.equal(heights.rowAt(3), 0);
  assert.deepEqual([...heights.offsets], [0]);
});
