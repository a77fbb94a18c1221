// The openai package: Chat Completions and Responses, with a loop of our own.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import OpenAI from "openai";
import { each, serve, weatherSchema } from "./server.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  const journal = await server.end();
  assert.equal(journal.total.faults["status-429"], 4);
});

const client = (url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });

each(test, () => server, "chat completions", async (url, stream, weather) => {
  const openai = client(url);
  const messages = [{ role: "user", content: "Go." }];
  const tools = [{ type: "function", function: { name: "weather", parameters: weatherSchema } }];
  for (;;) {
    const params = { model: "any", messages, tools };
    const completion = stream
      ? await openai.chat.completions.stream({ ...params, stream_options: { include_usage: true } }).finalChatCompletion()
      : await openai.chat.completions.create(params);
    const [{ message, finish_reason }] = completion.choices;
    assert.ok(completion.usage);
    messages.push(message);
    if (!message.tool_calls?.length) {
      assert.equal(finish_reason, "stop");
      return message.content;
    }
    assert.equal(finish_reason, "tool_calls");
    for (const call of message.tool_calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: weather(JSON.parse(call.function.arguments)) });
    }
  }
});

each(test, () => server, "responses", async (url, stream, weather) => {
  const openai = client(url);
  const input = [{ role: "user", content: "Go." }];
  const tools = [{ type: "function", name: "weather", parameters: weatherSchema, strict: true }];
  for (;;) {
    const params = { model: "any", input, tools, store: false };
    const response = stream ? await openai.responses.stream(params).finalResponse() : await openai.responses.create(params);
    assert.equal(response.status, "completed");
    input.push(...response.output);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return response.output_text;
    for (const call of calls) {
      input.push({ type: "function_call_output", call_id: call.call_id, output: weather(JSON.parse(call.arguments)) });
    }
  }
});
