// Markdown becomes elements of a short list, without addresses that could be followed, whatever is written in it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComponentChildren, VNode } from "preact";
import { Follow, Picture } from "../src/parts/links";
import { blocks, tokensOf } from "../src/parts/markdown";
import { CORPUS } from "./corpus";

const ELEMENTS = new Set(
  "p br wbr hr div span strong em del code pre blockquote ul ol li table thead tbody tr th td".split(" "),
);
const ATTRIBUTES = new Set(["class", "role", "aria-level", "start", "title", "children"]);

interface Drawn {
  readonly text: string;
  readonly elements: readonly string[];
}

/** The text and the elements of what is drawn; functions that draw are called, as they would be. */
function drawn(of: ComponentChildren): Drawn {
  if (Array.isArray(of)) {
    const parts = of.map(drawn);
    return { text: parts.map((part) => part.text).join(""), elements: parts.flatMap((part) => part.elements) };
  }
  if (typeof of !== "object" || of === null) return { text: typeof of === "boolean" || of == null ? "" : String(of), elements: [] };
  const { type, props } = of as VNode<{ children?: ComponentChildren }>;
  if (type === Follow || type === Picture) return drawn(props.children); // as long as nobody has asked for more
  if (typeof type === "function") return drawn((type as (given: unknown) => ComponentChildren)(props));
  assert.ok(ELEMENTS.has(type), `an element <${type}>`);
  for (const name of Object.keys(props)) assert.ok(ATTRIBUTES.has(name), `an attribute ${name} of <${type}>`);
  const inner = drawn(props.children);
  return { text: inner.text, elements: [type, ...inner.elements] };
}

const markdown = (text: string): Drawn => drawn(blocks(tokensOf(text) ?? assert.fail("not read")));

test("nothing that is written becomes anything but text", () => {
  for (const text of CORPUS) markdown(text);
});

test("raw HTML is shown as it is written", () => {
  assert.equal(markdown("<b onclick=x>bold</b>").text, "<b onclick=x>bold</b>");
  assert.ok(markdown("a\n\n<script>alert(1)</script>\n").text.includes("<script>alert(1)</script>"));
});

test("a link is its words and its address, an image its description and its address", () => {
  assert.equal(markdown("[here](javascript:alert(1))").text, "here (javascript:alert(1))");
  assert.equal(markdown("![a chart](http://x.example/c.png)").text, "[image: a chart] (http://x.example/c.png)");
  assert.equal(markdown("<http://x.example/>").text, "http://x.example/");
});

test("character references are read once", () => {
  assert.equal(markdown("&lt;b&gt; &amp;lt; &#60; &#x3C; &copy;").text, "<b> &lt; < < &copy;");
});

test("what would not be seen has a name", () => {
  assert.equal(markdown("a\u202Eb `c\u001bd`").text, "a⟨RLO⟩b c⟨ESC⟩d");
});

test("headings, lists, tables and code are what they are elsewhere", () => {
  const found = markdown("# One *two*\n\n- a\n  1. b\n\n| x | y |\n|--|--:|\n| 1 | 2 |\n\n```py\nprint(1)\n```\n\n- [x] done");
  assert.deepEqual(
    found.elements,
    "div em ul li ol li div table thead tr th th tbody tr td td pre ul li".split(" "),
  );
  assert.equal(found.text, "One twoabxy12print(1)☑ done");
});

test("what is nested deeper than can be read is shown as it is written", () => {
  const found = markdown("*a **b ".repeat(20) + "x" + "** *".repeat(20));
  assert.ok(found.text.includes("x"));
  assert.equal(tokensOf("> ".repeat(5_000) + "deep"), undefined);
  assert.equal(tokensOf("- ".repeat(5_000) + "deep"), undefined);
});

test("a text that is long or tangled is given back for what it is, and soon", () => {
  assert.equal(tokensOf("word ".repeat(50_000)), undefined);
  const tangles = ["[", "![", "*a ", "_a", "`", "<", "[a](", "<a ", "**", "~~a", "[a][", "&#", "_ab", "a *b", "](", "\\", "<!--", "|", "- a\n ", "`a ", "a*", "a_ ", "[a]: ", "![a](b", "<a b=", "https://a.", "a@"];
  for (const tangle of tangles) {
    const text = tangle.repeat(150_000 / tangle.length);
    const start = performance.now();
    tokensOf(text);
    const took = performance.now() - start;
    assert.ok(took < 3000, `${JSON.stringify(tangle)} took ${took.toFixed(0)} ms`);
  }
});

test("a word of a hundred thousand letters can be broken, and stays what it is", () => {
  for (const word of ["A".repeat(100_000), "👍".repeat(20_000)]) {
    const { text, elements } = markdown(`before ${word} after`);
    assert.equal(text, `before ${word} after`);
    assert.ok(elements.filter((element) => element === "wbr").length >= 50); // else a browser measures all of it for each line
  }
  assert.ok(!markdown("many short words ".repeat(1000)).elements.includes("wbr"));
});
