//! Crashes the file engine at every call, in every way, and looks whether it kept its promises.
//!
//! One table of [`scenarios`]; each module sweeps it with one kind of misfortune: death of the process
//! ([`kill`]), failing calls ([`errors`]), loss of power ([`power`]). [`damage`] spoils files by hand, [`edits`] saves them in the middle of a commit.
//! [`archive`] does that to the ends of sessions and what becomes of them, [`client`] to the hooks of a whole session, [`orchestrate`] to a whole run of the pipeline,
//! [`signs`] to signs of life, which change no document.
//! [`probe`] holds what must be true afterwards, whatever happened.

mod archive;
mod client;
mod damage;
mod edits;
mod errors;
mod kill;
mod orchestrate;
mod power;
mod probe;
mod scenarios;
mod signs;
