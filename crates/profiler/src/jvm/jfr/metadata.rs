//! The types of a chunk: their names and fields.
//!
//! The metadata is a tree of elements over a table of texts. An element is the number of its name, its
//! attributes as pairs of numbers, and its child elements. Types are elements `class` below `metadata`, with
//! an `id` and a `name`; their fields are elements `field`, in which `class` is the field's type,
//! `constantPool` means that a number refers to the value, and `dimension` 1 means an array.

use super::bytes::{Bytes, ParseError, Text};
use std::collections::HashMap;

/// The maximum depth of nested elements: real ones have a depth of four.
const DEPTH: usize = 12;

/// The kind of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    Boolean,
    Byte,
    Short,
    Char,
    Int,
    Long,
    Float,
    Double,
    Text,
}

/// A field of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) class: i64,
    pub(super) constant: bool,
    pub(super) many: bool,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) plain: Option<Plain>,
    pub(super) fields: Vec<Field>,
}

/// Types by their numbers.
pub(super) type Classes = HashMap<i64, Class>;

struct Reader<'a> {
    bytes: Bytes<'a>,
    texts: Vec<String>,
    classes: Classes,
}

#[derive(Default)]
struct Attributes {
    id: Option<i64>,
    name: String,
    class: Option<i64>,
    constant: bool,
    many: bool,
}

/// Reads the metadata, after the event's size and type.
pub(super) fn read(mut bytes: Bytes<'_>) -> Result<Classes, ParseError> {
    let (_start, _duration, _number) = (bytes.long()?, bytes.long()?, bytes.long()?);
    let mut texts = Vec::new();
    for _ in 0..bytes.count()? {
        texts.push(match bytes.text()? {
            Text::Here(text) => text,
            Text::Null | Text::Constant(_) => String::new(),
        });
    }
    let mut reader = Reader { bytes, texts, classes: Classes::new() };
    reader.element(None, 0)?;
    Ok(reader.classes)
}

impl Reader<'_> {
    /// Reads an element and its children; `within` is the type that contains it.
    fn element(&mut self, within: Option<i64>, depth: usize) -> Result<(), ParseError> {
        if depth > DEPTH {
            return Err("the metadata is nested too deeply".to_owned());
        }
        let kind = self.text()?;
        let attributes = self.attributes()?;
        let mut inside = within;
        if kind == "class"
            && let Some(id) = attributes.id
        {
            inside = Some(id);
            let plain = plain(&attributes.name);
            let class = Class { plain, name: attributes.name, fields: Vec::new() };
            self.classes.insert(id, class);
        } else if kind == "field"
            && let Some(class) = within.and_then(|id| self.classes.get_mut(&id))
        {
            class.fields.push(Field {
                name: attributes.name,
                class: attributes.class.ok_or("a field has no type")?,
                constant: attributes.constant,
                many: attributes.many,
            });
        }
        for _ in 0..self.bytes.count()? {
            self.element(inside, depth + 1)?;
        }
        Ok(())
    }

    fn attributes(&mut self) -> Result<Attributes, ParseError> {
        let mut attributes = Attributes::default();
        for _ in 0..self.bytes.count()? {
            let (name, value) = (self.text()?, self.text()?);
            match name.as_str() {
                "id" => attributes.id = value.parse().ok(),
                "name" => attributes.name = value,
                "class" => attributes.class = value.parse().ok(),
                "constantPool" => attributes.constant = value == "true",
                "dimension" => attributes.many = value != "0",
                _ => {}
            }
        }
        Ok(attributes)
    }

    fn text(&mut self) -> Result<String, ParseError> {
        let number = self.bytes.int()?;
        let text = usize::try_from(number).ok().and_then(|number| self.texts.get(number));
        text.cloned().ok_or_else(|| format!("the metadata has no text {number}"))
    }
}

fn plain(name: &str) -> Option<Plain> {
    Some(match name {
        "boolean" => Plain::Boolean,
        "byte" => Plain::Byte,
        "short" => Plain::Short,
        "char" => Plain::Char,
        "int" => Plain::Int,
        "long" => Plain::Long,
        "float" => Plain::Float,
        "double" => Plain::Double,
        "java.lang.String" => Plain::Text,
        _ => return None,
    })
}
