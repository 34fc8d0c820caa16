//! Hook entries in the settings of clients, which have the same form in all of them:
//! `{"hooks": {EVENT: [{"matcher": M, "hooks": [{"type": "command", "command": C, "timeout": T}]}]}}`.

use serde_json::{Value, json};

use super::{calls_us, need};
use crate::model::json::ParseError;
use crate::model::jsonc::{Jsonc, Kind, Node};

/// The hooks of one client.
#[derive(Debug, Clone)]
pub struct Hooks {
    pub events: Vec<Hook>,
    pub command: String,
    /// What stands behind the program in it, whatever the program's path.
    pub words: &'static str,
    /// What earlier installations called, in whatever form.
    pub known: Vec<String>,
}

/// One event to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    pub event: &'static str,
    pub matcher: Option<&'static str>,
    /// In the unit of the client.
    pub timeout: u64,
    /// Whether it is added; if not, it is only kept up to date where it is.
    pub wanted: bool,
}

/// Where an entry of ours is: the place of its event, of its group, and its own.
type Place = (usize, usize, usize);

impl Hooks {
    pub(super) fn put(&self, text: &str) -> Result<String, ParseError> {
        let mut text = text.to_owned();
        for hook in &self.events {
            while let Some(next) = self.step(&text, hook)? {
                text = next;
            }
        }
        self.take_where(text, |event| self.events.iter().all(|hook| hook.event != event))
    }

    pub(super) fn take(&self, text: &str) -> Result<String, ParseError> {
        self.take_where(text.to_owned(), |_| true)
    }

    /// Returns the text one step nearer to having this hook as it should be; `None` when it has.
    fn step(&self, text: &str, hook: &Hook) -> Result<Option<String>, ParseError> {
        let document = Jsonc::parse(text)?;
        need(&document, &document.root, Kind::Object, "the file")?;
        let Some(all) = document.root.member("hooks") else {
            return Ok(hook.wanted.then(|| document.insert(&document.root, Some("hooks"), &json!({}))));
        };
        need(&document, all, Kind::Object, "`hooks`")?;
        let Some(place) = all.place_of(hook.event) else {
            return Ok(hook
                .wanted
                .then(|| document.insert(all, Some(hook.event), &json!([self.group(hook)]))));
        };
        let groups = &all.entries[place].value;
        need(&document, groups, Kind::Array, &format!("`hooks.{}`", hook.event))?;
        let ours = self.ours(&document, all, place);
        Ok(match ours.as_slice() {
            [] => hook.wanted.then(|| document.insert(groups, None, &self.group(hook))),
            [(_, group, entry)] => self.renewed(&document, &groups.entries[*group].value, *entry, hook),
            [.., double] => Some(cut(&document, all, *double)),
        })
    }

    /// Returns the text with an entry of an older form replaced.
    fn renewed(&self, document: &Jsonc<'_>, group: &Node, place: usize, hook: &Hook) -> Option<String> {
        let entries = &group.member("hooks")?.entries;
        let matcher = group.member("matcher").map(|node| document.value(node));
        let matcher = matcher.as_ref().and_then(Value::as_str).filter(|text| !matches!(*text, "" | "*"));
        if entries.len() == 1 && matcher != hook.matcher {
            return Some(document.replace(group, &self.group(hook)));
        }
        let entry = &entries[place].value;
        (document.value(entry) != self.entry(hook)).then(|| document.replace(entry, &self.entry(hook)))
    }

    fn take_where(&self, mut text: String, goes: impl Fn(&str) -> bool) -> Result<String, ParseError> {
        loop {
            let document = Jsonc::parse(&text)?;
            let Some(all) = document.root.member("hooks").filter(|all| all.kind == Kind::Object) else {
                break;
            };
            let event = |place: &usize| goes(all.entries[*place].key.as_deref().unwrap_or_default());
            let mut places = (0..all.entries.len()).filter(event);
            let Some(place) = places.find_map(|place| self.ours(&document, all, place).pop()) else { break };
            text = match (all.entries.len(), document.root.place_of("hooks")) {
                (1, Some(hooks)) if is_alone(all, place) => document.remove(&document.root, hooks),
                _ => cut(&document, all, place),
            };
        }
        Ok(text)
    }

    /// Returns the entries of ours in one event.
    fn ours(&self, document: &Jsonc<'_>, all: &Node, event: usize) -> Vec<Place> {
        let mut found = Vec::new();
        for (place, group) in all.entries[event].value.entries.iter().enumerate() {
            let entries =
                group.value.member("hooks").map(|hooks| hooks.entries.as_slice()).unwrap_or_default();
            for (entry, hook) in entries.iter().enumerate() {
                let command = hook.value.member("command").map(|command| document.value(command));
                if command.as_ref().and_then(Value::as_str).is_some_and(|command| self.is_ours(command)) {
                    found.push((event, place, entry));
                }
            }
        }
        found
    }

    /// Whether a command calls us, under whatever path and quotes.
    fn is_ours(&self, command: &str) -> bool {
        let known = command == self.command || self.known.iter().any(|known| known == command);
        known || calls_us(command, self.words)
    }

    fn group(&self, hook: &Hook) -> Value {
        match hook.matcher {
            Some(matcher) => json!({"matcher": matcher, "hooks": [self.entry(hook)]}),
            None => json!({"hooks": [self.entry(hook)]}),
        }
    }

    fn entry(&self, hook: &Hook) -> Value {
        json!({"type": "command", "command": self.command, "timeout": hook.timeout})
    }

    /// Returns the hooks alone, for a file of their own.
    pub fn value(&self) -> Value {
        let wanted = self.events.iter().filter(|hook| hook.wanted);
        wanted.map(|hook| (hook.event.to_owned(), json!([self.group(hook)]))).collect()
    }
}

/// Whether an event has nothing but this entry.
fn is_alone(all: &Node, (event, group, _): Place) -> bool {
    let groups = &all.entries[event].value.entries;
    groups.len() == 1 && groups[group].value.member("hooks").is_some_and(|hooks| hooks.entries.len() == 1)
}

/// Takes an entry out, and what would be empty without it.
fn cut(document: &Jsonc<'_>, all: &Node, place: Place) -> String {
    let (event, group, entry) = place;
    let groups = &all.entries[event].value;
    match groups.entries[group].value.member("hooks") {
        _ if is_alone(all, place) => document.remove(all, event),
        Some(hooks) if hooks.entries.len() > 1 => document.remove(hooks, entry),
        _ => document.remove(groups, group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hooks(command: &str) -> Hooks {
        let hook = |event, matcher, wanted| Hook { event, matcher, timeout: 10, wanted };
        let events = vec![
            hook("Stop", None, true),
            hook("PreToolUse", Some("Bash"), false),
            hook("PostToolUse", None, true),
        ];
        Hooks { events, command: command.into(), words: "hook", known: vec!["old thing".into()] }
    }

    fn value(text: &str) -> Value {
        let document = Jsonc::parse(text).unwrap();
        document.value(&document.root)
    }

    const FOREIGN: &str = r#"// mine
{
	"hooks": {
		"Stop": [ {"hooks": [{"type": "command", "command": "say done"}]} ], // keep
		"Notification": [],
	},
	"model": "x"
}"#;

    #[test]
    fn hooks_go_beside_those_of_others_and_out_again() {
        let ours = hooks("anthill hook");
        let with = ours.put(FOREIGN).unwrap();
        let group = json!({"hooks": [{"type": "command", "command": "anthill hook", "timeout": 10}]});
        let foreign = json!({"hooks": [{"type": "command", "command": "say done"}]});
        assert_eq!(
            value(&with)["hooks"],
            json!({"Stop": [foreign, group], "Notification": [], "PostToolUse": [group]})
        );
        assert!(with.starts_with("// mine\n") && with.contains("], // keep"), "{with}");
        assert_eq!(ours.put(&with).unwrap(), with, "it is there already");
        assert_eq!(ours.take(&with).unwrap(), FOREIGN);
        assert_eq!(ours.take(FOREIGN).unwrap(), FOREIGN);
        assert_eq!(ours.take(&ours.put("{}\n").unwrap()).unwrap(), "{}\n");
    }

    #[test]
    fn older_entries_are_renewed_and_doubles_go() {
        for old in
            ["/opt/bin/anthill hook", "\"$HOME/my bin/anthill\" hook", "'/a b/anthill' hook", "old thing"]
        {
            let with = hooks(old).put(FOREIGN).unwrap();
            let new = hooks("anthill hook");
            assert_eq!(new.put(&with).unwrap(), new.put(FOREIGN).unwrap(), "{old}");
        }
        for foreign in ["my-anthill hook", "anthill hooks", "anthill hook --other", "echo anthill"] {
            let text = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": foreign}]}]}})
                .to_string();
            assert_eq!(hooks("anthill hook").take(&text).unwrap(), text);
        }
        let double = json!({"hooks": {"Stop": [
            {"matcher": "*", "hooks": [{"type": "command", "command": "x"}, {"type": "command", "command": "anthill hook"}]},
            {"hooks": [{"type": "command", "command": "/x/anthill hook", "timeout": 10}]}]}});
        let once = value(&hooks("anthill hook").put(&double.to_string()).unwrap());
        assert_eq!(once["hooks"]["Stop"].as_array().unwrap().len(), 1);
        assert_eq!(once["hooks"]["Stop"][0]["hooks"][1]["timeout"], 10);
    }

    #[test]
    fn an_event_that_is_not_told_of_any_more_goes_and_an_optional_one_stays() {
        let entry =
            json!([{"matcher": "Write", "hooks": [{"type": "command", "command": "/x/anthill hook"}]}]);
        let text = json!({"hooks": {"PreToolUse": entry, "Setup": entry}}).to_string();
        let new = value(&hooks("anthill hook").put(&text).unwrap());
        assert_eq!(new["hooks"].get("Setup"), None);
        assert_eq!(new["hooks"]["PreToolUse"][0]["matcher"], "Bash");
        assert_eq!(value(&hooks("anthill hook").put("{}").unwrap())["hooks"].get("PreToolUse"), None);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_place() {
        for (text, line, column) in
            [("[]", 1, 1), ("{\n \"hooks\": []}", 2, 11), ("{\"hooks\": {\"Stop\": 1}}", 1, 20)]
        {
            let error = hooks("anthill hook").put(text).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{error}");
        }
    }
}
