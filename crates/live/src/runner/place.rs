//! Whether an agent's client works in a directory at all. Checked before anything is claimed, by the client's own files.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anthill_core::model::clients::{Trust, Wants};
use anthill_core::model::jsonc::Jsonc;
use anthill_core::model::service::Ailment;
use serde_json::Value;

use super::agent::Agent;
use super::{Result, Site, health};
use crate::foreign;

/// Refuses a place in which an agent's client would not work.
pub fn check(agent: &Agent, site: &Site) -> Result<()> {
    let Some(client) = agent.client else { return Ok(()) };
    let root = &site.root;
    let trouble = match &client.run.wants {
        Wants::Repository if !is_in_git(root) => "is in no git repository".to_owned(),
        Wants::Trust(trust) if trusts(trust, &site.variable, root) == Some(false) => {
            format!("is no folder that {} trusts", client.title)
        }
        _ => return Ok(()),
    };
    Err(health::stopped(agent, Ailment::Place, &format!("`{}` {trouble}", root.display())))
}

fn is_in_git(dir: &Path) -> bool {
    dir.ancestors().any(|dir| dir.join(".git").exists())
}

/// Whether a client trusts a folder. `None` where it has no settings yet, or they cannot be read: then it has to say so itself.
fn trusts(trust: &Trust, variable: &dyn Fn(&str) -> Option<OsString>, root: &Path) -> Option<bool> {
    let is = |name: &str, word: &str| variable(name).is_some_and(|value| value == word);
    if let Some((_, _, decided)) = trust.decided.iter().find(|(name, word, _)| is(name, word)) {
        return Some(*decided);
    }
    let path = |name: &str| variable(name).map(PathBuf::from);
    let home = path(trust.home).or_else(|| path("HOME")).filter(|_| variable(trust.asks).is_none())?;
    let dir = Some(home.join(trust.dir)).filter(|dir| dir.is_dir())?;
    let system = trust.system.iter().map(|(name, usual)| path(name).unwrap_or_else(|| usual.into()));
    let mut settings = system.chain([dir.join(trust.settings)]);
    if settings.any(|file| read(&file).is_some_and(|settings| (trust.trusts_all)(&settings))) {
        return Some(true);
    }
    let (rules, usual) = trust.rules;
    let rules = path(rules).unwrap_or_else(|| dir.join(usual));
    if !rules.exists() {
        return Some(false);
    }
    Some(is_trusted(trust, &read(&rules)?, &real(root)))
}

/// Whether the longest rule for a folder says that it is trusted.
fn is_trusted(trust: &Trust, rules: &Value, root: &Path) -> bool {
    let (folder, parent) = trust.trusted;
    let rules = rules.as_object().into_iter().flatten();
    let applies = |(path, level): &(&String, &Value)| {
        let path = Path::new(path.as_str());
        let path = if *level == parent { path.parent().unwrap_or(path) } else { path };
        root.starts_with(real(path))
    };
    let rule = rules.filter(applies).max_by_key(|(path, _)| path.len());
    rule.is_some_and(|(_, level)| level == folder || level == parent)
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

    use anthill_core::model::clients;

    use super::*;

    /// Asks a client that goes by trust, with these variables beside its home.
    fn asked(home: &Path, variables: &[(&str, &Path)], root: &Path) -> Option<bool> {
        let Wants::Trust(trust) = &clients::find("gemini").unwrap().run.wants else {
            panic!("it wants trust")
        };
        let variable = |name: &str| {
            let home = [(trust.home, home)];
            let found = variables.iter().chain(&home).find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_os_str().to_owned())
        };
        trusts(trust, &variable, root)
    }

    #[test]
    fn the_longest_rule_counts() {
        let home = tempfile::tempdir().unwrap();
        let home = &real(home.path());
        let root = home.join("work/shop");
        fs::create_dir_all(&root).unwrap();
        symlink(&root, home.join("link")).unwrap();
        assert_eq!(asked(home, &[], &root), None, "it was never used here");
        fs::create_dir(home.join(".gemini")).unwrap();
        assert_eq!(asked(home, &[], &root), Some(false));
        let check = |rules: &[(&str, &str)], expected: Option<bool>| {
            let rules =
                rules.iter().map(|(path, level)| (home.join(path).display().to_string(), (*level).into()));
            let rules = Value::Object(rules.collect());
            fs::write(home.join(".gemini/trustedFolders.json"), format!("// mine\n{rules}")).unwrap();
            assert_eq!(asked(home, &[], &root), expected, "{rules}");
        };
        check(&[("work/shop", "TRUST_FOLDER")], Some(true));
        check(&[("work", "TRUST_FOLDER")], Some(true));
        check(&[("link", "TRUST_FOLDER")], Some(true));
        check(&[("work/other", "TRUST_PARENT")], Some(true));
        check(&[("work/sho", "TRUST_FOLDER"), ("other", "TRUST_FOLDER")], Some(false));
        check(&[("work", "TRUST_FOLDER"), ("work/shop", "DO_NOT_TRUST")], Some(false));
        check(&[("work/shop", "odd")], Some(false));
        fs::write(home.join(".gemini/trustedFolders.json"), "{broken").unwrap();
        assert_eq!(asked(home, &[], &root), None, "it says that itself");
    }

    #[test]
    fn who_asks_nobody_trusts_all() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        fs::create_dir(home.join(".gemini")).unwrap();
        for (said, word) in [(true, "true"), (false, "false")] {
            let variables = [("GEMINI_CLI_TRUST_WORKSPACE", Path::new(word))];
            assert_eq!(asked(home, &variables, home), Some(said));
        }
        let restricted = [
            ("GEMINI_CLI_TRUST_WORKSPACE", Path::new("true")),
            ("GEMINI_RESTRICTED_MODE", Path::new("true")),
        ];
        assert_eq!(asked(home, &restricted, home), Some(false));
        assert_eq!(
            asked(home, &[("GEMINI_CLI_IDE_SERVER_PORT", Path::new("1"))], home),
            None,
            "an editor knows"
        );
        let off = r#"{"security": {"folderTrust": {"enabled": false}}} // all of them"#;
        fs::write(home.join("system.json"), off).unwrap();
        let system = home.join("system.json");
        assert_eq!(asked(home, &[("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &system)], home), Some(true));
        assert_eq!(asked(home, &[], home), Some(false));
        fs::write(home.join(".gemini/settings.json"), off).unwrap();
        assert_eq!(asked(home, &[], home), Some(true));
    }
}
