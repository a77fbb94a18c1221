"""A small agent on the standard library: one tool, and no net against loops."""
import json
import os
import sys
import urllib.request

URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
TOOLS = [{"type": "function", "function": {
    "name": "read_file", "description": "Read a file",
    "parameters": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}}}]


def read_file(path):
    with open(path) as file:
        return file.read()[:2000]


def ask(messages):
    body = json.dumps({"model": "gpt-5", "messages": messages, "tools": TOOLS}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "")}
    request = urllib.request.Request(URL + "/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]["message"]


messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    reply = ask(messages)
    messages.append(reply)
    if not reply.get("tool_calls"):
        print(reply["content"])
        break
    for call in reply["tool_calls"]:
        try:
            result = read_file(**json.loads(call["function"]["arguments"]))
        except Exception as error:
            result = f"Error: {error}"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
