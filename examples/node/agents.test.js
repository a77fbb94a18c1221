// The @openai/agents package over Chat Completions and Responses; the loop is
// its own.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { each, serve, weatherSchema } from "./server.js";

setTracingDisabled(true);

let server;
before(async () => (server = await serve()));
after(async () => {
  const journal = await server.end();
  assert.equal(journal.total.faults["status-429"], 4);
});

for (const useResponses of [false, true]) {
  each(test, () => server, useResponses ? "responses" : "chat completions", async (url, stream, weather) => {
    const modelProvider = new OpenAIProvider({ baseURL: `${url}/v1`, apiKey: "none", useResponses });
    const agent = new Agent({
      name: "Weather",
      model: "any",
      tools: [tool({ name: "weather", description: "The weather", parameters: weatherSchema, strict: true, execute: async (args) => weather(args) })],
    });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const result = await runner.run(agent, "Go.", { stream });
    if (stream) await result.completed;
    return result.finalOutput;
  });
}
