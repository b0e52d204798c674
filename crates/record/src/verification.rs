//! The record of a verification: what `verify` found of a disk, a store's durability or its isolation.
//!
//! The finding itself is kept as the verification made it, as a JSON object with a format number of its own:
//! this crate shows its sentences and leaves its figures to programs that read them.

use super::environment::Machine;
use super::identity::Identity;
use super::schema_macro::{Described, described, flat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

described! {
    /// What was verified, and what was found.
    pub struct VerificationBody {
        /// What was verified: "disk", "durability", "isolation", or "crashes" for isolation behind crashes.
        pub verified: String,
        /// The disk, store, target or history that was verified.
        pub subject: String,
        /// The machine that verified.
        pub machine: Machine,
        /// "held", "broken", "promises nothing" or "unknown"; `finding` says what that rests on.
        pub outcome: String,
        /// The finding in sentences; one that has several lines is a table.
        pub sentences: Vec<String>,
        /// The finding as the verification made it; its `format` is the version of its own fields.
        pub finding: Value,
    }
}

/// A verification's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerificationRecord {
    /// What every record opens with.
    #[serde(flatten)]
    pub identity: Identity,
    /// What was found.
    #[serde(flatten)]
    pub body: VerificationBody,
}

impl VerificationRecord {
    /// What was verified of what: "durability of sqlite".
    pub fn title(&self) -> String {
        let body = &self.body;
        let what = match body.verified.as_str() {
            "crashes" => "isolation behind crashes",
            other => other,
        };
        format!("{what} of {}", body.subject)
    }
}

/// A finding has fields of its own, which its format number tells.
impl Described for Value {
    fn schema(_parts: &mut Map<String, Value>) -> Value {
        json!({ "type": "object" })
    }
}

impl Described for VerificationRecord {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        flat(
            parts,
            "VerificationRecord",
            "The record of a verification: what was found of a disk, a store's durability or its isolation.",
            &[Identity::schema, VerificationBody::schema],
            &[],
        )
    }
}
