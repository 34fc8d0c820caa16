"""A model API on loopback that says what a script tells it to, in the words of four clients.

A prompt names a script, `[[NAME]]`; SCRIPTS, a JSON file, has its steps. Each answer is the next step: which one is told by
how many answers follow the last prompt that names a script, so that the server keeps nothing. A step is one of

    {"say": TEXT}            the last words of a turn
    {"sh": COMMAND}          the client's shell; `@SESSION@` in it becomes `--session-id ID` if the agent was told its id
    {"write": [PATH, TEXT]}  the client's tool that writes a file
    {"read": PATH}           the client's tool that reads one
    {"patch": TEXT}          Codex's own tool for patches
    {"fail": STATUS}         an error of the service

A second field `tokens` says how much of its context the client has used by then. Where the agents of several roles get the same
mark, a script is an object: the steps behind the first key that stands in the prompt count. When the client has summed its
conversation up, the steps of `NAME-after` follow, if there are any.

Every request is kept in LOG, one JSON object a line: {"script", "step", "text"}, the whole request as text.

usage: api.py SCRIPTS LOG     prints its port, then serves until it is killed
"""

import itertools
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLD = re.compile(r"Your session: ([A-Za-z0-9._-]+)")
MARK = re.compile(r"\[\[([a-z0-9-]+)\]\]")
# Clients take two answers of one id for parts of one.
NUMBERS = itertools.count(1)
SUMMARY = "Everything so far: a scripted conversation."
FEW = 10  # tokens


class Talk:
    """A conversation as every protocol has it: who said what, oldest first."""

    def __init__(self, turns, tools):
        self.turns = turns  # (is_answer, text)
        self.tools = tools  # name -> the names of its arguments

    def place(self):
        """The script that the last prompt names, how many of its steps were given, and that prompt."""
        for at in range(len(self.turns) - 1, -1, -1):
            is_answer, text = self.turns[at]
            marks = [] if is_answer else MARK.findall(text)
            if marks:
                return marks[-1], sum(answer for answer, _ in self.turns[at:]), text
        return None, 0, ""


def flat(value):
    """All texts in a value, one after the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(flat(part) for part in value) if isinstance(value, list) else ""


def sse(events):
    return "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events)


class Anthropic:
    """Claude Code, opencode."""

    path = re.compile(r"/v1/messages(\?|$)")
    tool_names = {"sh": ["Bash", "bash"], "write": ["Write", "write"], "read": ["Read", "read"]}

    @staticmethod
    def talk(body):
        turns = [(turn["role"] == "assistant", flat(turn["content"])) for turn in body["messages"]]
        tools = {tool["name"]: list(tool.get("input_schema", {}).get("properties", {})) for tool in body.get("tools", [])}
        return Talk(turns, tools)

    @staticmethod
    def answer(body, call, text, tokens):
        if call:
            block = {"type": "tool_use", "id": f"toolu_{next(NUMBERS)}", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
            whole = {**block, "input": call[1]}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
            whole = {"type": "text", "text": text}
        reason, usage = "tool_use" if call else "end_turn", {"input_tokens": tokens, "output_tokens": 5}
        message = {"id": f"msg_{next(NUMBERS)}", "type": "message", "role": "assistant", "model": body.get("model", "m"), "stop_sequence": None}
        if not body.get("stream"):
            return "application/json", json.dumps({**message, "content": [whole], "stop_reason": reason, "usage": usage})
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        return "text/event-stream", sse([(event["type"], event) for event in events])

    @staticmethod
    def failure(status):
        kind = {429: "rate_limit_error", 529: "overloaded_error", 401: "authentication_error"}.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": kind.replace("_error", "").capitalize()}}


class Responses:
    """Codex."""

    path = re.compile(r"/v1/responses(\?|$)")
    tool_names = {"sh": ["shell_command", "exec_command", "shell", "local_shell"], "patch": ["apply_patch"]}

    @staticmethod
    def talk(body):
        turns = []
        for item in body["input"]:
            kind = item.get("type", "message")
            is_answer = kind in ("function_call", "custom_tool_call") or item.get("role") == "assistant"
            if is_answer or item.get("role") == "user":
                turns.append((is_answer, flat(item)))
        tools = {}
        for tool in body.get("tools", []):
            tools[tool.get("name", tool["type"])] = list(tool.get("parameters", {}).get("properties", {}))
        return Talk(turns, tools)

    @staticmethod
    def answer(body, call, text, tokens):
        number = next(NUMBERS)
        if call and isinstance(call[1], str):
            item = {"type": "custom_tool_call", "call_id": f"call_{number}", "name": call[0], "input": call[1]}
        elif call:
            item = {"type": "function_call", "call_id": f"call_{number}", "name": call[0], "arguments": json.dumps(call[1])}
        else:
            item = {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [{"type": "output_text", "text": text}]}
        usage = {"input_tokens": tokens, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None, "total_tokens": tokens + 5}
        events = [
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": f"resp_{number}", "output": [item], "usage": usage}},
        ]
        return "text/event-stream", sse([(event["type"], event) for event in events])

    @staticmethod
    def failure(status):
        return {"error": {"type": "server_error", "code": "server_is_overloaded", "message": f"scripted failure {status}"}}


class Gemini:
    path = re.compile(r"/v1(beta)?/models/[^:]+:(stream)?[gG]enerateContent")
    tool_names = {"sh": ["run_shell_command"], "write": ["write_file"], "read": ["read_file"]}

    @staticmethod
    def talk(body):
        turns = [(turn.get("role") == "model", flat(turn.get("parts", []))) for turn in body["contents"]]
        tools = {}
        for group in body.get("tools", []):
            for tool in group.get("functionDeclarations", []):
                schema = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
                tools[tool["name"]] = list(schema.get("properties", {}))
        return Talk(turns, tools)

    @staticmethod
    def answer(body, call, text, tokens):
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": text}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": 5, "totalTokenCount": tokens + 5}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
        return "text/event-stream", sse([(None, answer)])

    @staticmethod
    def failure(status):
        word = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}.get(status, "INTERNAL")
        return {"error": {"code": status, "message": "scripted failure", "status": word}}


def arguments(step, names):
    """The arguments of a tool call, by the names that the client has for them."""
    kind, value = step
    if kind == "patch":
        return value if not names else {names[0]: value}
    if kind == "sh":
        named = {"command": value, "cmd": value, "description": "a step of the script"}
        return {name: named[name] for name in names if name in named}
    path, text = value if kind == "write" else (value, None)
    named = {"file_path": path, "filePath": path, "absolute_path": path, "path": path, "content": text}
    return {name: named[name] for name in names if named.get(name) is not None}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripts, log, lock = None, None, threading.Lock()

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        text = self.rfile.read(length).decode("utf-8", "replace")
        protocol = next((known for known in (Anthropic, Responses, Gemini) if known.path.match(self.path)), None)
        if protocol is None:
            self.note(None, 0, text)
            return self.reply(200, "application/json", json.dumps({"input_tokens": 10, "totalTokens": 10}))
        body = json.loads(text)
        talk = protocol.talk(body)
        name, step, prompt = talk.place()
        self.note(name, step, text)
        *what, tokens = self.next(name, step, prompt, talk)
        if what[0] == "sh":
            told = TOLD.search(text)
            what = ("sh", what[1].replace("@SESSION@", f"--session-id {told[1]}" if told else ""))
        if what[0] == "fail":
            return self.reply(what[1], "application/json", json.dumps(protocol.failure(what[1])))
        tools = protocol.tool_names.get(what[0], [])
        tool = next((tool for tool in tools if tool in talk.tools), None)
        if what[0] != "say" and tool is None:
            what = ("say", f"no tool for {what[0]} among {sorted(talk.tools)}")
        call = None if what[0] == "say" else (tool, arguments(what, talk.tools[tool]))
        content, answer = protocol.answer(body, call, what[1] if call is None else "", tokens)
        if "generateContent" in self.path and "stream" not in self.path:
            content, answer = "application/json", answer.removeprefix("data: ").strip()
        self.reply(200, content, answer)

    def do_GET(self):
        self.reply(200, "application/json", json.dumps({"data": [], "models": []}))

    do_HEAD = do_GET

    def next(self, name, step, prompt, talk):
        """What comes next, and how full the context is: the script's step, or a summary where the client asks for one."""
        last = talk.turns[-1][1] if talk.turns else ""
        if not talk.tools or ("summary" in last.lower() and not MARK.search(last)):
            return "say", SUMMARY, FEW
        with open(self.scripts, encoding="utf-8") as file:
            scripts = json.load(file)
        later = f"{name}-after" if any(SUMMARY in text for _, text in talk.turns) else None
        steps = scripts.get(later, scripts.get(name, []))
        if isinstance(steps, dict):
            steps = next((steps for key, steps in steps.items() if key in prompt), [])
        if step >= len(steps):
            return "say", "nothing left to do", FEW
        return *next(iter(steps[step].items())), steps[step].get("tokens", FEW)

    def note(self, name, step, text):
        line = json.dumps({"path": self.path, "script": name, "step": step, "text": text})
        with self.lock, open(self.log, "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def reply(self, status, content, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", content)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Server.scripts, Server.log = sys.argv[1:]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    server.serve_forever()
