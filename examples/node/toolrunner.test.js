// The tool runner of the @anthropic-ai/sdk package: its own loop. It first asks the API
// to keep the conversation, and goes on without that when the API refuses.
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { each, serve, weatherSchema } from "./server.js";

let server;
before(async () => (server = await serve()));
after(() => server.end("thread: "));

each(test, () => server, "tool runner", async (url, stream, weather) => {
  const anthropic = new Anthropic({ baseURL: url, apiKey: "none" });
  const tools = [{ name: "weather", input_schema: weatherSchema, run: weather, parse: (input) => input }];
  const params = { model: "any", max_tokens: 100, messages: [{ role: "user", content: "Go." }], tools };
  let message;
  if (stream) {
    for await (const turn of anthropic.beta.messages.toolRunner({ ...params, stream })) message = await turn.finalMessage();
  } else {
    message = await anthropic.beta.messages.toolRunner(params);
  }
  return message.content.map((block) => block.text ?? "").join("");
});
