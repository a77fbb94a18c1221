// The ai package (AI SDK) with the providers of both vendors; the loop is its
// own.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { each, serve, weatherSchema } from "./server.js";

globalThis.AI_SDK_LOG_WARNINGS = false;

let server;
before(async () => (server = await serve()));
after(async () => {
  const journal = await server.end();
  assert.equal(journal.total.faults["status-429"], 6);
});

const models = {
  "chat completions": (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" }).chat("any"),
  responses: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" }).responses("any"),
  messages: (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey: "none" })("any"),
};

for (const [name, model] of Object.entries(models)) {
  each(test, () => server, name, async (url, stream, weather) => {
    const params = {
      model: model(url),
      prompt: "Go.",
      tools: { weather: tool({ description: "The weather", inputSchema: jsonSchema(weatherSchema), execute: weather }) },
      stopWhen: stepCountIs(5),
      onError() {}, // the 429 is part of the test
    };
    return stream ? await streamText(params).text : (await generateText(params)).text;
  });
}
