//! Which files a client reads, and what each should hold.

use std::path::{Path, PathBuf};

use anthill_core::model::clients::{self, CLIENTS, Client, HookEvent, SHARED_INSTRUCTIONS, Setting, What};
use anthill_core::model::ids::ProjectId;
use anthill_core::model::install::{Hook, Hooks, Insert, Project, StatusLine};
use anthill_core::model::json;
use anthill_live::{foreign, gates};
use serde_json::Value;

use super::places::Places;
use super::scope::Scope;
use super::texts::{self, AGENTS, FORMER_SKILLS, SKILLS};

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
    Parts(Vec<Insert>),
    /// An earlier version wrote it; this one does without.
    Former,
}

/// What is to be installed.
#[derive(Debug)]
pub struct Wish {
    pub scope: Scope,
    pub clients: Vec<&'static Client>,
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

impl Wish {
    /// Returns every file, in the order in which they are written.
    pub fn targets(&self, places: &Places) -> Vec<Target> {
        if self.scope == Scope::Plugin {
            return self.clients.iter().flat_map(|client| self.plugin(client, &places.plugin)).collect();
        }
        let clients = self.clients.iter();
        let mut targets: Vec<_> = clients.flat_map(|client| self.of_client(client, places)).collect();
        if let (Scope::Project, Some(id)) = (self.scope, &self.project) {
            let named = Insert::Project(Project { id: id.clone() });
            targets.push(parts(places.project.join(gates::config::FILE), [named]));
        }
        targets.extend(
            self.instructions(places)
                .into_iter()
                .map(|path| parts(path, [Insert::Section(texts::protocol())])),
        );
        if self.scope == Scope::Project
            && (exists(&places.project, ".git") || exists(&places.project, ".gitignore"))
        {
            targets.push(parts(places.project.join(".gitignore"), [Insert::Section(texts::ignored())]));
        }
        targets
    }

    /// Returns every file that may hold something of ours.
    pub fn suspects(&self, places: &Places) -> Vec<Target> {
        let mut targets = self.targets(places);
        let instructions = CLIENTS.iter().flat_map(|client| client.files.instructions.project);
        let instructions = instructions.filter(|_| self.scope == Scope::Project);
        for path in instructions.map(|name| places.project.join(name)) {
            if targets.iter().all(|target| target.path != path) {
                targets.push(parts(path, [Insert::Section(texts::protocol())]));
            }
        }
        targets
    }

    /// Returns the files of a client, but for its instructions.
    fn of_client(&self, client: &Client, places: &Places) -> Vec<Target> {
        let mut targets = Vec::new();
        for file in self.scope.files(client) {
            let path = places.dir(file.dir).join(file.path);
            match file.content {
                clients::Content::Team => targets.extend(agents_and_skills(&path)),
                clients::Content::Script(text) => targets.push(whole(path, text(&self.command()))),
                clients::Content::Settings(settings) => {
                    let parts = settings.iter().map(|setting| self.part(client, *setting)).collect();
                    targets.push(Target { path, content: Content::Parts(parts) });
                }
            }
        }
        targets
    }

    fn part(&self, client: &Client, setting: Setting) -> Insert {
        match setting {
            Setting::Hooks => Insert::Hooks(self.hooks(client)),
            Setting::StatusLine => Insert::StatusLine(self.status_line_part()),
            Setting::Server => Insert::Server,
        }
    }

    /// Returns the files of instructions.
    fn instructions(&self, places: &Places) -> Vec<PathBuf> {
        match self.scope {
            Scope::Plugin | Scope::Local => Vec::new(),
            Scope::User => {
                let files = self.clients.iter().map(|client| client.files.instructions.user);
                files.map(|(dir, path)| places.dir(dir).join(path)).collect()
            }
            Scope::Project => self.instructions_of(&places.project),
        }
    }

    /// Returns the files of instructions in a project. The shared one counts where it is, whoever reads it.
    fn instructions_of(&self, project: &Path) -> Vec<PathBuf> {
        let is_read =
            |name: &str| self.clients.iter().any(|client| own_instructions(client, project) == name);
        let shared = is_read(SHARED_INSTRUCTIONS) || exists(project, SHARED_INSTRUCTIONS);
        let is_wanted = |client: &&Client| {
            let name = own_instructions(client, project);
            // Instructions that take in the shared ones have the protocol from there.
            let import = client.files.instructions.import.filter(|_| shared);
            let twice = || import.is_some_and(|import| imports(&project.join(name), import));
            if name == SHARED_INSTRUCTIONS { shared } else { is_read(name) && !twice() }
        };
        let mut names: Vec<&str> = Vec::new();
        for client in CLIENTS.into_iter().filter(is_wanted) {
            let name = own_instructions(client, project);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter().map(|name| project.join(name)).collect()
    }

    /// Returns the plugin of a client that has one, in a marketplace of its own.
    fn plugin(&self, client: &Client, marketplace: &Path) -> Vec<Target> {
        let Some(plugin) = &client.files.plugin else { return Vec::new() };
        let dir = marketplace.join(plugin.dir);
        let documents = (plugin.documents)(&self.hooks(client).value(), env!("CARGO_PKG_VERSION"));
        let documents = documents.iter().map(|(path, value)| document(marketplace.join(path), value));
        let protocol = whole(dir.join(plugin.protocol), texts::protocol_skill());
        documents.chain([protocol]).chain(agents_and_skills(&dir)).collect()
    }

    pub fn command(&self) -> String {
        format!("{} {HOOK}", self.program)
    }

    fn status_line_part(&self) -> StatusLine {
        let line = |program: &str| format!("{program} {STATUS_LINE}");
        let known = self.known.iter().filter_map(|command| command.strip_suffix(" hook")).map(line).collect();
        StatusLine { command: line(&self.program), words: STATUS_LINE, wanted: self.status_line, known }
    }

    fn hooks(&self, client: &Client) -> Hooks {
        let hook = |event: &HookEvent| Hook {
            event: event.name,
            matcher: event.matcher,
            timeout: event.timeout.unwrap_or(client.hooks.timeout),
            wanted: event.what != What::BeforeTool || self.guard,
        };
        let events = client.hooks.events.iter().map(hook).collect();
        Hooks { events, command: self.command(), words: HOOK, known: self.known.clone() }
    }
}

/// What the files of others call, behind the program.
const HOOK: &str = "hook";
const STATUS_LINE: &str = "status --line";

/// Returns the file of instructions that a client reads in a project.
fn own_instructions(client: &Client, project: &Path) -> &'static str {
    let names = client.files.instructions.project;
    names.iter().find(|name| exists(project, name)).unwrap_or(&names[0])
}

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

fn parts<const N: usize>(path: PathBuf, parts: [Insert; N]) -> Target {
    Target { path, content: Content::Parts(parts.into()) }
}

fn imports(path: &Path, what: &str) -> bool {
    foreign::read_text(path, foreign::SETTINGS).is_ok_and(|text| text.lines().any(|line| line.trim() == what))
}

fn exists(dir: &Path, name: &str) -> bool {
    dir.join(name).exists()
}
