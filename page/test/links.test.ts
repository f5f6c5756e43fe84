// Which addresses in a text may be followed, and which pictures may be shown, once somebody asks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linkedIn, linkOf, pictureOf } from "../src/model/links";
import { CORPUS } from "./corpus";

const PIXEL = "data:image/png;base64,iVBORw0KGgo=";

test("links of the web and of mail are found, without the sentence around them", () => {
  const text = "See https://example.com/a_(b)?c=1, (http://example.org/x). Mail mailto:me@example.com! https://example.com/a_(b)?c=1 <https://x.org/y>";
  assert.deepEqual(linkedIn(text).links, ["https://example.com/a_(b)?c=1", "http://example.org/x", "mailto:me@example.com", "https://x.org/y"]);
});

test("nothing but the web and mail can be followed", () => {
  for (const address of ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "//evil.example", "/relative", "blob:https://x/1", "https://user:secret@x.org/", "http://[", `https://x.org/${"a".repeat(3000)}`]) {
    assert.equal(linkOf(address), undefined, address);
  }
  assert.equal(linkOf("https://example.com/"), "https://example.com/");
  assert.equal(linkOf("http://127.0.0.1:8000/", "127.0.0.1"), undefined);
  assert.equal(linkOf("mailto:me@example.com", ""), "mailto:me@example.com");
});

test("only pictures that are in the text, of kinds that cannot run anything, are shown", () => {
  assert.equal(pictureOf(PIXEL), PIXEL);
  assert.equal(pictureOf(PIXEL), PIXEL); // again: nothing is kept from the first look
  for (const address of ["data:image/svg+xml;base64,PHN2Zz4=", "data:text/html;base64,PGI+", `${PIXEL} x`, `x${PIXEL}`, "https://example.com/x.png", "data:image/png,raw"]) {
    assert.equal(pictureOf(address), undefined, address);
  }
  assert.deepEqual(linkedIn(`a ![x](${PIXEL}) b ${PIXEL}`).pictures, [PIXEL]);
});

test("hostile texts give links of the web alone", () => {
  for (const text of CORPUS) for (const link of linkedIn(text).links) assert.match(link, /^(https?:\/\/|mailto:)/i);
});
