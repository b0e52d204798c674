//! The structure of a map's TOML document, with the position of every value.

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// The whole document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) product: String,
    #[serde(default)]
    pub(super) aliases: Vec<String>,
    pub(super) versions: Option<Spanned<String>>,
    pub(super) table: Option<TableSection>,
    #[serde(default)]
    pub(super) module: Vec<ModuleSection>,
    #[serde(default)]
    pub(super) idle: Vec<IdleSection>,
    #[serde(default)]
    pub(super) thread: Vec<ThreadSection>,
}

/// `[table]`: the source files of functions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableSection {
    pub(super) functions_of: Option<Spanned<String>>,
    pub(super) object: Spanned<Texts>,
    #[serde(default)]
    pub(super) whole: bool,
    #[serde(default)]
    pub(super) files: BTreeMap<String, Vec<String>>,
}

/// `[[module]]`: one of the ordered rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModuleSection {
    pub(super) name: Spanned<String>,
    pub(super) blame: Option<Spanned<String>>,
    #[serde(rename = "match")]
    pub(super) fits: Spanned<Vec<Spanned<FitSection>>>,
}

/// One way to fit a rule; all given keys must fit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FitSection {
    pub(super) java: Option<Spanned<Texts>>,
    pub(super) file: Option<Spanned<Texts>>,
    pub(super) symbol: Option<Spanned<Texts>>,
    pub(super) object: Option<Spanned<Texts>>,
}

/// `[[idle]]`: the calls in which a thread waits for its client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdleSection {
    pub(super) leaf: Spanned<Texts>,
    pub(super) under: Option<Spanned<Texts>>,
}

/// `[[thread]]`: the tasks of threads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThreadSection {
    pub(super) class: Spanned<String>,
    pub(super) name: Option<Spanned<Texts>>,
    pub(super) title: Option<Spanned<Texts>>,
    pub(super) frame: Option<Spanned<Texts>>,
    pub(super) module: Option<Spanned<String>>,
}

/// One text or a list of them.
#[derive(Debug)]
pub(super) struct Texts(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element()? {
            texts.push(text);
        }
        if texts.is_empty() {
            return Err(A::Error::custom("an empty list matches nothing"));
        }
        Ok(Texts(texts))
    }
}
