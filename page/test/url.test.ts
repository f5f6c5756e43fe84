// Which addresses mean something.
import assert from "node:assert/strict";
import { test } from "node:test";
import { read, write } from "../src/state/url";

test("an address that means nothing is kept, and never taken for the list of runs", () => {
  for (const known of ["", "#", "#/", "#/?q=a", "#/run/ID", "#/run/ID/", "#/run/ID?view=summary"]) assert.equal(read(known).lost, "", known);
  for (const lost of ["#/run/ID/charts", "#/runs", "#/run/", "#nothing"]) assert.equal(read(lost).lost, lost.slice(1));
  assert.equal(write(read("#/run/ID/charts")), "#/");
});
