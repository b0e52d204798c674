//! Types that can say what their JSON looks like, so that the schema cannot drift from the record.
//!
//! `described!` declares a struct, its (de)serialization and its part of the JSON schema from one
//! text: field names, kinds and doc comments all come from the declaration. Every field is written; what
//! may be unknown is an `Option` and its JSON may be null. A field that older records lack is marked
//! `#[serde(default)]`, so that they stay readable.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A type that can describe its JSON.
pub(crate) trait Described {
    /// The schema of a value; objects are entered in `parts` under their name and referred to.
    fn schema(parts: &mut Map<String, Value>) -> Value;
}

/// Declares record structs; see the head of this file.
macro_rules! described {
    ($(
        $(#[doc = $about:expr])*
        $(#[derive($($also:ident),+)])?
        pub struct $name:ident {
            $(
                $(#[doc = $field_about:expr])*
                $(#[serde($how:ident)])?
                pub $field:ident: $kind:ty,
            )*
        }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        $(#[derive($($also),+)])?
        pub struct $name {
            $($(#[doc = $field_about])* $(#[serde($how)])? pub $field: $kind,)*
        }

        impl $crate::schema_macro::Described for $name {
            fn schema(
                parts: &mut serde_json::Map<String, serde_json::Value>,
            ) -> serde_json::Value {
                $crate::schema_macro::object(
                    parts,
                    stringify!($name),
                    concat!($($about, "\n"),*),
                    &[$((
                        stringify!($field),
                        concat!($($field_about, "\n"),*),
                        <$kind as $crate::schema_macro::Described>::schema,
                    )),*],
                )
            }
        }
    )*};
}
pub(crate) use described;

/// How a type describes itself: [`Described::schema`].
pub(crate) type Describe = fn(&mut Map<String, Value>) -> Value;

/// A field's name, what it says, and how its kind describes itself.
pub(crate) type Field = (&'static str, &'static str, Describe);

/// Enters an object in `parts` and refers to it.
pub(crate) fn object(
    parts: &mut Map<String, Value>,
    name: &str,
    about: &str,
    fields: &[Field],
) -> Value {
    if !parts.contains_key(name) {
        // Entered before its fields are described, so that a type may hold itself.
        parts.insert(name.to_owned(), Value::Null);
        let mut properties = Map::new();
        for (field, about, kind) in fields {
            let mut property = kind(parts);
            property["description"] = Value::String(tidy(about));
            properties.insert((*field).to_owned(), property);
        }
        let required: Vec<_> = fields.iter().map(|(field, _, _)| *field).collect();
        let object = json!({
            "type": "object",
            "description": tidy(about),
            "properties": properties,
            "required": required,
        });
        parts.insert(name.to_owned(), object);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// Enters an object that holds the fields of several, side by side, and further ones.
pub(crate) fn flat(
    parts: &mut Map<String, Value>,
    name: &str,
    about: &str,
    held: &[Describe],
    further: &[Field],
) -> Value {
    let mut whole = object(parts, name, about, further);
    for one in held {
        let reference = one(parts);
        let inner = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        let inner = inner.expect("only objects are held").to_owned();
        // The held object is taken out: it has no place of its own in a record.
        let inner = parts.remove(&inner).expect("it was entered just now");
        let target = parts.get_mut(name).expect("it was entered above");
        merge(target, inner);
    }
    whole.take()
}

fn merge(target: &mut Value, inner: Value) {
    let Value::Object(mut inner) = inner else {
        return;
    };
    if let Some(Value::Object(properties)) = inner.remove("properties") {
        for (field, property) in properties {
            target["properties"][field] = property;
        }
    }
    if let (Some(Value::Array(required)), Some(all)) =
        (inner.remove("required"), target["required"].as_array_mut())
    {
        all.extend(required);
    }
}

/// Doc comments as one line.
fn tidy(about: &str) -> String {
    about.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Described for String {
    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({ "type": "string" })
    }
}

impl Described for bool {
    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({ "type": "boolean" })
    }
}

impl Described for f64 {
    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({ "type": "number" })
    }
}

impl Described for u64 {
    fn schema(_: &mut Map<String, Value>) -> Value {
        json!({ "type": "integer", "minimum": 0 })
    }
}

impl<T: Described> Described for Option<T> {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        json!({ "anyOf": [T::schema(parts), { "type": "null" }] })
    }
}

impl<T: Described> Described for Vec<T> {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        json!({ "type": "array", "items": T::schema(parts) })
    }
}

impl<T: Described> Described for BTreeMap<String, T> {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        json!({ "type": "object", "additionalProperties": T::schema(parts) })
    }
}
