//! Where a frame belongs by a map.
//!
//! 1. A frame of the kernel belongs to whoever called it, as does one that no rule fits.
//! 2. What a thread says itself is taken at its word.
//! 3. A function without a name stands between two that have one. Where both belong to one module and
//!    come from one folder, or from files that no table knows, so does it. Else it is taken for a part
//!    of the one before it, or where that is not known the one after, and that is a guess.

use super::function_name;
use super::function_table::File;
use super::pattern::Patterns;
use super::rule::{FrameInfo, Map, Rule, bits};
use crate::stack::{Frame, Name, Space};
use syncline_instrument::Module;

/// To which module a frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModuleMatch {
    pub(crate) module: Module,
    /// It works for whoever calls it.
    pub(crate) outward: bool,
    /// Its neighbours disagree.
    pub(crate) guess: bool,
}

/// What a frame means for its stack, a bit for each section of the map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameRoles {
    /// The waits that it is the leaf of.
    pub(crate) leaf: u64,
    /// The waits that it is the caller of.
    pub(crate) under: u64,
    /// The rules of threads that ask for it.
    pub(crate) threads: u64,
}

/// A function that has a name.
#[derive(Clone, Copy, Debug)]
struct NamedFunction<'a> {
    rule: Option<&'a Rule>,
    file: Option<File>,
}

impl Map {
    /// Where a frame belongs; none where it belongs to its caller.
    pub(crate) fn place(&self, frame: &Frame) -> Option<ModuleMatch> {
        match (&frame.space, &frame.name) {
            (Space::Tag, Name::Function(word)) => by_word(word),
            (Space::Kernel | Space::Tag, _) => None,
            (_, Name::Between { before, after }) => {
                let point = |name: &Option<String>| {
                    let name = name.as_deref();
                    name.map(|name| self.neighbour(frame, name))
                };
                self.between(point(before), point(after)).or_else(|| sure(self.nameless(frame)))
            }
            (_, Name::Function(name)) => sure(self.point(frame, name).rule),
            (_, Name::Unknown) => sure(self.nameless(frame)),
        }
    }

    /// What a frame means for the stack that it stands on.
    pub(crate) fn marks(&self, frame: &Frame) -> FrameRoles {
        let Name::Function(name) = &frame.name else {
            return FrameRoles::default();
        };
        if !matches!(frame.space, Space::Native | Space::Java) {
            return FrameRoles::default();
        }
        let (whole, bare) = names(frame, name);
        let fit = |patterns: &Patterns| patterns.fit(&whole) || patterns.fit(&bare);
        let fits = |patterns: &Option<Patterns>| patterns.as_ref().is_some_and(fit);
        FrameRoles {
            leaf: bits(self.idle.iter().map(|idle| fit(&idle.leaf))),
            under: bits(self.idle.iter().map(|idle| fits(&idle.under))),
            threads: bits(self.threads.iter().map(|rule| fits(&rule.frames))),
        }
    }

    /// The waits that need no caller.
    pub(crate) fn waits_of_any_caller(&self) -> u64 {
        bits(self.idle.iter().map(|idle| idle.under.is_none()))
    }

    /// Whether the table holds a named function that it shall know; none of others.
    pub(crate) fn table_knows(&self, frame: &Frame) -> Option<bool> {
        let described = frame.space == Space::Native
            && self.table.is_whole()
            && self.table.tells_of(&frame.object);
        match &frame.name {
            Name::Function(name) if described => Some(self.table.file(name).is_some()),
            _ => None,
        }
    }

    /// What is wrong with the map for what it is used for.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn point(&self, frame: &Frame, name: &str) -> NamedFunction<'_> {
        let (whole, bare) = names(frame, name);
        let is_java = frame.space == Space::Java;
        let described = !is_java && self.table.tells_of(&frame.object);
        let file = described.then(|| self.table.file(name)).flatten();
        let rule = self.rule(FrameInfo {
            is_java,
            object: &frame.object,
            names: Some((&whole, &bare)),
            file,
        });
        NamedFunction { rule, file }
    }

    /// A function, or the path of a source file.
    fn neighbour(&self, frame: &Frame, name: &str) -> NamedFunction<'_> {
        match self.table.file_of_path(name) {
            Some(file) if self.table.tells_of(&frame.object) => NamedFunction {
                rule: self.rule(FrameInfo {
                    is_java: false,
                    object: &frame.object,
                    names: None,
                    file: Some(file),
                }),
                file: Some(file),
            },
            _ => self.point(frame, name),
        }
    }

    fn nameless(&self, frame: &Frame) -> Option<&Rule> {
        self.rule(FrameInfo {
            is_java: frame.space == Space::Java,
            object: &frame.object,
            names: None,
            file: None,
        })
    }

    fn between(
        &self,
        before: Option<NamedFunction<'_>>,
        after: Option<NamedFunction<'_>>,
    ) -> Option<ModuleMatch> {
        let guess = match (before, after) {
            (Some(before), Some(after)) => !self.agree(before, after),
            _ => true,
        };
        let rule_of = |point: Option<NamedFunction<'_>>| {
            let rule = point.and_then(|point| point.rule)?;
            Some((rule.module, rule.outward))
        };
        let known = |point: &NamedFunction<'_>| point.rule.is_some() || point.file.is_some();
        let (module, outward) = match before.filter(known) {
            Some(before) => rule_of(Some(before)),
            None => rule_of(after),
        }?;
        Some(ModuleMatch { module, outward, guess })
    }

    fn agree(&self, before: NamedFunction<'_>, after: NamedFunction<'_>) -> bool {
        let module = |point: NamedFunction<'_>| point.rule.map(|rule| rule.module);
        let folder = |point: NamedFunction<'_>| point.file.map(|file| self.table.folder(file));
        module(before) == module(after) && folder(before) == folder(after)
    }
}

fn sure(rule: Option<&Rule>) -> Option<ModuleMatch> {
    rule.map(|rule| ModuleMatch { module: rule.module, outward: rule.outward, guess: false })
}

fn by_word(word: &str) -> Option<ModuleMatch> {
    let module = Module::ALL.into_iter().find(|it| it.name() == word)?;
    Some(ModuleMatch { module, outward: false, guess: false })
}

/// The names by which patterns know a function: of Java `package.Class.method`.
fn names(frame: &Frame, name: &str) -> (String, String) {
    if frame.space == Space::Java {
        let whole = format!("{}.{name}", frame.object);
        return (whole.clone(), whole);
    }
    let whole = function_name::whole(name);
    (whole.to_owned(), function_name::bare(whole))
}
