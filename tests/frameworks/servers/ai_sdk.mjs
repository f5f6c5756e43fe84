// An agent of the Vercel AI SDK behind two endpoints: /api/answer answers in JSON, /api/chat in a stream of UI messages.

import http from "node:http";
import { createOpenAI } from "@ai-sdk/openai";
import { convertToModelMessages, tool, ToolLoopAgent } from "ai";
import { z } from "zod";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: "none" });
const find_order = tool({
  description: "Says where an order is.",
  inputSchema: z.object({ order: z.number() }),
  execute: async ({ order }) => {
    if (process.env.AGENT_FAILS) throw new Error(`parcel ${order} was delivered to nobody`);
    return `parcel ${order} was delivered on 3 May`;
  },
});
const agent = new ToolLoopAgent({
  model: openai.chat("gpt-5-mini"),
  instructions: "You answer for a shop. Look orders up.",
  tools: { find_order },
});

async function answer(request, response) {
  let body = "";
  for await (const piece of request) body += piece;
  const { messages, prompt } = JSON.parse(body);
  if (request.url === "/api/chat") {
    const result = await agent.stream({ messages: await convertToModelMessages(messages) });
    result.pipeUIMessageStreamToResponse(response);
    return;
  }
  const { text, steps } = await agent.generate({ prompt });
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ text, steps }));
}

const server = http.createServer((request, response) =>
  answer(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  }),
);
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
