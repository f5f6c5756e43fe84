// An agent of Mastra behind Mastra's own endpoints: /api/agents/shop/generate and /api/agents/shop/stream.

import { serve } from "@hono/node-server";
import { createOpenAI } from "@ai-sdk/openai";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { MastraServer } from "@mastra/hono";
import { Hono } from "hono";
import { z } from "zod";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: "none" });
const find_order = createTool({
  id: "find_order",
  description: "Says where an order is.",
  inputSchema: z.object({ order: z.number() }),
  execute: async ({ order }) => {
    if (process.env.AGENT_FAILS) throw new Error(`parcel ${order} was delivered to nobody`);
    return `parcel ${order} was delivered on 3 May`;
  },
});
const shop = new Agent({
  id: "shop",
  name: "shop",
  instructions: "You answer for a shop. Look orders up.",
  model: openai.chat("gpt-5-mini"),
  tools: { find_order },
});
const app = new Hono();
await new MastraServer({ app, mastra: new Mastra({ agents: { shop }, logger: false }) }).init();
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);
