// The tool runner of the package openai.
import OpenAI from "openai";
import { task, tools, run } from "./bench.mjs";

const runner = new OpenAI().chat.completions.runTools({
  model: "gpt-5",
  messages: [{ role: "user", content: task }],
  tools: tools.map((t) => ({
    type: "function",
    function: {
      name: t.name, description: t.description, parameters: t.inputSchema,
      parse: JSON.parse, function: (args) => run(t.name, args),
    },
  })),
});
console.log(await runner.finalContent());
