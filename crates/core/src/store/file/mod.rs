//! The file engine: human-readable JSON files that cannot be lost or torn.

pub mod fs;
