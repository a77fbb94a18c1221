// Starts `agentbench serve` with the scenarios of ./clients, and ends it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import assert from "node:assert/strict";
import readline from "node:readline";

// serve gives the server: url(scenario, conversation) is the address of a
// scenario, without /v1; each conversation of a test has a number of its own,
// since what they say may be the same.
export async function serve() {
  const child = spawn(process.env.AGENTBENCH ?? "agentbench", ["serve", "clients", "--speed", "1000"], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value: first } = await lines.next();
  const root = /http:\/\/127\.0\.0\.1:\d+/.exec(first ?? "")?.[0];
  assert.ok(root, `agentbench said: ${first}`);
  let conversations = 0;
  return {
    url: (scenario) => `${root}/run/clients/${scenario}/${++conversations}`,
    // end looks at what the client did, and interrupts the server. Requests may be
    // refused with an error that begins with refused.
    async end(refused) {
      const journal = await (await fetch(`${root}/__agentbench/journal`)).json();
      child.kill("SIGINT");
      const [code] = await once(child, "exit");
      assert.equal(code, 0, "the server's exit code");
      assert.deepEqual(journal.entries.filter((e) => e.problems || (e.error && !(refused && e.error.startsWith(refused)))), [], "protocol faults of the client");
      return journal;
    },
  };
}

// What the scenarios say.
export const said = {
  text: "Good morning, Zoë! ☀",
  "one-call": "It is sunny in Rome.",
  "three-calls": "It is sunny in all three.",
  "rate-limited": "Good morning.",
};
export const cities = { text: [], "one-call": ["Rome"], "three-calls": ["Rome", "Oslo", "Łódź"], "rate-limited": [] };

// each runs a conversation for each scenario, streamed and not, and checks its
// answer and the calls that it made: converse(url, stream, weather) gives the
// answer, weather is the tool.
export function each(test, server, name, converse) {
  for (const scenario of Object.keys(said)) {
    for (const stream of [false, true]) {
      test(`${name}: ${scenario}${stream ? ", streamed" : ""}`, async () => {
        const asked = [];
        const weather = ({ city }) => {
          asked.push(city);
          return `sunny in ${city}`;
        };
        assert.equal(await converse(server().url(scenario), stream, weather), said[scenario]);
        assert.deepEqual(asked, cities[scenario]);
      });
    }
  }
}

export const weatherSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
