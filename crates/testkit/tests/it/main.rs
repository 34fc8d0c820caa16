mod conformance;
mod copies;
mod histories;
mod model;
mod retention;
mod stores;
mod watch;
