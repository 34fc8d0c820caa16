mod conformance;
mod histories;
mod model;
mod stores;
mod watch;
