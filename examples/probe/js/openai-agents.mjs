// An agent of @openai/agents, over the Responses API.
import { Agent, run as runAgent, setTracingDisabled, tool } from "@openai/agents";
import { task, tools, run } from "./bench.mjs";

setTracingDisabled(true);
const agent = new Agent({
  name: "probed", model: "gpt-5",
  tools: tools.map((t) => tool({
    name: t.name, description: t.description, strict: false,
    parameters: { ...t.inputSchema, type: "object", properties: t.inputSchema.properties ?? {}, required: t.inputSchema.required ?? [], additionalProperties: true },
    execute: (args) => run(t.name, args),
  })),
});
console.log((await runAgent(agent, task)).finalOutput);
