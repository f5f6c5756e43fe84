// Requests and replies of the usual shapes are read as messages; what is of another shape stays what it is.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call, Outcome } from "../src/data/source";
import { answerIn, conversationIn, messagesOf } from "../src/model/conversation";
import { judgeCalls } from "../src/model/judged";

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

test("an expectation finds the judge's call that its reason comes from", () => {
  const call = (role: string, said: string) => ({ role, response: JSON.stringify({ choices: [{ message: { content: said } }] }) }) as unknown as Call;
  const outcome = (reason: string, metadata: object) => ({ reason, metadata }) as unknown as Outcome;
  const calls = [call("subject", "The reason is long enough"), call("judge", '{"reasoning": "The \\"reason\\" is long enough", "score": 2}'), call("judge", "another")];
  assert.deepEqual(judgeCalls(outcome('The "reason" is long enough', {}), calls), { calls: [calls[1]], certain: true });
  assert.deepEqual(judgeCalls(outcome("", { jury: [{ reply: "The reason is long" }] }), calls).calls, [calls[1]]);
  assert.deepEqual(judgeCalls(outcome("7 words", { judge: "m" }), calls), { calls: [calls[1], calls[2]], certain: false });
  assert.deepEqual(judgeCalls(outcome("7 words", {}), calls).calls, []);
});
