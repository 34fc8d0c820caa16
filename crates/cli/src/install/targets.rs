//! Which files a client reads, and what each should hold.

use std::path::{Path, PathBuf};

use anthill_core::model::ids::ProjectId;
use anthill_core::model::install::{Hook, Hooks, Part, Project, StatusLine};
use anthill_core::model::json;
use anthill_live::{foreign, gates};
use serde_json::{Value, json};

use super::texts::{self, AGENTS, FORMER_SKILLS, SKILLS};
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
    /// An earlier version wrote it; this one does without.
    Former,
}

/// What is to be installed.
#[derive(Debug)]
pub struct Wish {
    pub scope: Scope,
    pub clients: Vec<Client>,
    /// Whether hooks may refuse tool calls.
    pub guard: bool,
    /// Whether the client's status line shows how things stand.
    pub status_line: bool,
    /// How a shell calls this program.
    pub program: String,
    /// How it is called without a shell.
    pub bare_program: String,
    /// What hooks called before.
    pub known: Vec<String>,
    /// What the project is called.
    pub project: Option<ProjectId>,
    /// Whether files are also written where links lead out of the project.
    pub follow_links: bool,
}

const SECONDS: u64 = 10;
/// What Codex gives the end of a session; it complains about more.
const SECONDS_AT_CODEX_END: u64 = 3;
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
                    let settings = self.dir(places, ".gemini").join("settings.json");
                    targets.push(parts(settings, [self.gemini_hooks(), Part::Server]));
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
        if let (Scope::Project, Some(id)) = (self.scope, &self.project) {
            let named = Part::Project(Project { id: id.clone() });
            targets.push(parts(places.project.join(gates::config::FILE), [named]));
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
            targets.push(parts(places.project.join(".mcp.json"), [Part::Server]));
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
        targets.extend(agents_and_skills(&plugin));
        targets
    }

    /// Returns a client's directory in the project or in the user's home.
    fn dir(&self, places: &Places, name: &str) -> PathBuf {
        if self.scope == Scope::User { places.user.join(name) } else { places.project.join(name) }
    }

    pub fn command(&self) -> String {
        format!("{} {HOOK}", self.program)
    }

    fn claude_hooks(&self) -> Part {
        Part::Hooks(self.hooks(&CLAUDE, GUARDED, SECONDS))
    }

    fn claude_status_line(&self) -> Part {
        let line = |program: &str| format!("{program} {STATUS_LINE}");
        let known = self.known.iter().filter_map(|command| command.strip_suffix(" hook")).map(line).collect();
        Part::StatusLine(StatusLine {
            command: line(&self.program),
            words: STATUS_LINE,
            wanted: self.status_line,
            known,
        })
    }

    fn codex_hooks(&self) -> Part {
        let mut hooks = self.hooks(&CODEX, GUARDED_BY_CODEX, SECONDS);
        let end = hooks.events.iter_mut().filter(|hook| hook.event == "SessionEnd");
        end.for_each(|hook| hook.timeout = SECONDS_AT_CODEX_END);
        Part::Hooks(hooks)
    }

    /// Gemini CLI counts in milliseconds.
    fn gemini_hooks(&self) -> Part {
        Part::Hooks(self.hooks(&GEMINI, GUARDED_BY_GEMINI, SECONDS * 1000))
    }

    fn hooks(&self, events: &[&'static str], guarded: &'static str, timeout: u64) -> Hooks {
        let hook = |event: &&'static str| {
            let guards = matches!(*event, "PreToolUse" | "BeforeTool");
            let matcher = match *event {
                _ if guards => Some(guarded),
                // Gemini announces every request otherwise, as it may have to be shortened.
                "PreCompress" => Some("manual"),
                _ => None,
            };
            Hook { event, matcher, timeout, wanted: !guards || self.guard }
        };
        let events = events.iter().map(hook).collect();
        Hooks { events, command: self.command(), words: HOOK, known: self.known.clone() }
    }
}

/// What the files of others call, behind the program.
const HOOK: &str = "hook";
const STATUS_LINE: &str = "status --line";

fn agents_and_skills(dir: &Path) -> Vec<Target> {
    let agents = AGENTS.iter().map(|(name, text)| whole(dir.join("agents").join(name), (*text).into()));
    let skills = SKILLS.iter().map(|(name, text)| whole(skill(dir, name), (*text).into()));
    let former = FORMER_SKILLS.iter().map(|name| Target { path: skill(dir, name), content: Content::Former });
    agents.chain(skills).chain(former).collect()
}

fn skill(dir: &Path, name: &str) -> PathBuf {
    dir.join("skills").join(name).join("SKILL.md")
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
    foreign::read_text(path, foreign::SETTINGS).is_ok_and(|text| text.lines().any(|line| line.trim() == what))
}

fn exists(dir: &Path, name: &str) -> bool {
    dir.join(name).exists()
}
