// The prebuilt ReAct agent of LangGraph.
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { baseURL, task, tools, run } from "./bench.mjs";

const agent = createReactAgent({
  llm: new ChatOpenAI({ model: "gpt-5", configuration: { baseURL } }),
  tools: tools.map((t) => tool((args) => run(t.name, args), { name: t.name, description: t.description, schema: t.inputSchema })),
});
const { messages } = await agent.invoke({ messages: [{ role: "user", content: task }] });
console.log(messages.at(-1).content);
