//! A map in memory: ordered rules, waits for clients, and the tasks of threads.
//!
//! Invariant: the parser matches rules against every source file of the table once, so that assigning a frame
//! compares no paths.

use super::function_table::{File, Table};
use super::pattern::Patterns;
use super::version::{Range, Version};
use crate::cost::ThreadClass;
use crate::stack::Thread;
use syncline_instrument::Module;

/// Which code of a product belongs to which module.
#[derive(Clone, Debug)]
pub struct Map {
    pub(super) product: String,
    pub(super) aliases: Vec<String>,
    pub(super) versions: Range,
    pub(super) table: Table,
    pub(super) rules: Vec<Rule>,
    pub(super) idle: Vec<Idle>,
    pub(super) threads: Vec<ThreadRule>,
    pub(super) warnings: Vec<String>,
}

/// The code of one module, or of a part of it.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) module: Module,
    /// The charge goes outwards to the caller's module.
    pub(super) outward: bool,
    pub(super) fits: Vec<Fit>,
}

/// One way to fit a rule; every given part must fit.
#[derive(Clone, Debug, Default)]
pub(super) struct Fit {
    /// Packages or classes.
    pub(super) java: Option<Vec<String>>,
    /// For each file of the table: whether it fits.
    pub(super) files: Option<Vec<bool>>,
    pub(super) symbols: Option<Patterns>,
    pub(super) objects: Option<Patterns>,
}

/// A wait for the next request: a frame that fits `leaf`, and one further out that fits `under`.
#[derive(Clone, Debug)]
pub(super) struct Idle {
    pub(super) leaf: Patterns,
    /// `None`: any caller.
    pub(super) under: Option<Patterns>,
}

/// Threads of a class; every given part must fit.
#[derive(Clone, Debug)]
pub(super) struct ThreadRule {
    pub(super) class: ThreadClass,
    pub(super) names: Option<Patterns>,
    pub(super) titles: Option<Patterns>,
    /// A function anywhere on the stack.
    pub(super) frames: Option<Patterns>,
    /// The module of its stacks if no frame determines one.
    pub(super) module: Option<Module>,
}

/// The parts of a frame that rules compare; the name is known, or nothing is.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameInfo<'a> {
    pub(super) is_java: bool,
    pub(super) object: &'a str,
    /// The whole name and the bare one.
    pub(super) names: Option<(&'a str, &'a str)>,
    pub(super) file: Option<File>,
}

impl Map {
    /// The name of the product.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// True if it is a map of the product by that name.
    pub(crate) fn is_for(&self, product: &str) -> bool {
        let mut names = std::iter::once(&self.product).chain(&self.aliases);
        names.any(|name| name.eq_ignore_ascii_case(product))
    }

    /// This map, used for a product of that name and version. It warns if it was made for another product or
    /// for other versions.
    #[must_use]
    pub fn used_for(mut self, product: &str, version: &str) -> Map {
        self.warnings = self.mismatch(product, version).into_iter().collect();
        self
    }

    /// The reason why the map may not fit a product.
    fn mismatch(&self, product: &str, version: &str) -> Option<String> {
        let own = &self.product;
        if !self.is_for(product) {
            return Some(format!(
                "the map of {own} was used for {product}; the shares of modules may be wrong"
            ));
        }
        match Version::found_in(version) {
            Some(version) if self.versions.contains(&version) => None,
            Some(_) => Some(format!(
                "the map of {own} was not made for version {version}; the shares of modules may be wrong"
            )),
            None if self.versions.is_any() => None,
            None => Some(format!("the version of {own} is unknown, so the map may not fit it")),
        }
    }

    /// The thread rules that a thread fits by its name and title: a bit for each.
    pub(crate) fn thread_rules(&self, thread: &Thread) -> u64 {
        bits(self.threads.iter().map(|rule| rule.fits(thread)))
    }

    /// The thread rules that need no frame.
    pub(crate) fn frameless_rules(&self) -> u64 {
        bits(self.threads.iter().map(|rule| rule.frames.is_none()))
    }

    /// The class of threads that fit these rules, and the module of their stacks if no frame determines one.
    pub(crate) fn class(&self, rules: u64) -> (ThreadClass, Option<Module>) {
        let rule = self.threads.get(rules.trailing_zeros() as usize);
        rule.map_or((ThreadClass::Unknown, None), |rule| (rule.class, rule.module))
    }

    /// The first rule that fits.
    pub(super) fn rule(&self, frame: FrameInfo<'_>) -> Option<&Rule> {
        let fits = |rule: &&Rule| rule.fits.iter().any(|fit| fit.fits(frame));
        self.rules.iter().find(fits)
    }
}

impl Fit {
    fn fits(&self, frame: FrameInfo<'_>) -> bool {
        let java = self.java.as_ref().is_none_or(|packages| {
            frame.is_java && packages.iter().any(|package| is_in(frame.object, package))
        });
        let file = self.files.as_ref().is_none_or(|files| {
            let fits = |file: File| files.get(file.index()).copied().unwrap_or(false);
            frame.file.is_some_and(fits)
        });
        let symbol = self.symbols.as_ref().is_none_or(|symbols| {
            let fit = |(whole, bare): (&str, &str)| {
                symbols.fit(whole) || (bare != whole && symbols.fit(bare))
            };
            frame.names.is_some_and(fit)
        });
        let object = self.objects.as_ref();
        java && file && symbol && object.is_none_or(|objects| objects.fit(frame.object))
    }
}

impl ThreadRule {
    fn fits(&self, thread: &Thread) -> bool {
        let name = self.names.as_ref();
        let title = self.titles.as_ref().is_none_or(|titles| {
            let title = thread.title.as_deref();
            title.is_some_and(|title| titles.fit(title))
        });
        title && name.is_none_or(|names| names.fit(&thread.name))
    }
}

/// A bit for each `true`.
pub(super) fn bits(each: impl Iterator<Item = bool>) -> u64 {
    each.enumerate().map(|(index, is)| u64::from(is) << index).fold(0, |all, bit| all | bit)
}

/// True if the class is the given one, is nested in it, or is in the given package or one below.
fn is_in(class: &str, given: &str) -> bool {
    let rest = class.strip_prefix(given);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '$']))
}
