// A ToolLoopAgent of the AI SDK.
import { createOpenAI } from "@ai-sdk/openai";
import { ToolLoopAgent, jsonSchema, tool } from "ai";
import { task, tools, run } from "./bench.mjs";

const agent = new ToolLoopAgent({
  model: createOpenAI().chat("gpt-5"),
  tools: Object.fromEntries(tools.map((t) => [t.name, tool({
    description: t.description, inputSchema: jsonSchema(t.inputSchema), execute: (args) => run(t.name, args),
  })])),
});
console.log((await agent.generate({ prompt: task })).text);
