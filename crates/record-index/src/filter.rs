//! Which records are wanted.

use rusqlite::types::Value;

/// The records that are wanted: those that meet every condition given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// run, probe, observation or verification.
    pub kind: Option<String>,
    /// The workload's name.
    pub workload: Option<String>,
    /// A part of the store's name, product or version, in any case.
    pub target: Option<String>,
    /// A pattern of the tag: `*` matches any text, `?` any sign.
    pub tag: Option<String>,
    /// The number of clients.
    pub clients: Option<u64>,
    /// Records that began at this time or later, in nanoseconds since 1970.
    pub since_wall_ns: Option<u64>,
    /// Records that began before this time.
    pub until_wall_ns: Option<u64>,
    /// Only this many, the newest.
    pub last: Option<u64>,
}

impl Filter {
    /// The condition after `WHERE`, and the values of its parameters.
    pub(crate) fn condition(&self) -> (String, Vec<Value>) {
        let mut parts = Vec::new();
        let mut values = Vec::new();
        let text = |value: &String| Value::Text(value.clone());
        let number = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
        let mut with = |part: &str, value: Option<Value>| {
            if let Some(value) = value {
                parts.push(part.to_owned());
                values.push(value);
            }
        };
        with("kind = ?", self.kind.as_ref().map(text));
        with("workload = ?", self.workload.as_ref().map(text));
        with(
            "instr(lower(concat_ws(' ', target, product, version)), lower(?)) > 0",
            self.target.as_ref().map(text),
        );
        with("tag GLOB ?", self.tag.as_ref().map(text));
        with("clients = ?", self.clients.map(number));
        with("started_wall_ns >= ?", self.since_wall_ns.map(number));
        with("started_wall_ns < ?", self.until_wall_ns.map(number));
        let condition = if parts.is_empty() { "TRUE".to_owned() } else { parts.join(" AND ") };
        (condition, values)
    }
}
