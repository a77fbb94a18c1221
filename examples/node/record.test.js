// agentbench record against aimock, a server that is not ours: what is recorded
// gives the same trace again, without a server.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { cities, said } from "./server.js";

const nowhere = "http://127.0.0.1:1/v1";
const scenarios = ["text", "one-call", "three-calls"];
let mock, folder;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "agentbench-record-"));
  mock = new LLMock({ port: 0 });
  for (const scenario of scenarios) {
    const userMessage = await task(scenario);
    const toolCalls = cities[scenario].map((city) => ({ name: "weather", arguments: JSON.stringify({ city }) }));
    if (toolCalls.length > 0) {
      mock.on({ userMessage, hasToolResult: false }, { content: "I will look.", toolCalls }, { chunkSize: 5 });
      mock.on({ userMessage, hasToolResult: true }, { content: said[scenario] }, { chunkSize: 5 });
    } else {
      mock.on({ userMessage }, { content: said[scenario] }, { chunkSize: 5 });
    }
  }
  await mock.start();
});

after(async () => {
  await mock?.stop();
  await rm(folder, { recursive: true, force: true });
});

// agentbench gives the exit code and what was written.
function agentbench(...args) {
  const env = { PATH: process.env.PATH, HOME: folder, OPENAI_API_KEY: "none", OPENAI_MODEL: "gpt-4.1-mini", OPENAI_BASE_URL: nowhere };
  return new Promise((resolve) => {
    execFile(process.env.AGENTBENCH ?? "agentbench", args, { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
  });
}

async function agentbenchPasses(...args) {
  const { code, stdout, stderr } = await agentbench(...args);
  assert.equal(code, 0, `agentbench ${args.join(" ")}:\n${stdout}${stderr}`);
  return stdout;
}

const scenarioFile = (scenario) => readFile(path.join(import.meta.dirname, "clients", `${scenario}.yaml`), "utf8");
const task = async (scenario) => /^task: (.*)$/m.exec(await scenarioFile(scenario))[1];

for (const scenario of scenarios) {
  for (const api of ["chat", "responses"]) {
    for (const stream of [true, false]) {
      test(`record: ${scenario} over ${api}${stream ? ", streamed" : ""}`, async () => {
        const name = `${scenario}-${api}-${stream ? "streamed" : "whole"}`;
        const cassette = `${name}.cassette.yaml`;
        const file = `${scenario}.yaml`;
        await copyFile(path.join(import.meta.dirname, "clients", file), path.join(folder, file));
        const calls = cities[scenario].length;

        const how = ["--api", api, ...(stream ? [] : ["--no-stream"])];
        const told = await agentbenchPasses("record", file, "--base-url", `${mock.url}/v1`, "-o", cassette, ...how);
        assert.ok(told.startsWith(`DONE (done): ${said[scenario]}\n`), told);
        assert.match(told, new RegExp(`, ${calls} calls?, `));

        // From here on nobody asks the server.
        const asked = mock.getRequests().length;
        const requests = calls > 0 ? "2 requests" : "1 request";
        assert.equal(await agentbenchPasses("record", "--check", cassette), `ok  ${cassette}  ${requests}, DONE (done)\n`);
        assert.match(await agentbenchPasses("cassette", "doctor", cassette), /^1 cassette, 0 with errors$/m);

        // A scenario plays the cassette in the place of a script.
        const script = await scenarioFile(scenario);
        const playing = script.slice(0, script.indexOf("model:")).replace(/^name: .*$/m, `name: ${name}`);
        await writeFile(path.join(folder, `${name}.yaml`), `${playing}cassette: ${cassette}\nexpect: {end_state: DONE, calls: ${calls}}\n`);
        assert.match(await agentbenchPasses("run", `${name}.yaml`), /1 passed/);
        assert.equal(mock.getRequests().length, asked);
      });
    }
  }
}

test("record: a server that is not there leaves nothing behind", async () => {
  await copyFile(path.join(import.meta.dirname, "clients", "text.yaml"), path.join(folder, "text.yaml"));
  const { code, stderr } = await agentbench("record", "text.yaml", "-o", "never.cassette.yaml");
  assert.equal(code, 3);
  assert.match(stderr, /there is no answer, and nothing is recorded/);
  await assert.rejects(readFile(path.join(folder, "never.cassette.yaml")), { code: "ENOENT" });
});
