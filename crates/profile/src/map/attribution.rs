//! Assigns frames to modules by a map.
//!
//! 1. A frame of the kernel, or one that no rule fits, belongs to its caller.
//! 2. The tag of a thread (`Space::Tag`) names its module directly.
//! 3. A function without a name is between two that have one. If both belong to one module and come from
//!    one folder, or from files that no table knows, so does it. Otherwise it counts as a part of the one
//!    before it, or if that is unknown the one after, and the result is marked as a guess.

use super::function_name;
use super::function_table::File;
use super::pattern::Patterns;
use super::rule::{FrameInfo, Map, Rule, bits};
use crate::stack::{Frame, Name, Space};
use syncline_instrument::Module;

/// The module to which a frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModuleMatch {
    pub(crate) module: Module,
    /// The charge goes outwards to the caller's module.
    pub(crate) outward: bool,
    /// Its neighbours disagree.
    pub(crate) guess: bool,
}

/// The roles of a frame on its stack, one bit for each section of the map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameRoles {
    /// The waits of which it is the leaf.
    pub(crate) leaf: u64,
    /// The waits of which it is the caller.
    pub(crate) under: u64,
    /// The thread rules that need it.
    pub(crate) threads: u64,
}

/// A function that has a name.
#[derive(Clone, Copy, Debug)]
struct NamedFunction<'a> {
    rule: Option<&'a Rule>,
    file: Option<File>,
}

impl Map {
    /// The module of a frame; `None` if it belongs to its caller.
    pub(crate) fn module_of(&self, frame: &Frame) -> Option<ModuleMatch> {
        match (&frame.space, &frame.name) {
            (Space::Tag, Name::Function(word)) => match_of_tag(word),
            (Space::Kernel | Space::Tag, _) => None,
            (_, Name::Between { before, after }) => {
                let point = |name: &Option<String>| {
                    let name = name.as_deref();
                    name.map(|name| self.neighbour(frame, name))
                };
                self.module_between(point(before), point(after))
                    .or_else(|| certain_match(self.rule_without_name(frame)))
            }
            (_, Name::Function(name)) => certain_match(self.named_function(frame, name).rule),
            (_, Name::Unknown) => certain_match(self.rule_without_name(frame)),
        }
    }

    /// The roles of a frame on its stack.
    pub(crate) fn roles_of(&self, frame: &Frame) -> FrameRoles {
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

    /// True if the table holds a named function that it should know; `None` for other frames.
    pub(crate) fn table_knows(&self, frame: &Frame) -> Option<bool> {
        let described = frame.space == Space::Native
            && self.table.is_whole()
            && self.table.covers(&frame.object);
        match &frame.name {
            Name::Function(name) if described => Some(self.table.file(name).is_some()),
            _ => None,
        }
    }

    /// Warnings that the map may not fit the product that it is used for.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn named_function(&self, frame: &Frame, name: &str) -> NamedFunction<'_> {
        let (whole, bare) = names(frame, name);
        let is_java = frame.space == Space::Java;
        let described = !is_java && self.table.covers(&frame.object);
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
            Some(file) if self.table.covers(&frame.object) => NamedFunction {
                rule: self.rule(FrameInfo {
                    is_java: false,
                    object: &frame.object,
                    names: None,
                    file: Some(file),
                }),
                file: Some(file),
            },
            _ => self.named_function(frame, name),
        }
    }

    fn rule_without_name(&self, frame: &Frame) -> Option<&Rule> {
        self.rule(FrameInfo {
            is_java: frame.space == Space::Java,
            object: &frame.object,
            names: None,
            file: None,
        })
    }

    fn module_between(
        &self,
        before: Option<NamedFunction<'_>>,
        after: Option<NamedFunction<'_>>,
    ) -> Option<ModuleMatch> {
        let guess = match (before, after) {
            (Some(before), Some(after)) => !self.is_same_module_and_folder(before, after),
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

    fn is_same_module_and_folder(
        &self,
        before: NamedFunction<'_>,
        after: NamedFunction<'_>,
    ) -> bool {
        let module = |point: NamedFunction<'_>| point.rule.map(|rule| rule.module);
        let folder = |point: NamedFunction<'_>| point.file.map(|file| self.table.folder(file));
        module(before) == module(after) && folder(before) == folder(after)
    }
}

fn certain_match(rule: Option<&Rule>) -> Option<ModuleMatch> {
    rule.map(|rule| ModuleMatch { module: rule.module, outward: rule.outward, guess: false })
}

fn match_of_tag(word: &str) -> Option<ModuleMatch> {
    let module = Module::ALL.into_iter().find(|it| it.name() == word)?;
    Some(ModuleMatch { module, outward: false, guess: false })
}

/// The names that patterns match; for Java `package.Class.method`.
fn names(frame: &Frame, name: &str) -> (String, String) {
    if frame.space == Space::Java {
        let whole = format!("{}.{name}", frame.object);
        return (whole.clone(), whole);
    }
    let whole = function_name::whole(name);
    (whole.to_owned(), function_name::bare(whole))
}
