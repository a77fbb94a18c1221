// An agent of LlamaIndex.TS.
import { openai } from "@llamaindex/openai";
import { agent } from "@llamaindex/workflow";
import { FunctionTool } from "llamaindex";
import { apiKey, baseURL, task, tools, run } from "./bench.mjs";

const probed = agent({
  llm: openai({ model: "gpt-4.1", apiKey, baseURL }),
  tools: tools.map((t) => FunctionTool.from((args) => run(t.name, args), { name: t.name, description: t.description, parameters: t.inputSchema })),
});
console.log((await probed.run(task)).data.result);
