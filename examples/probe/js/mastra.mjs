// An agent of Mastra, with a model and tools of the AI SDK.
import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { jsonSchema, tool } from "ai";
import { task, tools, run } from "./bench.mjs";

const agent = new Agent({
  id: "probed", name: "probed", instructions: "Do the task.",
  model: createOpenAI().chat("gpt-5"),
  tools: Object.fromEntries(tools.map((t) => [t.name, tool({
    description: t.description, inputSchema: jsonSchema(t.inputSchema), execute: (args) => run(t.name, args),
  })])),
});
console.log((await agent.generate(task)).text);
