//! The published schema without room for fields that it does not name, to hold records against.

use serde_json::{Value, json};
use syncline_record::{Record, json as to_json, schema};

/// The schema with every object closed, so that a field that it does not name is refused too.
fn closed_schema() -> Value {
    let mut schema = schema();
    for part in schema["$defs"].as_object_mut().unwrap().values_mut() {
        if part.get("properties").is_some() {
            part["additionalProperties"] = json!(false);
        }
    }
    schema
}

/// Fails with every deviation of a record from the closed schema.
pub(crate) fn check(records: &[Record]) {
    let validator = jsonschema::validator_for(&closed_schema()).unwrap();
    let value: Value = serde_json::from_str(&to_json(records)).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
