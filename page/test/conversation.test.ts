// Requests and replies of the usual shapes are read as messages; what is of another shape stays what it is.
import assert from "node:assert/strict";
import { test } from "node:test";
import { alike, answerIn, conversationIn, messagesOf } from "../src/model/conversation";

test("messages of the usual requests", () => {
  const hello = [{ role: "system", text: "Be brief.", rest: [] }, { role: "user", text: "Hi", rest: [] }];
  assert.deepEqual(messagesOf({ body: { messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }] } }), hello);
  assert.deepEqual(messagesOf({ body: { system: "Be brief.", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] } }), hello);
  assert.deepEqual(messagesOf({ body: { systemInstruction: { parts: [{ text: "Be brief." }] }, contents: [{ role: "user", parts: [{ text: "Hi" }] }] } }), hello);
  assert.deepEqual(messagesOf({ body: { instructions: "Be brief.", input: "Hi" } }), hello);
  assert.deepEqual(messagesOf({ prompt: '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]' }), hello);
  assert.equal(messagesOf({ body: { query: 1 } }), undefined);
  assert.equal(messagesOf(null), undefined);
});

test("what a message holds besides text is kept", () => {
  const image = { type: "image_url", image_url: { url: "http://x.example" } };
  assert.deepEqual(conversationIn(JSON.stringify([{ role: "user", content: [{ type: "text", text: "Look" }, image], name: "a" }])), [
    { role: "user", text: "Look", rest: [image, { name: "a" }] },
  ]);
  assert.equal(conversationIn("[1, 2]"), undefined);
  assert.equal(conversationIn("Say hello"), undefined);
});

test("the words of the usual replies", () => {
  for (const reply of [
    { choices: [{ message: { content: "Hello" } }] }, { choices: [{ text: "Hello" }] }, { content: [{ type: "text", text: "Hello" }] },
    { candidates: [{ content: { parts: [{ text: "Hello" }] } }] }, { output: [{ type: "message", content: [{ type: "output_text", text: "Hello" }] }] },
    { output: "Hello" },
  ]) {
    assert.equal(answerIn(JSON.stringify(reply)), "Hello");
  }
  assert.equal(answerIn('{"embedding": [1]}'), undefined);
  assert.equal(answerIn("<html>"), undefined);
});

test("turns that the call before sent as well are known, and no others", () => {
  const [first, second] = [["Hi", "Hello"], ["Hi", "Hello", "And now?"]].map((texts) => messagesOf({ messages: texts.map((content, i) => ({ role: i % 2 ? "assistant" : "user", content })) })!);
  assert.equal(alike(first!, second!), 2);
  assert.equal(alike(second!, second!), 3);
  assert.equal(alike([], second!), 0);
  assert.equal(alike(second!.slice(1), second!), 0);
});

test("an empty list in a message is no part of it", () => {
  const [message] = messagesOf({ messages: [{ role: "user", content: "Hi", items: [], refusal: null, name: "Ada" }] }) ?? [];
  assert.deepEqual(message, { role: "user", text: "Hi", rest: [{ name: "Ada" }] });
});
