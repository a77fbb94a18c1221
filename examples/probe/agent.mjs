// A small agent for Node 18 or later, without packages: one tool, and at most ten requests.
import { readFileSync } from "node:fs";

const url = process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1";
const tools = [{
  type: "function",
  function: {
    name: "read_file", description: "Read a file",
    parameters: { type: "object", required: ["path"], properties: { path: { type: "string" } } },
  },
}];

async function ask(messages) {
  const answer = await fetch(url + "/chat/completions", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer " + process.env.OPENAI_API_KEY },
    body: JSON.stringify({ model: "gpt-5", messages, tools }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).choices[0].message;
}

const messages = [{ role: "user", content: process.argv[2] }];
for (let turn = 1; ; turn++) {
  if (turn > 10) throw new Error("ten requests are enough");
  const reply = await ask(messages);
  messages.push(reply);
  if (!reply.tool_calls) {
    console.log(reply.content);
    break;
  }
  for (const call of reply.tool_calls) {
    let content;
    try {
      content = readFileSync(JSON.parse(call.function.arguments).path, "utf8").slice(0, 2000);
    } catch (error) {
      content = "Error: " + error.message;
    }
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}
