//! What the shared configuration says about how to work. Without one, or where it is silent, the defaults hold.

use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Actor, Error, Result};
use crate::hint;
use crate::model::documents::state::{
    Config, Features, GlobalSettings, JournalSettings, Paths, RetentionSettings,
};
use crate::model::key::{Fields, FieldsMut, Key as Field};
use crate::model::kind::Doc;
use crate::model::next::Next;
use crate::model::shape::Integer;
use crate::store::places::Places;
use crate::store::{self, Engine};

/// The settings of `config.json` that operations keep to.
#[derive(Debug, Clone, Default)]
pub struct Settings(Value);

/// How long a session lives without a sign of life, unless the configuration says otherwise.
const SESSION_TIMEOUT: f64 = 3600.0;

/// How many days what is over stays, unless the configuration says otherwise; and tasks of the queue, which people look up.
const KEPT_DAYS: u64 = 30;
const KEPT_TASKS_DAYS: u64 = 90;

/// The feature that denies edits of files that others work on.
const GUARD: Field<Option<bool>> = Features::enable_edit_guard;

/// How the edit guard stands after it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    TurnedOn,
    /// The configuration had decided already.
    Kept(bool),
}

/// Turns the edit guard on, if the configuration does not say anything about it.
pub fn turn_on_guard(engine: &dyn Engine, actor: &Actor) -> Result<Guard> {
    let doc = Doc::config();
    let mut transaction = engine.begin(&[&doc.room])?;
    let mut config = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(actor.now()));
    if let Some(known) = config.at(Config::features).read(GUARD) {
        return Ok(Guard::Kept(known));
    }
    if config[Config::features].is_null() {
        config[Config::features] = json!({});
    }
    config[Config::features].set(GUARD, true);
    transaction.put(&doc, config)?;
    transaction.commit(&actor.entry("init"))?;
    Ok(Guard::TurnedOn)
}

impl Settings {
    pub fn read(engine: &dyn Engine) -> Result<Settings> {
        let config = engine.read(&Doc::config())?;
        Ok(Settings(config.map(|config| config.value).unwrap_or_default()))
    }

    /// Seconds without a heartbeat after which a session counts as gone.
    pub fn session_timeout(&self) -> Duration {
        let told =
            self.0[Config::global].number(GlobalSettings::session_timeout).filter(|seconds| *seconds > 0.0);
        Duration::try_from_secs_f64(told.unwrap_or(SESSION_TIMEOUT)).unwrap_or(Duration::MAX)
    }

    /// The project of whoever names none.
    pub fn default_project(&self) -> Option<&str> {
        self.0[Config::global].text(GlobalSettings::default_project)
    }

    /// How many agents may work at once; `None` for as many as you like.
    pub fn max_parallel_agents(&self) -> Option<u64> {
        self.0[Config::global].read(GlobalSettings::max_parallel_agents)
    }

    /// Returns how many agents are to work at once: as many as somebody wants, if that is allowed, else as many as are
    /// allowed, up to `most`.
    pub fn parallel_agents(&self, wanted: Option<usize>, most: usize) -> Result<usize> {
        if let Some(wanted) = wanted {
            self.allow_agents(u64::try_from(wanted).unwrap_or(u64::MAX))?;
            return Ok(wanted);
        }
        let allowed = self.max_parallel_agents().and_then(|most| usize::try_from(most).ok());
        Ok(allowed.unwrap_or(most).clamp(1, most))
    }

    /// Refuses to let more agents work at once than the configuration allows.
    pub fn allow_agents(&self, wanted: u64) -> Result<()> {
        match self.max_parallel_agents() {
            Some(most) if wanted > most => Err(Error::refused(
                format!("{wanted} agents at once are more than the {most} of `global.max_parallel_agents`"),
                hint!["allow more: ", setting("global.max_parallel_agents", &wanted.to_string())],
            )),
            _ => Ok(()),
        }
    }

    /// How long something that is over stays, by its field of `retention`; `None` for ever.
    pub fn kept_for(&self, key: Field<Option<Integer>>) -> Option<Duration> {
        let usual = if key == RetentionSettings::tasks_days { KEPT_TASKS_DAYS } else { KEPT_DAYS };
        let days = self.0.at(Config::retention).read(key).unwrap_or(usual);
        (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)))
    }

    /// How many of something stay, by its field of `retention`: `usual` unless the configuration says otherwise, all for 0.
    pub fn kept_number(&self, key: Field<Option<Integer>>, usual: usize) -> usize {
        match self.0.at(Config::retention).read(key) {
            Some(0) => usize::MAX,
            told => told.and_then(|told| usize::try_from(told).ok()).unwrap_or(usual),
        }
    }

    /// Whether a feature is on. All are, unless the configuration says otherwise.
    pub fn is_on(&self, feature: Field<Option<bool>>) -> bool {
        self.0.at(Config::features).read(feature).unwrap_or(true)
    }

    /// Whether edits of files that others work on are denied.
    pub fn guards_edits(&self) -> bool {
        self.is_switched_on(GUARD)
    }

    /// Whether a feature is on that is off unless the configuration says otherwise.
    pub fn is_switched_on(&self, feature: Field<Option<bool>>) -> bool {
        self.0.at(Config::features).read(feature).unwrap_or(false)
    }

    /// Refuses when a feature is off.
    pub fn need(&self, feature: Field<Option<bool>>, what: &str) -> Result<()> {
        if self.is_on(feature) {
            return Ok(());
        }
        let feature = feature.name();
        let message = format!("{what} is off: the configuration says `features.{feature}: false`");
        Err(Error::refused(message, hint!["turn it on: ", setting(&format!("features.{feature}"), "true")]))
    }
}

/// Returns how many older segments of each journal stay, if the configuration says so: for the file engine's options.
pub fn kept_segments(engine: &dyn Engine) -> store::Result<Option<usize>> {
    let config = engine.read(&Doc::config())?.map(|config| config.value);
    let told = config.as_ref().at(Config::journal).read(JournalSettings::kept_segments);
    Ok(told.and_then(|told| usize::try_from(told).ok()))
}

/// What `paths` says by default, whatever the home is.
const USUAL: [&str; 2] = ["~/.claude/sessions", "~/.claude/orchestration"];

/// Returns where parts of the home are by the configuration: for the file engine. `user` is what `~` stands for.
pub fn places(engine: &dyn Engine, user: Option<&FilePath>) -> store::Result<Places> {
    let config = engine.read(&Doc::config())?.map(|config| config.value);
    let place = |setting: Field<Option<String>>| {
        let told = config.as_ref().at(Config::paths).text(setting).filter(|told| !USUAL.contains(told));
        told.map(|told| absolute(told, setting.name(), user)).transpose()
    };
    Ok(Places { sessions: place(Paths::session_state)?, shared: place(Paths::shared_state)? })
}

fn absolute(place: &str, setting: &str, user: Option<&FilePath>) -> store::Result<PathBuf> {
    let place = match (place.strip_prefix("~/"), user) {
        (Some(rest), Some(user)) => user.join(rest),
        _ => PathBuf::from(place),
    };
    if place.is_absolute() {
        return Ok(place);
    }
    let message = format!("`paths.{setting}` in the configuration must be an absolute path");
    Err(store::Error::UnsupportedPlace { path: place.display().to_string(), message })
}

fn setting(path: &str, value: &str) -> Next {
    Next::Set { kind: "config", path: path.into(), value: value.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_stays_for_a_month_unless_told_otherwise() {
        let day = Duration::from_secs(24 * 60 * 60);
        let silent = Settings::default();
        assert_eq!(
            (
                silent.kept_for(RetentionSettings::sessions_days),
                silent.kept_number(RetentionSettings::errors, 7)
            ),
            (Some(30 * day), 7)
        );
        assert_eq!(silent.kept_for(RetentionSettings::tasks_days), Some(90 * day));
        let told =
            Settings(json!({"retention": {"sessions_days": 2, "tasks_days": 0, "errors": 0, "agents": 3}}));
        assert_eq!(
            (told.kept_for(RetentionSettings::sessions_days), told.kept_for(RetentionSettings::tasks_days)),
            (Some(2 * day), None)
        );
        assert_eq!(
            (told.kept_number(RetentionSettings::errors, 7), told.kept_number(RetentionSettings::agents, 7)),
            (usize::MAX, 3)
        );
    }

    #[test]
    fn as_many_agents_work_as_are_wanted_or_allowed() {
        let allowed = |most: Value| Settings(json!({"global": {"max_parallel_agents": most}}));
        assert_eq!(Settings::default().parallel_agents(None, 4).unwrap(), 4);
        assert_eq!(Settings::default().parallel_agents(Some(9), 4).unwrap(), 9);
        assert_eq!(allowed(json!(2)).parallel_agents(None, 4).unwrap(), 2);
        assert_eq!(allowed(json!(0)).parallel_agents(None, 4).unwrap(), 1);
        assert_eq!(allowed(json!(9)).parallel_agents(None, 4).unwrap(), 4);
        assert!(allowed(json!(2)).parallel_agents(Some(3), 4).is_err());
    }
}
