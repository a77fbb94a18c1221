"""The agent of agent.py with the tools of the script, a few retries, and a breaker."""
import json
import os
import sys
import time
import urllib.error
import urllib.request

URL, BENCH = os.environ["OPENAI_BASE_URL"], os.environ["AGENTBENCH_TOOLS"]


def http(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=60) as answer:
        return answer.read().decode()


# These ten lines are all that scripted tools need.
TOOLS = [{"type": "function", "function": {"name": t["name"], "description": t["description"], "parameters": t["inputSchema"]}}
         for t in json.loads(http(BENCH))["tools"]]


def run(name, arguments):
    try:
        return http(BENCH + "/" + urllib.request.quote(name, safe=""), json.loads(arguments))
    except urllib.error.HTTPError as error:
        return "Error: " + error.read().decode()
    except Exception as error:
        return f"Error: {error}"


def ask(messages):
    body = {"model": "gpt-5", "messages": messages}
    if TOOLS:
        body["tools"] = TOOLS
    for attempt in range(4):
        try:
            choice = json.loads(http(URL + "/chat/completions", body))["choices"][0]
            message = choice["message"]
            if message.get("tool_calls") or (message.get("content") or "").strip() and choice["finish_reason"] != "length":
                return message
        except urllib.error.HTTPError as error:
            if error.code != 429 and error.code < 500:
                raise
        except OSError:
            pass
        except ValueError:
            pass
        except Exception as error:  # an answer that breaks off
            print(error, file=sys.stderr)
        time.sleep(0.01 * 2 ** attempt)
    sys.exit("the model does not answer")


messages = [{"role": "user", "content": sys.argv[1]}]
last, times = None, 0
while True:
    reply = ask(messages)
    messages.append(reply)
    if not reply.get("tool_calls"):
        print(reply["content"])
        break
    for call in reply["tool_calls"]:
        one = call["function"]
        times = times + 1 if one == last else 1
        last = one
        if times == 5:
            sys.exit(f"loop detected: {one['name']} five times")
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": run(one["name"], one["arguments"])})
