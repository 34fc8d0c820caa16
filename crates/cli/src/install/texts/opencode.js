// Written by `anthill init`, removed by `anthill uninstall`.
// Tells `anthill hook` what happens in a session, in the words of Claude Code's hooks, and puts what it answers into the
// context. A fault of anthill never disturbs the session.
import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"
const PATIENCE_MS = 10_000
const TOOLS = { bash: "Bash", edit: "Edit", glob: "Glob", grep: "Grep", read: "Read", task: "Agent", todowrite: "TodoWrite", webfetch: "WebFetch", write: "Write" }

/** Runs the hook with one event; resolves to what it wants to be known, or to "". */
function tell(event, session, cwd, fields) {
  return new Promise((resolve) => {
    let answer = ""
    const end = () => resolve(contextOf(answer))
    try {
      const child = spawn("/bin/sh", ["-c", COMMAND], { cwd, stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS)
      child.on("error", () => { clearTimeout(timer); resolve("") })
      child.on("close", () => { clearTimeout(timer); end() })
      child.stdout.on("data", (chunk) => { answer += chunk })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify({ session_id: session, transcript_path: "", cwd, hook_event_name: event, ...fields }))
    } catch {
      resolve("")
    }
  })
}

function contextOf(answer) {
  const text = answer.trim()
  if (!text.startsWith("{")) return text
  try {
    return JSON.parse(text).hookSpecificOutput?.additionalContext ?? ""
  } catch {
    return ""
  }
}

export const Anthill = async ({ directory }) => {
  // What a session was told at its start and with its last prompt: the system prompt is made anew for every request.
  const told = new Map()
  // What calls under way were given, by the id of the call.
  const given = new Map()
  const note = (session, when, text) => told.set(session, { ...told.get(session), [when]: text })

  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info?.id && !info.parentID) {
        note(info.id, "start", await tell("SessionStart", info.id, directory, { source: "startup" }))
      }
      if (event.type === "session.idle" && event.properties?.sessionID) {
        await tell("Stop", event.properties.sessionID, directory, { stop_hook_active: true })
      }
    },
    "chat.message": async (input, output) => {
      const parts = output.parts ?? []
      const prompt = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
      note(input.sessionID, "prompt", await tell("UserPromptSubmit", input.sessionID, directory, { prompt }))
    },
    "experimental.chat.system.transform": async (input, output) => {
      const { start, prompt } = told.get(input.sessionID) ?? {}
      output.system.push(...[start, prompt].filter(Boolean))
    },
    "tool.execute.before": async (input, output) => {
      given.set(input.callID, output.args)
    },
    "tool.execute.after": async (input, output) => {
      const args = given.get(input.callID) ?? input.args ?? {}
      given.delete(input.callID)
      const fields = {
        tool_name: TOOLS[input.tool] ?? input.tool,
        tool_input: args,
        tool_response: { output: output.output },
        tool_use_id: input.callID,
      }
      const text = await tell("PostToolUse", input.sessionID, directory, fields)
      if (text && typeof output.output === "string") output.output += `\n\n${text}`
    },
    "experimental.session.compacting": async (input, output) => {
      const fields = { trigger: "auto", custom_instructions: null }
      const text = await tell("PreCompact", input.sessionID, directory, fields)
      if (text) output.context.push(text)
    },
  }
}
