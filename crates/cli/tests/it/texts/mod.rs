//! Texts that people and agents copy are true: every command line in them is run as it stands.
//!
//! - `documents.rs`: README and docs. The `console` and `sh` blocks of a section run from top to bottom in one project; what
//!   has to be there before is in a table here. A block that cannot be run says so in the document, right before it:
//!   `<!-- not run: why -->`.
//! - `installed.rs`: what `anthill init` tells agents. Every command line within its sentences runs, from top to bottom, with
//!   its words in capitals filled in.
//!
//! The examples of `--help` are checked beside the program (`src/examples.rs`): there it can be asked what it understands.

mod documents;
mod installed;
mod markdown;
mod stage;
