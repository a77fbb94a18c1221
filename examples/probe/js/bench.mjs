// The tools of the script, which agentbench probe offers in AGENTBENCH_TOOLS.
const bench = process.env.AGENTBENCH_TOOLS;

export const baseURL = process.env.OPENAI_BASE_URL;
export const apiKey = process.env.OPENAI_API_KEY;
export const task = process.argv[2];

/** Each has a name, a description and an inputSchema. */
export const tools = (await (await fetch(bench)).json()).tools;

/** Runs a tool: the text of its result, or an Error with that of its failure. */
export async function run(name, args) {
  const answer = await fetch(`${bench}/${encodeURIComponent(name)}`, { method: "POST", body: JSON.stringify(args) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}
