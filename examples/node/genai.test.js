// The @google/genai package: Gemini, with a loop of our own.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { GoogleGenAI } from "@google/genai";
import { each, serve, weatherSchema } from "./server.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  const journal = await server.end();
  assert.ok(journal.total.faults["status-429"] > 0);
});

each(test, () => server, "gemini", async (url, stream, weather) => {
  const ai = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } });
  const contents = [{ role: "user", parts: [{ text: "Go." }] }];
  const config = { tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: weatherSchema }] }] };
  for (;;) {
    const { text, calls, parts } = await again(() => ask(ai, { model: "any", contents, config }, stream));
    if (calls.length === 0) return text;
    contents.push({ role: "model", parts });
    contents.push({
      role: "user",
      parts: calls.map(({ id, name, args }) => ({ functionResponse: { id, name, response: { output: weather(args) } } })),
    });
  }
});

// ask gives the text, the calls and all parts of a reply.
async function ask(ai, request, stream) {
  const parts = [];
  if (stream) {
    for await (const chunk of await ai.models.generateContentStream(request)) parts.push(...(chunk.candidates[0].content.parts ?? []));
  } else {
    parts.push(...(await ai.models.generateContent(request)).candidates[0].content.parts);
  }
  const calls = parts.flatMap((part) => part.functionCall ?? []);
  return { text: parts.map((part) => part.text ?? "").join(""), calls, parts };
}

// again repeats a request that is told to wait: not every version of the client does.
async function again(request) {
  for (;;) {
    try {
      return await request();
    } catch (e) {
      if (e.status !== 429) throw e;
    }
  }
}

test("gemini: tokens are counted, models listed", async () => {
  const ai = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: server.url("text") } });
  const { totalTokens } = await ai.models.countTokens({ model: "any", contents: "How many?" });
  assert.ok(totalTokens > 0);
  assert.equal((await ai.models.get({ model: "any" })).name, "models/any");
});
