// What an element says beside its text holds nothing that cannot be seen, whoever draws it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { h } from "preact";
import { nameWhatIsNotSeen } from "../src/parts/attributes";

nameWhatIsNotSeen();

test("titles, accessible names and options name what would not be seen", () => {
  const properties = { title: "gnp\u202Eexe", "aria-label": "\u001b[31m", "data-tag": "kept\u202E" };
  assert.deepEqual({ ...h("span", properties).props }, { title: "gnp⟨RLO⟩exe", "aria-label": "⟨ESC⟩[31m", "data-tag": "kept\u202E" });
  assert.deepEqual({ ...h("option", { value: "\u202E" }, "\u202E").props }, { value: "\u202E", children: "⟨RLO⟩" });
  assert.equal(h("optgroup", { label: "\u200B" }).props.label, "⟨ZWSP⟩");
});

test("a title holds no whole prompt, and text in an element is left alone", () => {
  assert.equal(h("div", { title: "x".repeat(500_000) }).props.title, `${"x".repeat(2000)}…`);
  assert.equal(h("div", null, "\u202E").props.children, "\u202E");
});
