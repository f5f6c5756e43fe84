// Text is shown as it is, with a name for what would not be seen, and cut without a loss.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asJson, chunks, clipped, hasLongLine, pieces, quoted, visible } from "../src/model/visible";
import { CORPUS } from "./corpus";

test("what would not be seen has a name, all else is as it was", () => {
  assert.equal(visible("a\u001b[31m\0\u202E\u200B\uFEFF\u0085\x7F\rb"), "a⟨ESC⟩[31m⟨NUL⟩⟨RLO⟩⟨ZWSP⟩⟨BOM⟩⟨U+0085⟩⟨DEL⟩⟨CR⟩b");
  assert.equal(visible("\uD800 \u{E0041}"), "⟨U+D800⟩ ⟨U+E0041⟩");
  const plain = "tabs\tand\nlines, ümläuts, 漢字, עברית, 👩‍👩‍👧 and 🏳️‍🌈";
  assert.equal(visible(plain), plain);
  assert.deepEqual(pieces(plain).filter((piece) => piece.special), []);
});

test("pieces hold the whole text", () => {
  for (const text of CORPUS) assert.equal(pieces(text).map((piece) => piece.text).join(""), text);
});

test("after some dozens of unseen characters the rest comes in one piece", () => {
  const found = pieces("\0".repeat(10_000));
  assert.ok(found.length < 100);
  assert.equal(found.at(-1)?.text, "⟨NUL⟩".repeat(10_000 - found.length + 1));
});

test("chunks hold the whole text, end with lines where they can, and split no character", () => {
  const lines = Array.from({ length: 5000 }, (_, i) => `line ${i}`).join("\n");
  assert.equal(chunks(lines).map((chunk) => chunk.text).join("\n"), lines);
  assert.ok(chunks(lines).every((chunk) => !chunk.open));
  const long = "😀".repeat(50_001);
  const parts = chunks(`a${long}`);
  assert.equal(parts.map((chunk) => chunk.text).join(""), `a${long}`);
  assert.ok(parts.slice(0, -1).every((chunk) => chunk.open && !/[\uD800-\uDBFF]$/.test(chunk.text)));
  assert.equal(chunks("").length, 1);
  assert.equal(chunks(`${"x".repeat(16_000)}\n`).length, 1);
});

test("ten million characters are cut in no time, in lines or in one", () => {
  for (const text of ["x".repeat(1e7), `${"y".repeat(75)}\n`.repeat(131_000)]) {
    const start = performance.now();
    const found = chunks(text);
    for (const chunk of found) pieces(chunk.text);
    hasLongLine(text, 90);
    assert.ok(found.length > 500);
    assert.ok(performance.now() - start < 1500);
  }
});

test("the first part of a text has so many characters and lines", () => {
  assert.deepEqual(clipped("a\nb\nc", 100, 2), { text: "a\nb", more: true });
  assert.deepEqual(clipped("a\nb", 100, 2), { text: "a\nb", more: false });
  assert.deepEqual(clipped("😀😀", 3), { text: "😀", more: true });
});

test("a line is long when it is longer", () => {
  assert.equal(hasLongLine(`${"x".repeat(90)}\n${"y".repeat(90)}`, 90), false);
  assert.equal(hasLongLine(`a\n${"x".repeat(91)}`, 90), true);
});

test("JSON is an object or a list; the rest is text", () => {
  assert.deepEqual(asJson(' {"a": [1]} '), { a: [1] });
  assert.equal(asJson("12"), undefined);
  assert.equal(asJson("{oops"), undefined);
});

test("joiners are spelling between letters of scripts that have them, and named anywhere else", () => {
  const spelt = "می\u200Cخواهم, क्\u200Dष, ක්\u200Dෂ, 👩‍👩‍👧‍👦";
  assert.equal(visible(spelt), spelt);
  assert.equal(visible("a\u200Cb\u200Dc می\u200C "), "a⟨ZWNJ⟩b⟨ZWJ⟩c می⟨ZWNJ⟩ ");
});

test("a text hidden in selectors and other characters without a shape is named", () => {
  const chosen = "❤\uFE0F 1\uFE0F\u20E3 ☎\uFE0E 葛\u{E0100}飾 ≨\uFE00";
  assert.equal(visible(chosen), chosen);
  const hidden = "a\uFE01 😀\uFE01\uFE0E😀\u{E0148}\u{E0155} x\u034F\u2800\u{1D173}\u{E01FF}";
  assert.deepEqual([...visible(hidden).matchAll(/⟨([^⟩]+)⟩/gu)].map(([, name]) => name), ["U+FE01", "U+FE0E", "U+E0148", "U+E0155", "CGJ", "U+2800", "U+1D173", "U+E01FF"]);
});

test("what a message puts between backticks is code, and other backticks stay", () => {
  assert.deepEqual(quoted("asked twice; `evenhand retry --no-cache` asks again"), [
    { text: "asked twice; ", code: false }, { text: "evenhand retry --no-cache", code: true }, { text: " asks again", code: false },
  ]);
  for (const odd of ["", "one ` alone", "two `` in a row", "over `a\nline` end", "```json"]) {
    assert.equal(quoted(odd).map(({ text, code }) => (code ? `\`${text}\`` : text)).join(""), odd);
    assert.ok(quoted(odd).every(({ code }) => !code));
  }
});
