//! Whether an agent's client works in a place at all, told before anything is claimed: from its own files, as far as they tell.

use std::fs;
use std::path::{Path, PathBuf};

use anthill_core::model::jsonc::Jsonc;
use anthill_core::model::service::Ailment;
use serde_json::Value;

use super::profile::{Agent, Wants};
use super::{Result, Site, health};
use crate::foreign;

/// What Gemini CLI goes by when it decides whether to trust a folder.
#[derive(Debug, Default)]
pub struct Gemini {
    /// What the environment says of it.
    pub said: Option<bool>,
    /// Where it keeps its settings, as a rule `~/.gemini`.
    pub dir: Option<PathBuf>,
    /// The folders that were trusted, if not in `trustedFolders.json` there.
    pub folders: Option<PathBuf>,
    /// The settings of the whole machine.
    pub system: Vec<PathBuf>,
}

/// Refuses a place in which an agent's client would not work.
pub fn check(agent: &Agent, site: &Site) -> Result<()> {
    let root = &site.root;
    let trouble = match agent.profile.map(|profile| profile.wants) {
        Some(Wants::Repository) if !is_in_git(root) => "is in no git repository",
        Some(Wants::Trust) if site.gemini.trusts(root) == Some(false) => {
            "is no folder that Gemini CLI trusts"
        }
        _ => return Ok(()),
    };
    Err(health::stopped(agent, Ailment::Place, &format!("`{}` {trouble}", root.display())))
}

fn is_in_git(dir: &Path) -> bool {
    dir.ancestors().any(|dir| dir.join(".git").exists())
}

impl Gemini {
    /// Whether it trusts a folder. `None` where it has no settings yet, or they cannot be read: then it has to say so itself.
    fn trusts(&self, root: &Path) -> Option<bool> {
        if self.said.is_some() {
            return self.said;
        }
        let dir = self.dir.as_deref().filter(|dir| dir.is_dir())?;
        let own = dir.join("settings.json");
        let settings = self.system.iter().chain([&own]).map(PathBuf::as_path);
        if settings.filter_map(read).any(|settings| settings["security"]["folderTrust"]["enabled"] == false) {
            return Some(true);
        }
        let path = self.folders.clone().unwrap_or_else(|| dir.join("trustedFolders.json"));
        if !path.exists() {
            return Some(false);
        }
        Some(is_trusted(&read(&path)?, &real(root)))
    }
}

/// Whether the longest rule for a folder says that it is trusted.
fn is_trusted(rules: &Value, root: &Path) -> bool {
    let rules = rules.as_object().into_iter().flatten();
    let applies = |(path, level): &(&String, &Value)| {
        let path = Path::new(path.as_str());
        let path = if *level == "TRUST_PARENT" { path.parent().unwrap_or(path) } else { path };
        root.starts_with(real(path))
    };
    let rule = rules.filter(applies).max_by_key(|(path, _)| path.len());
    rule.is_some_and(|(_, level)| level == "TRUST_FOLDER" || level == "TRUST_PARENT")
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn read(path: &Path) -> Option<Value> {
    let text = foreign::read_text(path, foreign::SETTINGS).ok()?;
    let parsed = Jsonc::parse(&text).ok()?;
    Some(parsed.value(&parsed.root))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out files of a client")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn gemini(dir: &Path) -> Gemini {
        Gemini { dir: Some(dir.join(".gemini")), ..Gemini::default() }
    }

    #[test]
    fn the_longest_rule_counts() {
        let home = tempfile::tempdir().unwrap();
        let home = &real(home.path());
        let root = home.join("work/shop");
        fs::create_dir_all(&root).unwrap();
        symlink(&root, home.join("link")).unwrap();
        assert_eq!(gemini(home).trusts(&root), None, "it was never used here");
        fs::create_dir(home.join(".gemini")).unwrap();
        assert_eq!(gemini(home).trusts(&root), Some(false));
        let check = |rules: &[(&str, &str)], expected: Option<bool>| {
            let rules =
                rules.iter().map(|(path, level)| (home.join(path).display().to_string(), (*level).into()));
            let rules = Value::Object(rules.collect());
            fs::write(home.join(".gemini/trustedFolders.json"), format!("// mine\n{rules}")).unwrap();
            assert_eq!(gemini(home).trusts(&root), expected, "{rules}");
        };
        check(&[("work/shop", "TRUST_FOLDER")], Some(true));
        check(&[("work", "TRUST_FOLDER")], Some(true));
        check(&[("link", "TRUST_FOLDER")], Some(true));
        check(&[("work/other", "TRUST_PARENT")], Some(true));
        check(&[("work/sho", "TRUST_FOLDER"), ("other", "TRUST_FOLDER")], Some(false));
        check(&[("work", "TRUST_FOLDER"), ("work/shop", "DO_NOT_TRUST")], Some(false));
        check(&[("work/shop", "odd")], Some(false));
        fs::write(home.join(".gemini/trustedFolders.json"), "{broken").unwrap();
        assert_eq!(gemini(home).trusts(&root), None, "it says that itself");
    }

    #[test]
    fn who_asks_nobody_trusts_all() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        fs::create_dir(home.join(".gemini")).unwrap();
        for said in [true, false] {
            assert_eq!(Gemini { said: Some(said), ..gemini(home) }.trusts(home), Some(said));
        }
        let off = r#"{"security": {"folderTrust": {"enabled": false}}} // all of them"#;
        fs::write(home.join("system.json"), off).unwrap();
        assert_eq!(
            Gemini { system: vec![home.join("system.json")], ..gemini(home) }.trusts(home),
            Some(true)
        );
        assert_eq!(gemini(home).trusts(home), Some(false));
        fs::write(home.join(".gemini/settings.json"), off).unwrap();
        assert_eq!(gemini(home).trusts(home), Some(true));
    }
}
