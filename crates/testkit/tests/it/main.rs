mod conformance;
mod histories;
mod model;
mod retention;
mod stores;
mod watch;
