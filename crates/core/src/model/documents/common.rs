//! What documents and items of all kinds have in common, for what treats them alike.

use crate::model::shape::{FormatVersion, Integer, Time, document};

document!(
    /// What a document says of itself; when it was changed last has another name in some kinds.
    Stamps {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
    }
);

document!(
    /// What items of lists may say of themselves.
    Item {
        id: Option<String>,
        status: Option<String>,
        created_at: Option<Time>,
        /// In items of others.
        created: Option<Time>,
        /// In items of others, or of sessions.
        updated_at: Option<Time>,
    }
);
