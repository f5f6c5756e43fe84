// What is drawn as Markdown at once: what was written as such, and no code, diff or plain text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { looksLikeMarkdown } from "../src/model/looks";
import { CORPUS } from "./corpus";

test("what was written as Markdown is", () => {
  for (const text of ["## Options\n\nSome.", "Take **this** one.", "```py\nx = 1\n```", "| a | b |\n| --- | --- |\n| 1 | 2 |", "a | b\n--- | ---", "Three:\n\n- one\n- two", "1. first\n2. second", "1. first\r\n2. second", "See [this](https://a.example)."])
    assert.ok(looksLikeMarkdown(text), text);
});

test("code, differences, lines and figures are not", () => {
  for (const text of ["", "Roses are red,\nviolets are blue", "# a comment\nx = 2 ** 3 ** 4\n# another", "- old\n+ new", "key:\n  - a\n  - b", "a * b * c", "f(*args, **kwargs), g(**kwargs)", "a[0](x)", "--- a/file\n+++ b/file", '{"a": [1]}', "1. only"])
    assert.ok(!looksLikeMarkdown(text), text);
});

test("it ends in time", () => {
  for (const text of [...CORPUS, ..." |-*[#`\n".split("").map((sign) => sign.repeat(50_000)), "**a".repeat(10_000), "[a](".repeat(10_000)]) {
    const start = performance.now();
    looksLikeMarkdown(text);
    assert.ok(performance.now() - start < 100, text.slice(0, 20));
  }
});
