//! Opens the store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::ops::settings;
use anthill_core::store::Engine;
use anthill_core::store::file::fs::Fs;
use anthill_core::store::file::real_fs::RealFs;
use anthill_core::store::file::redirected_fs::RedirectedFs;
use anthill_core::store::file::{FileEngine, Options};

use crate::args::Global;
use crate::env;
use crate::error::{CliError, Result};
use crate::roots::Roots;

/// Opens the store that the arguments name.
pub fn open(global: &Global, roots: &Roots) -> Result<FileEngine> {
    if global.store != "file" {
        let message = format!("the store `{}` is not supported by this build", global.store);
        return Err(CliError::new(Code::Unsupported, message).hinted("leave --store out to work on files"));
    }
    let options = Options {
        patience: Duration::from_secs_f64(global.lock_timeout),
        allow_network_fs: global.allow_network_fs,
        told_segments: Some(settings::kept_segments),
        ..Options::default()
    };
    let (for_home, for_project) = (roots.clone(), roots.clone());
    let home = RealFs::found_by(move || for_home.home());
    let told = |engine: &dyn Engine| settings::places(engine, env::path(env::HOME).as_deref());
    let elsewhere = |place: PathBuf| Arc::new(RealFs::new(place)) as Arc<dyn Fs>;
    let home = RedirectedFs::new(Arc::new(home), Box::new(told), Box::new(elsewhere), options.patience);
    let project = RealFs::found_by(move || for_project.project());
    Ok(FileEngine::new(Arc::new(home), Arc::new(project), options))
}
