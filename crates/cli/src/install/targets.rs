//! Which files a client reads, and what each should hold.

use std::path::{Path, PathBuf};

use anthill_core::model::install::{Hook, Hooks, Part, Server, StatusLine};
use anthill_core::model::json;
use serde_json::{Value, json};

use super::texts::{self, AGENTS, SKILLS};
use super::{Client, Places, Scope};

/// A file and what it should hold.
#[derive(Debug)]
pub struct Target {
    pub path: PathBuf,
    pub content: Content,
}

#[derive(Debug)]
pub enum Content {
    /// All of it is ours.
    Whole(String),
    /// Some of it is.
    Parts(Vec<Part>),
}

/// What is to be installed.
#[derive(Debug)]
pub struct Wish {
    pub scope: Scope,
    pub clients: Vec<Client>,
    /// Whether hooks may refuse tool calls.
    pub guard: bool,
    /// Whether the MCP server is registered.
    pub mcp: bool,
    /// Whether the client's status line shows how things stand.
    pub status_line: bool,
    /// How a shell calls this program.
    pub program: String,
    /// How it is called without a shell.
    pub bare_program: String,
    /// What hooks called before.
    pub known: Vec<String>,
}

const SECONDS: u64 = 10;
const GUARDED: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash";
const GUARDED_BY_CODEX: &str = "Bash|apply_patch";
const GUARDED_BY_GEMINI: &str = "write_file|replace|run_shell_command";

const CLAUDE: [&str; 13] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "StopFailure",
    "SessionEnd",
    "TaskCreated",
    "TaskCompleted",
];
const CODEX: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
];
const GEMINI: [&str; 7] =
    ["SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "PreCompress"];

impl Wish {
    /// Returns every file, in the order in which they are written.
    pub fn targets(&self, places: &Places) -> Vec<Target> {
        if self.scope == Scope::Plugin {
            return self.plugin(&places.plugin);
        }
        let mut targets = Vec::new();
        for client in &self.clients {
            match client {
                Client::Claude => self.claude(places, &mut targets),
                Client::Codex => {
                    let hooks = self.dir(places, ".codex").join("hooks.json");
                    targets.push(parts(hooks, [self.codex_hooks()]));
                }
                Client::Gemini => {
                    let server = Server { command: self.bare_program.clone(), wanted: self.mcp };
                    let settings = self.dir(places, ".gemini").join("settings.json");
                    targets.push(parts(settings, [self.gemini_hooks(), Part::Server(server)]));
                }
                Client::Opencode => {
                    let dir = match self.scope {
                        Scope::User => places.user.join(".config/opencode"),
                        _ => places.project.join(".opencode"),
                    };
                    targets.push(whole(dir.join("plugins/anthill.js"), texts::opencode(&self.command())));
                }
            }
        }
        targets.extend(
            self.instructions(places).into_iter().map(|path| parts(path, [Part::Section(texts::protocol())])),
        );
        if self.scope == Scope::Project
            && (exists(&places.project, ".git") || exists(&places.project, ".gitignore"))
        {
            targets.push(parts(places.project.join(".gitignore"), [Part::Section(texts::ignored())]));
        }
        targets
    }

    /// Returns every file that may hold something of ours.
    pub fn suspects(&self, places: &Places) -> Vec<Target> {
        let mut targets = self.targets(places);
        let instructions = match self.scope {
            Scope::Project => ["CLAUDE.md", ".claude/CLAUDE.md"].as_slice(),
            _ => &[],
        };
        for path in instructions.iter().map(|name| places.project.join(name)) {
            if targets.iter().all(|target| target.path != path) {
                targets.push(parts(path, [Part::Section(texts::protocol())]));
            }
        }
        targets
    }

    fn claude(&self, places: &Places, targets: &mut Vec<Target>) {
        let dir = match self.scope {
            Scope::User => places.home.clone(),
            _ => places.project.join(".claude"),
        };
        let settings = if self.scope == Scope::Local { "settings.local.json" } else { "settings.json" };
        targets.push(parts(dir.join(settings), [self.claude_hooks(), self.claude_status_line()]));
        if self.scope == Scope::Local {
            return;
        }
        if self.scope == Scope::Project {
            let server = Server { command: self.bare_program.clone(), wanted: self.mcp };
            targets.push(parts(places.project.join(".mcp.json"), [Part::Server(server)]));
        }
        targets.extend(agents_and_skills(&dir));
    }

    /// Returns the files of instructions. Where a client reads one of two, it is the one that exists.
    fn instructions(&self, places: &Places) -> Vec<PathBuf> {
        let named = |client: Client| self.clients.contains(&client);
        let project = &places.project;
        match self.scope {
            Scope::Plugin | Scope::Local => Vec::new(),
            Scope::User => {
                let claude = named(Client::Claude).then(|| places.home.join("CLAUDE.md"));
                let codex = named(Client::Codex).then(|| places.user.join(".codex/AGENTS.md"));
                let gemini = named(Client::Gemini).then(|| places.user.join(".gemini/GEMINI.md"));
                let opencode =
                    named(Client::Opencode).then(|| places.user.join(".config/opencode/AGENTS.md"));
                [claude, codex, gemini, opencode].into_iter().flatten().collect()
            }
            Scope::Project => {
                let hidden = !exists(project, "CLAUDE.md") && exists(project, ".claude/CLAUDE.md");
                let claude = if hidden { ".claude/CLAUDE.md" } else { "CLAUDE.md" };
                let agents = named(Client::Codex) || named(Client::Opencode) || exists(project, "AGENTS.md");
                // Instructions that take in those of `AGENTS.md` have the protocol from there.
                let twice = agents && imports(&project.join(claude), "@AGENTS.md");
                let claude = (named(Client::Claude) && !twice).then(|| project.join(claude));
                let agents = agents.then(|| project.join("AGENTS.md"));
                let gemini = named(Client::Gemini).then(|| project.join("GEMINI.md"));
                [claude, agents, gemini].into_iter().flatten().collect()
            }
        }
    }

    /// Returns a plugin of Claude Code in a marketplace of its own.
    fn plugin(&self, dir: &Path) -> Vec<Target> {
        let version = env!("CARGO_PKG_VERSION");
        let about =
            "Lets sessions work as a team: tasks, messages, workflow and progress through shared files";
        let marketplace = json!({
            "name": "anthill",
            "description": about,
            "owner": {"name": "anthill"},
            "plugins": [{"name": "anthill", "source": "./plugins/anthill", "description": about}],
        });
        let plugin = dir.join("plugins/anthill");
        let manifest = json!({"name": "anthill", "version": version, "description": about, "author": {"name": "anthill"}, "license": "MIT OR Apache-2.0"});
        let hooks = json!({"description": about, "hooks": self.hooks(&CLAUDE, GUARDED, SECONDS).value()});
        let mut targets = vec![
            document(dir.join(".claude-plugin/marketplace.json"), &marketplace),
            document(plugin.join(".claude-plugin/plugin.json"), &manifest),
            document(plugin.join("hooks/hooks.json"), &hooks),
            whole(plugin.join("skills/team-protocol/SKILL.md"), texts::protocol_skill()),
        ];
        if self.mcp {
            let servers = json!({"mcpServers": {"anthill": {"command": self.bare_program, "args": ["mcp"]}}});
            targets.push(document(plugin.join(".mcp.json"), &servers));
        }
        targets.extend(agents_and_skills(&plugin));
        targets
    }

    /// Returns a client's directory in the project or in the user's home.
    fn dir(&self, places: &Places, name: &str) -> PathBuf {
        if self.scope == Scope::User { places.user.join(name) } else { places.project.join(name) }
    }

    pub fn command(&self) -> String {
        format!("{} hook", self.program)
    }

    fn claude_hooks(&self) -> Part {
        Part::Hooks(self.hooks(&CLAUDE, GUARDED, SECONDS))
    }

    fn claude_status_line(&self) -> Part {
        let line = |program: &str| format!("{program} status --line");
        let known = self.known.iter().filter_map(|command| command.strip_suffix(" hook")).map(line).collect();
        Part::StatusLine(StatusLine { command: line(&self.program), wanted: self.status_line, known })
    }

    fn codex_hooks(&self) -> Part {
        Part::Hooks(self.hooks(&CODEX, GUARDED_BY_CODEX, SECONDS))
    }

    /// Gemini CLI counts in milliseconds.
    fn gemini_hooks(&self) -> Part {
        Part::Hooks(self.hooks(&GEMINI, GUARDED_BY_GEMINI, SECONDS * 1000))
    }

    fn hooks(&self, events: &[&'static str], guarded: &'static str, timeout: u64) -> Hooks {
        let hook = |event: &&'static str| {
            let guards = matches!(*event, "PreToolUse" | "BeforeTool");
            Hook { event, matcher: guards.then_some(guarded), wanted: !guards || self.guard }
        };
        let events = events.iter().map(hook).collect();
        Hooks { events, command: self.command(), timeout, known: self.known.clone() }
    }
}

fn agents_and_skills(dir: &Path) -> Vec<Target> {
    let agents = AGENTS.iter().map(|(name, text)| whole(dir.join("agents").join(name), (*text).into()));
    let skills = SKILLS
        .iter()
        .map(|(name, text)| whole(dir.join("skills").join(name).join("SKILL.md"), (*text).into()));
    agents.chain(skills).collect()
}

fn whole(path: PathBuf, text: String) -> Target {
    Target { path, content: Content::Whole(text) }
}

fn document(path: PathBuf, value: &Value) -> Target {
    whole(path, String::from_utf8_lossy(&json::render(value)).into_owned())
}

fn parts<const N: usize>(path: PathBuf, parts: [Part; N]) -> Target {
    Target { path, content: Content::Parts(parts.into()) }
}

fn imports(path: &Path, what: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line.trim() == what))
}

fn exists(dir: &Path, name: &str) -> bool {
    dir.join(name).exists()
}
