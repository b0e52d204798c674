//! Types that describe their own JSON, so that the schema cannot drift from the record.
//!
//! `described!` declares a struct, its (de)serialization and its part of the JSON schema in one place:
//! field names, types and doc comments all come from the declaration. Every field is written; a value that
//! may be unknown is an `Option`, and its JSON may be null. A field that older records lack is marked
//! `#[serde(default)]`, so that they stay readable. `pub struct Name = "Old"` keeps the name `Old` in the
//! published schema.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A type that describes its JSON.
pub(crate) trait Described {
    /// The schema of a value; an object is added to `parts` under its name and referred to.
    fn schema(parts: &mut Map<String, Value>) -> Value;
}

/// Declares record structs; see the head of this file.
macro_rules! described {
    ($(
        $(#[doc = $about:expr])*
        $(#[derive($($also:ident),+)])?
        pub struct $name:ident $(= $schema_name:literal)? {
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
                    $crate::schema_macro::schema_name!($name $($schema_name)?),
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

/// The name in the schema's `$defs`: the literal, or else the name of the type.
macro_rules! schema_name {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $schema_name:literal) => {
        $schema_name
    };
}
pub(crate) use schema_name;

/// A type's [`Described::schema`].
pub(crate) type Describe = fn(&mut Map<String, Value>) -> Value;

/// A field's name, its description, and the schema of its type.
pub(crate) type Field = (&'static str, &'static str, Describe);

/// Adds an object to `parts` and returns a reference to it.
pub(crate) fn object(
    parts: &mut Map<String, Value>,
    name: &str,
    about: &str,
    fields: &[Field],
) -> Value {
    if !parts.contains_key(name) {
        // Added before its fields are described, so that a type may contain itself.
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

/// Adds an object that has the fields of several objects and further ones.
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
        let inner = inner.expect("only objects can be flattened").to_owned();
        // The inner object is removed from `parts`: a record holds its fields, not the object.
        let inner = parts.remove(&inner).expect("just added");
        let target = parts.get_mut(name).expect("added above");
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

/// A doc comment as one line.
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
