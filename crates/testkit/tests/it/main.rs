mod conformance;
mod histories;
mod stores;
mod watch;
