//! The record of a verification: the finding of `verify` about a disk, a store's durability or its isolation.
//!
//! The finding is stored as the verification made it, as a JSON object with its own format number: this
//! program shows its sentences and leaves its figures to programs that read them.

use super::environment::Machine;
use super::identity::Identity;
use super::schema_macro::{Described, described, flat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

described! {
    /// The subject of a verification and its finding.
    pub struct VerificationBody {
        /// What was verified: "disk", "durability", "isolation", or "crashes" for isolation across crashes.
        pub verified: String,
        /// The disk, store, target or history that was verified.
        pub subject: String,
        /// The machine that verified.
        pub machine: Machine,
        /// "held", "broken", "promises nothing" or "unknown"; `finding` has the figures behind it.
        pub outcome: String,
        /// The finding in sentences; a sentence of several lines is a table.
        pub sentences: Vec<String>,
        /// The finding as the verification made it; its `format` is the version of its own fields.
        pub finding: Value,
    }
}

/// A verification's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerificationRecord {
    /// The identity that every record starts with.
    #[serde(flatten)]
    pub identity: Identity,
    /// The subject and the finding.
    #[serde(flatten)]
    pub body: VerificationBody,
}

impl VerificationRecord {
    /// The property and its subject: "durability of sqlite".
    pub fn title(&self) -> String {
        let body = &self.body;
        let what = match body.verified.as_str() {
            "crashes" => "isolation across crashes",
            other => other,
        };
        format!("{what} of {}", body.subject)
    }
}

/// A finding has its own fields, which its format number identifies.
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
            "The record of a verification: a finding about a disk, a store's durability or its isolation.",
            &[Identity::schema, VerificationBody::schema],
            &[],
        )
    }
}
