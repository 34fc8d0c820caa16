// Written by `anthill init`, removed by `anthill uninstall`.
// Tells `anthill hook` what happens in a session, in the words of Claude Code's hooks, and puts what it answers into the
// context. A fault of anthill never disturbs the session.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = "@COMMAND@"
const PATIENCE_MS = 10_000
const PATIENCE_AT_EXIT_MS = 2_000
const TOOLS = { bash: "Bash", edit: "Edit", glob: "Glob", grep: "Grep", patch: "apply_patch", read: "Read", task: "Agent", todowrite: "TodoWrite", webfetch: "WebFetch", write: "Write" }
const FIELDS = { filePath: "file_path", oldString: "old_string", newString: "new_string", replaceAll: "replace_all" }
const EDITS = ["Edit", "Write", "apply_patch"]

const line = (event, session, cwd, fields) =>
  JSON.stringify({ session_id: session, transcript_path: "", cwd, hook_event_name: event, ...fields })

/** Runs the hook with one event; resolves to its answer, or to {}. */
function tell(event, session, cwd, fields) {
  return new Promise((resolve) => {
    let answer = ""
    try {
      const child = spawn("/bin/sh", ["-c", COMMAND], { cwd, stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS)
      child.on("error", () => { clearTimeout(timer); resolve({}) })
      child.on("close", () => { clearTimeout(timer); resolve(parsed(answer)) })
      child.stdout.on("data", (chunk) => { answer += chunk })
      child.stdin.on("error", () => {})
      child.stdin.end(line(event, session, cwd, fields))
    } catch {
      resolve({})
    }
  })
}

function parsed(answer) {
  try {
    return JSON.parse(answer)
  } catch {
    return {}
  }
}

const contextOf = (answer) => answer.hookSpecificOutput?.additionalContext ?? ""

/** A call in Claude Code's words. */
function call(tool, args) {
  const named = Object.entries(args ?? {}).map(([name, value]) => [FIELDS[name] ?? name, value])
  return { tool_name: TOOLS[tool] ?? tool, tool_input: Object.fromEntries(named) }
}

export const Anthill = async ({ directory }) => {
  // The sessions of people, by id: what each was told at its start and with its last prompt, as the system prompt is made
  // anew for every request; and what it said last.
  const sessions = new Map()
  // The sessions of agents, which opencode calls children: their parent and what they are.
  const agents = new Map()
  const ended = new Set()
  // What the last call of a session asks an agent to be.
  const asked = new Map()
  const said = new Map()

  /** The session that an event counts for, and who in it. */
  const who = (id) => {
    const agent = agents.get(id)
    return agent ? [agent.parent, { agent_id: id, agent_type: agent.type }] : [id, {}]
  }
  const send = (event, id, fields) => {
    const [session, agent] = who(id)
    return tell(event, session, directory, { ...agent, ...fields })
  }
  /** Begins a session once; others wait until it has begun. */
  const begin = (id, source) => {
    if (agents.has(id)) return undefined
    if (!sessions.has(id)) {
      const told = {}
      told.begun = send("SessionStart", id, { source }).then((answer) => { told.start = contextOf(answer) })
      sessions.set(id, told)
    }
    return sessions.get(id).begun
  }
  const end = async (id) => {
    if (!sessions.has(id) || ended.has(id)) return
    ended.add(id)
    await send("SessionEnd", id, { reason: "other" })
  }
  // Who closes the terminal gives no time for more than this.
  process.once("exit", () => {
    for (const id of sessions.keys()) {
      if (ended.has(id)) continue
      const input = line("SessionEnd", id, directory, { reason: "other" })
      try {
        spawnSync("/bin/sh", ["-c", COMMAND], { cwd: directory, input, timeout: PATIENCE_AT_EXIT_MS })
      } catch {}
    }
  })

  const happened = {
    "session.created": async ({ info }) => {
      if (!info?.id) return
      if (!info.parentID) return begin(info.id, "startup")
      agents.set(info.id, { parent: who(info.parentID)[0], type: asked.get(info.parentID) ?? "general" })
      await send("SubagentStart", info.id, {})
    },
    "session.idle": async ({ sessionID }) => {
      const event = agents.has(sessionID) ? "SubagentStop" : "Stop"
      await send(event, sessionID, { stop_hook_active: true, last_assistant_message: said.get(sessionID) ?? "" })
    },
    "session.compacted": async ({ sessionID }) => {
      const told = sessions.get(sessionID)
      if (told) told.start = contextOf(await send("SessionStart", sessionID, { source: "compact" }))
    },
    "session.error": async ({ sessionID, error }) => {
      if (!sessionID || !error || error.name === "MessageAbortedError") return
      await send("StopFailure", sessionID, { error: error.name, error_details: String(error.data?.message ?? "") })
    },
    "session.deleted": async ({ info }) => end(info?.id),
    // A call that throws has no `tool.execute.after`.
    "message.part.updated": async ({ part }) => {
      if (part?.type !== "tool" || part.state?.status !== "error") return
      const error = String(part.state.error ?? "")
      if (error.startsWith("anthill: ")) return
      await send("PostToolUseFailure", part.sessionID, { ...call(part.tool, part.state.input), tool_use_id: part.callID, error })
    },
  }

  return {
    event: async ({ event }) => happened[event.type]?.(event.properties ?? {}),
    dispose: async () => { await Promise.all([...sessions.keys()].map(end)) },
    "shell.env": async (input, output) => {
      if (input.sessionID) output.env.ANTHILL_SESSION_ID = who(input.sessionID)[0]
    },
    "chat.message": async (input, output) => {
      const id = input.sessionID
      if (agents.has(id)) return
      await begin(id, "resume")
      const prompt = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
      sessions.get(id).prompt = contextOf(await send("UserPromptSubmit", id, { prompt }))
    },
    "experimental.chat.system.transform": async (input, output) => {
      const told = sessions.get(input.sessionID)
      await told?.begun
      output.system.push(...[told?.start, told?.prompt].filter(Boolean))
    },
    "experimental.text.complete": async (input, output) => {
      said.set(input.sessionID, output.text)
    },
    "tool.execute.before": async (input, output) => {
      if (input.tool === "task") asked.set(input.sessionID, output.args?.subagent_type)
      const fields = { ...call(input.tool, output.args), tool_use_id: input.callID }
      if (!EDITS.includes(fields.tool_name)) return
      const answer = (await send("PreToolUse", input.sessionID, fields)).hookSpecificOutput
      // A call that is denied is a call that fails.
      if (answer?.permissionDecision === "deny") throw new Error(answer.permissionDecisionReason)
    },
    "tool.execute.after": async (input, output) => {
      const fields = { ...call(input.tool, input.args), tool_use_id: input.callID }
      const code = input.tool === "bash" ? output.metadata?.exit : 0
      if (code) {
        await send("PostToolUseFailure", input.sessionID, { ...fields, error: `Exit code ${code}\n${output.output}` })
        return
      }
      const text = contextOf(await send("PostToolUse", input.sessionID, { ...fields, tool_response: { output: output.output } }))
      if (text && typeof output.output === "string") output.output += `\n\n${text}`
    },
    "experimental.session.compacting": async (input) => {
      await send("PreCompact", input.sessionID, { trigger: "auto", custom_instructions: null })
    },
  }
}
