// No file of the page imports, in however many steps, what imports it.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

test("there are no circles of files", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name)).map((name) => join("src", name));
  const left = new Map(files.map((file) => {
    const named = [...readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"/g)].map(([, path]) => join(dirname(file), path!));
    return [file, named.flatMap((path) => files.filter((each) => each.replace(/\.tsx?$/, "") === path))] as const;
  }));
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    for (const [file, imports] of left) if (!imports.some((each) => left.has(each))) left.delete(file);
  }
  assert.ok(files.length > 50);
  assert.deepEqual([...left.keys()], []);
});
