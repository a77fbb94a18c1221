// The @anthropic-ai/sdk package: Messages, with a loop of our own.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { each, serve, weatherSchema } from "./server.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  const journal = await server.end();
  assert.equal(journal.total.faults["status-429"], 2);
});

each(test, () => server, "messages", async (url, stream, weather) => {
  const anthropic = new Anthropic({ baseURL: url, apiKey: "none" });
  const messages = [{ role: "user", content: "Go." }];
  const tools = [{ name: "weather", input_schema: weatherSchema }];
  for (;;) {
    const params = { model: "any", max_tokens: 100, messages, tools };
    const message = stream ? await anthropic.messages.stream(params).finalMessage() : await anthropic.messages.create(params);
    messages.push({ role: "assistant", content: message.content });
    const calls = message.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) {
      assert.equal(message.stop_reason, "end_turn");
      return message.content.map((block) => block.text).join("");
    }
    assert.equal(message.stop_reason, "tool_use");
    messages.push({
      role: "user",
      content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: weather(call.input) })),
    });
  }
});
