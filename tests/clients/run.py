"""Drives the real clients through sessions of a scripted model, and says what anthill has seen of them. See `run`."""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

from api import SUMMARY

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STORE = ROOT / "target" / "clients"
PACKAGES = {
    "claude": ["@anthropic-ai/claude-code@2.1.325"],
    "codex": ["@openai/codex@0.166.0"],
    "gemini": ["@google/gemini-cli@0.61.0"],
    "opencode": ["opencode-ai@1.18.33", "@opencode-ai/plugin@1.18.33"],
}
PROGRAMS = {
    "claude": "@anthropic-ai/claude-code-linux-x64/claude",
    "codex": "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    "gemini": ".bin/gemini",
    "opencode": "opencode-linux-x64/bin/opencode",
}
PATIENCE = 240  # seconds for one run of a client


def binary():
    named = os.environ.get("ANTHILL_BIN")
    built = [ROOT / "target/x86_64-unknown-linux-musl/release/anthill", ROOT / "target/debug/anthill"]
    found = [Path(named)] if named else [path for path in built if path.is_file()]
    if not found:
        sys.exit("no binary to test: build it, or name one with ANTHILL_BIN")
    return found[0].resolve()


def install(client):
    """Installs a pinned client, once; returns its program, or None."""
    dir = STORE / client
    program = dir / "node_modules" / PROGRAMS[client]
    if not program.exists():
        dir.mkdir(parents=True, exist_ok=True)
        (dir / "package.json").write_text("{}\n")
        line = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES[client]]
        with open(dir / "install.log", "w") as log:
            subprocess.run(line, cwd=dir, stdout=log, stderr=log, timeout=600, check=False)
    return program if program.exists() else None


class Stage:
    """A home, a project and a scripted API for one client."""

    def __init__(self, client, program, anthill):
        self.client, self.anthill_binary = client, anthill
        STORE.joinpath("runs").mkdir(exist_ok=True)
        # Not in /tmp: Codex's sandbox lets everybody write there.
        self.dir = Path(tempfile.mkdtemp(prefix=f"{client}-", dir=STORE / "runs"))
        self.home, self.project, bin = self.dir / "home", self.dir / "shop", self.dir / "bin"
        for dir in (self.home, self.project, bin):
            dir.mkdir()
        (bin / "anthill").symlink_to(anthill)
        (bin / client).symlink_to(program)
        self.scripts, self.log = self.dir / "scripts.json", self.dir / "log.jsonl"
        self.scripts.write_text("{}")
        self.log.write_text("")
        api = [sys.executable, str(HERE / "api.py"), str(self.scripts), str(self.log)]
        self.api = subprocess.Popen(api, stdout=subprocess.PIPE, text=True)
        self.port = self.api.stdout.readline().strip()
        path = f"{bin}:{os.environ['PATH']}"
        self.environment = {
            "HOME": str(self.home), "PATH": path, "TERM": "dumb", "USER": "tester", "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": "scripted", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.port}",
            "ANTHROPIC_MODEL": "claude-sonnet-4-5", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "OPENAI_API_KEY": "scripted",
            "GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{self.port}",
            "GEMINI_MODEL": "gemini-2.5-pro", "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }
        # Codex's shell is a login shell, which sets its own PATH.
        (self.home / ".bash_profile").write_text(f'export PATH="{path}"\n')
        self.settle()
        git = "git init -q -b main && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m base"
        self.sh(git)
        self.anthill("init", "--client", client, "--guard")
        self.link_opencode()

    def settle(self):
        """Writes what the client wants to find in a home."""
        files = {
            ".codex/config.toml": f"""model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{self.port}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
supports_websockets = false
[analytics]
enabled = false
""",
            ".gemini/settings.json": json.dumps({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False},
            }),
            ".config/opencode/opencode.json": json.dumps({
                "model": "anthropic/claude-sonnet-4-5", "small_model": "anthropic/claude-sonnet-4-5",
                "autoupdate": False, "share": "disabled",
                "provider": {"anthropic": {"options": {"baseURL": f"http://127.0.0.1:{self.port}/v1", "apiKey": "scripted"}}},
            }),
        }
        for name, text in files.items():
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(text)

    def link_opencode(self):
        """Gives opencode the package for plugins, which it would fetch at its first start."""
        if self.client != "opencode":
            return
        modules = STORE / "opencode" / "node_modules"
        for dir in (self.project / ".opencode", self.home / ".config/opencode"):
            (dir / "node_modules").symlink_to(modules)
            (dir / "package.json").write_text(json.dumps({"dependencies": {"@opencode-ai/plugin": "1.18.33"}}))

    def sh(self, line):
        return self.run(["sh", "-c", line])

    def anthill(self, *args):
        return self.run([str(self.anthill_binary), *args])

    def run(self, line):
        """Runs a command in a group of its own, so that nothing of it is left when it takes too long."""
        options = {"cwd": self.project, "env": self.environment, "text": True, "start_new_session": True}
        child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        try:
            said, _ = child.communicate(timeout=PATIENCE)
            return child.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise

    def task(self, id):
        code, text = self.anthill("get", "queue", "--field", f"tasks[id={id}]")
        return json.loads(text) if code == 0 else {}

    def script(self, name, *steps):
        known = json.loads(self.scripts.read_text())
        self.scripts.write_text(json.dumps({**known, name: steps}))

    def script_roles(self, name, steps_by_words):
        """A script for agents of several roles: which steps are told by words of the prompt."""
        known = json.loads(self.scripts.read_text())
        self.scripts.write_text(json.dumps({**known, name: steps_by_words}))

    def ask(self, name, *steps):
        """Lets the client do a script, as a person would have it; returns what it printed."""
        self.script(name, *steps)
        prompt = f"do [[{name}]]"
        line = {
            "claude": f"claude -p '{prompt}' --allowedTools 'Bash Write Edit Read'",
            "codex": "codex exec --sandbox workspace-write --dangerously-bypass-hook-trust --add-dir \"$HOME/.claude/orchestration\" "
                     f"--add-dir \"$HOME/.claude/sessions\" '{prompt}' </dev/null",
            "gemini": f"gemini --approval-mode yolo -p '{prompt}' </dev/null",
            "opencode": f"opencode run '{prompt}' </dev/null",
        }[self.client]
        return self.sh(line)[1]

    def converse(self, *turns):
        """Says one thing after the other in one session of Claude Code; returns what it printed."""
        line = "claude -p --input-format stream-json --output-format stream-json --verbose --allowedTools Bash"
        pipe, said = subprocess.PIPE, ""
        client = subprocess.Popen(line.split(), cwd=self.project, env=self.environment, stdin=pipe, stdout=pipe, text=True)
        clock = threading.Timer(PATIENCE, client.kill)
        clock.start()
        for turn in turns:
            client.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": turn}}) + "\n")
            client.stdin.flush()
            for line in client.stdout:
                said += line
                if json.loads(line).get("type") == "result":
                    break
        client.stdin.close()
        client.wait()
        clock.cancel()
        return said

    def type(self, line, ready, *steps):
        """Types into a client on a terminal that has shown these words; after each line, waits until something is there."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        options = {"cwd": self.project, "env": {**self.environment, "TERM": "xterm"}, "start_new_session": True}
        client = subprocess.Popen(line.split(), stdin=theirs, stdout=theirs, stderr=theirs, **options)
        os.close(theirs)
        said, end = bytearray(), time.monotonic() + PATIENCE / 2

        def listen(until):
            while not until() and time.monotonic() < end and client.poll() is None:
                if select.select([ours], [], [], 0.2)[0]:
                    try:
                        said.extend(os.read(ours, 65536))
                    except OSError:
                        return

        def pause(seconds):
            over = time.monotonic() + seconds
            listen(lambda: time.monotonic() > over)

        try:
            listen(lambda: ready.encode() in said)
            for typed, until in steps:
                pause(2)
                os.write(ours, typed.encode())
                pause(1)
                os.write(ours, b"\r")
                listen(until)
        finally:
            os.killpg(client.pid, signal.SIGKILL)
            client.wait()
            os.close(ours)
        return said.decode(errors="replace")

    def asked(self, name, step):
        """The last request of a step, as text."""
        requests = [json.loads(line) for line in self.log.read_text().splitlines()]
        fitting = [one["text"] for one in requests if one["script"] == name and one["step"] >= step]
        return fitting[-1] if fitting else ""

    def asked_after_summary(self):
        """The last request of a conversation that the client has summed up, as text."""
        requests = [json.loads(line)["text"] for line in self.log.read_text().splitlines()]
        return next((text for text in reversed(requests) if SUMMARY in text), "")

    def close(self):
        self.api.kill()
        self.api.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def whole_session(stage):
    """A session from its start to its end: registered, told, its lease renewed, its task returned."""
    stage.anthill("leader", "add-task", "Count the stock", "--id", "t1", "--files", "own.txt")
    stage.anthill("session", "start", "lead")
    claim = "anthill worker claim w1 @SESSION@; anthill session list --json >seen.json; anthill get queue >first.json"
    # The word must not stand in the command, which is part of every later request. Gemini refuses `$(...)`.
    message = 'A=CAN; anthill message broadcast lead note "{\\"text\\": \\"${A}ARY\\"}" --session-id lead; sleep 1.2'
    said = stage.ask("whole", {"sh": claim}, {"sh": message}, {"sh": "true"}, {"sh": "anthill get queue >second.json"}, {"say": "done"})

    def read(name):
        try:
            return json.loads((stage.project / name).read_text())
        except (OSError, ValueError):
            return {}

    def expires(name):
        tasks = {task["id"]: task for task in read(name).get("tasks", [])}
        return str((tasks.get("t1", {}).get("lease") or {}).get("expires_at") or "")

    seen = [one for one in read("seen.json") or [] if one["session_id"] != "lead"]
    after = stage.task("t1")
    held = bool(expires("first.json"))
    return {
        "session registered": bool(seen) and seen[0]["status"] == "active" and seen[0]["project_id"] == "shop",
        "message delivered": "CANARY" in stage.asked("whole", 2),
        "lease renewed": held and expires("second.json") > expires("first.json"),
        "task returned": held and after.get("status") == "available",
    }, said


def guard(stage):
    """A file of another worker's task is not written."""
    stage.anthill("leader", "cancel", "t1")
    stage.anthill("leader", "add-task", "Hold a file", "--id", "t2", "--files", "held.txt")
    stage.anthill("worker", "claim", "other")
    path = str(stage.project / "held.txt")
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: held.txt\n+mine\n*** End Patch\nEOF"
    step = {"sh": patch} if stage.client == "codex" else {"write": [path, "mine"]}
    said = stage.ask("guard", step, {"say": "done"})
    denied = "belongs to task t2" in stage.asked("guard", 1) and not Path(path).exists()
    stage.anthill("worker", "complete", "other", "t2", "done")
    return {"guard": denied}, said


def worker_run(stage):
    """A runner's client may write its own task's file; what it says counts."""
    path = str(stage.project / "made.txt")
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\nEOF"
    step = {"sh": patch} if stage.client == "codex" else {"write": [path, "made"]}
    commit = {"sh": "git add made.txt; git -c user.name=t -c user.email=t@t commit -qm made; anthill message send lead lead note '{}'"}
    stage.script("good", step, commit, {"say": 'All is well.\n```json\n{"status": "done", "summary": "made it"}\n```'})
    stage.script("bad", {"say": '```json\n{\n  "status": "failed",\n  "summary": "3 tests fail"\n}\n```'})
    stage.anthill("leader", "add-task", "Make it [[good]]", "--id", "good", "--files", "made.txt")
    said = stage.anthill("worker", "run", "w2", "--agent", stage.client, "--timeout", "100")[1]
    stage.anthill("leader", "add-task", "Break it [[bad]]", "--id", "bad", "--files", "bad.txt")
    said += stage.anthill("worker", "run", "w3", "--agent", stage.client, "--timeout", "100", "--retries", "0")[1]
    return {
        "worker run": stage.task("good").get("status") == "done" and Path(path).exists(),
        "may commit": stage.sh("git log --oneline | grep -c made")[1].strip() == "1",
        "failure recorded": stage.task("bad").get("status") == "failed",
    }, said


def compaction(stage):
    """What the agent has in hand is saved before its context is shortened, and told afterwards."""
    stage.anthill("leader", "add-task", "Go on with it", "--id", "t5")
    claim = {"sh": "anthill worker claim w5 @SESSION@"}
    if stage.client == "gemini":
        # Only a person's /compress counts: it tells hooks of every request that it might shorten, and of nothing afterwards.
        backups = lambda: list((stage.project / ".claude/state/compaction").glob("backup_*.json"))
        stage.script("before", claim, {"say": "so far so good"})
        said = stage.type("gemini --approval-mode yolo", "Type your message", ("do [[before]]", lambda: stage.asked("before", 1)), ("/compress", backups))
        return {"compaction": any('"t5"' in path.read_text() for path in backups())}, said
    if stage.client == "claude":
        stage.script("before", claim, {"say": "so far so good"})
        stage.script("after", {"say": "done"})
        said = stage.converse("do [[before]]", "/compact", "do [[after]]")
        told = stage.asked("after", 0)
    else:
        # More than any window holds: it sums up by itself, and goes on.
        stage.script("full-after", {"sh": "true"}, {"say": "done"})
        said = stage.ask("full", {**claim, "tokens": 3_000_000}, {"sh": "true"}, {"say": "done"})
        told = stage.asked_after_summary()
    saved = list((stage.project / ".claude/state/compaction").glob("backup_*.json"))
    return {"compaction": bool(saved) and "Your task t5" in told}, said


def place(stage):
    """A folder that Gemini CLI does not trust is told before the first claim; one that it trusts is no trouble."""
    if stage.client != "gemini":
        return {}, ""
    trusts = stage.environment.pop("GEMINI_CLI_TRUST_WORKSPACE")
    stage.script("placed", {"say": '{"status": "done", "summary": "here"}'})
    stage.anthill("leader", "add-task", "Look around [[placed]]", "--id", "placed")
    code, said = stage.anthill("worker", "run", "w4", "--agent", "gemini", "--timeout", "100")
    refused = code == 1 and "last_claim" not in stage.task("placed")
    own = stage.sh("gemini -p x </dev/null")[0] == 55
    (stage.home / ".gemini/trustedFolders.json").write_text(json.dumps({str(stage.project): "TRUST_FOLDER"}))
    said += stage.anthill("worker", "run", "w4", "--agent", "gemini", "--timeout", "100")[1]
    stage.environment["GEMINI_CLI_TRUST_WORKSPACE"] = trusts
    return {"place": refused and own and stage.task("placed").get("status") == "done"}, said


def loop(stage):
    """The loop's item is done by the client, and its gate passes."""
    gate = '\n[gates.check]\nrun = "test -f fixed.txt"\n'
    with open(stage.project / ".claude/anthill.toml", "a") as file:
        file.write(gate)
    stage.anthill("trust", "--project")
    path = str(stage.project / "fixed.txt")
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: fixed.txt\n+fixed\n*** End Patch\nEOF"
    step = {"sh": patch} if stage.client == "codex" else {"write": [path, "fixed"]}
    stage.script("fix", step, {"say": '{"status": "done", "summary": "fixed"}'})
    stage.anthill("loop", "start", "Fix it")
    stage.anthill("loop", "add", "Make the file [[fix]]", "-p", "S1")
    code, said = stage.anthill("loop", "run", "--agent", stage.client)
    return {"loop": code == 0 and Path(path).exists()}, said


def orchestrate(stage):
    """A pipeline of one group goes from the plan to its evidence, with the client in every role."""
    path = str(stage.project / "group.txt")
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: group.txt\n+group\n*** End Patch\nEOF"
    step = {"sh": patch} if stage.client == "codex" else {"write": [path, "group"]}
    plan = {"all_tasks": [{"id": "T1", "description": "Make the file"}], "task_groups": [{"id": "A", "tasks": ["T1"]}]}
    done = {"status": "READY_FOR_QA", "summary": "made", "files_modified": ["group.txt"]}
    passed = {"status": "PASS", "test_results": {"e2e_tests": "1/1 passed"}}
    complete = {"status": "COMPLETE", "evidence": [{"requirement": "T1", "met": True, "evidence": "group.txt is there"}]}
    fenced = lambda answer: {"say": f"Here it is.\n```json\n{json.dumps(answer, indent=2)}\n```"}
    stage.script_roles("orchestrate", {
        "Make the plan": [fenced(plan)],
        "Do the tasks": [step, fenced(done)],
        "Run the integration": [fenced(passed)],
        "Review the branch": [fenced({"status": "APPROVED"})],
        "All groups are complete": [fenced(complete)],
    })
    code, said = stage.anthill("orchestrate", "--agent", stage.client, "--timeout", "100", "Make the file [[orchestrate]]")
    return {"orchestrate": code == 0 and Path(path).exists()}, said


SCENES = [whole_session, guard, worker_run, place, loop, orchestrate, compaction]
COLUMNS = ["session registered", "message delivered", "lease renewed", "task returned", "guard", "worker run", "may commit",
           "failure recorded", "loop", "orchestrate", "compaction"]


def play(client, program, anthill):
    stage, seen = Stage(client, program, anthill), {}
    try:
        for scene in SCENES:
            try:
                results, said = scene(stage)
            except subprocess.TimeoutExpired as error:
                results, said = {}, f"timed out: {error.cmd}"
            seen.update(results)
            if not all(results.values()) or "timed out" in said:
                print(f"--- {client}, {scene.__name__}: {results}\n{said[-3000:]}", file=sys.stderr)
    finally:
        stage.close()
    return seen


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--quick"]
    clients = args or (["claude", "codex"] if "--quick" in sys.argv else list(PACKAGES))
    anthill, table = binary(), {}
    for client in clients:
        program = install(client)
        if program is None:
            print(f"skipped: {client} cannot be installed here, see {STORE / client}/install.log")
            continue
        table[client] = play(client, program, anthill)
    for client, seen in table.items():
        seen = {**dict.fromkeys(COLUMNS, False), **seen}
        print(f"{client:9}", "  ".join(f"{name}: {'yes' if was else 'NO'}" for name, was in seen.items()))
        table[client] = all(seen.values())
    sys.exit(0 if all(table.values()) else 1)


if __name__ == "__main__":
    main()
