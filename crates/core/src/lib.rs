//! The library under anthill: documents, the store, and one function per use case.
//!
//! It reads no clock, environment, terminal or randomness; `cli` hands those in. Data walks one way:
//! [`model`] (types and rules) <- [`store`] (keeping them) <- [`ops`] (use cases) <- [`api`] (as anybody asks for them); [`view`] renders.
//!
//! # Files that anthill touches
//!
//! | file | owner |
//! | --- | --- |
//! | every document of the registry, `*.json` | [`model::kind`] says which, [`store::file`] writes them |
//! | `.coordination/*.md`, `context/*.md`, `logs/*.log`, `results/*.md` | [`model::text file`] says which, `store::file::text files` writes them |
//! | `.claude/workflow_state_system.md`, `.claude/state/workflow_archive/*.json` | the same |
//! | `{room}/.anthill/journal.jsonl`, `journal-*.jsonl`, `journal.next` | `store::file::journal`, `rotate` |
//! | `{room}/.anthill/head.json` (a cache) | `store::file::place` |
//! | `{room}/.anthill/next-*` (contents on their way) | `store::file::place` |
//! | `{room}/.anthill/quarantine/*` (bytes we would not throw away) | `store::file::place` |
//! | settings, instructions and ignore rules of clients, `.anthill-install/*.json` | [`model::install`] says what goes in, cli `install/fs.rs` writes them |
//! | `{room}/.anthill/lock`, `orchestration/locks/*.lock` | [`store::file::addresses`] names them, `store::file::place` takes them |

pub mod api;
pub mod error;
pub mod failure;
pub mod model;
pub mod ops;
pub mod store;
pub mod view;
