//! Parses the text of a map, with an error sentence for each mistake.

use super::built_in;
use super::document::{
    Document, FitSection, IdleSection, ModuleSection, TableSection, Texts, ThreadSection,
};
use super::function_table::Table;
use super::pattern::Patterns;
use super::rule::{Fit, Idle, Map, Rule, ThreadRule};
use super::version::Range;
use crate::cost::ThreadClass;
use crate::error::Error;
use syncline_instrument::Module;
use toml::Spanned;

/// The waits and the thread rules of a map are bits of one 64-bit number each.
const SECTIONS_MAX: usize = 64;

impl Map {
    /// Parses a map. `origin` is the file name for error messages.
    pub fn parse(text: &str, origin: &str) -> Result<Map, Error> {
        let refuse = |mistake: Mistake| Error::Map {
            origin: origin.to_owned(),
            line: line_of(text, mistake.offset),
            what: mistake.what,
        };
        let document = toml::from_str(text).map_err(|error| {
            refuse(Mistake {
                offset: error.span().map_or(0, |span| span.start),
                what: error.message().trim().replace('\n', ", "),
            })
        });
        map(document?).map_err(refuse)
    }
}

/// A mistake and its position in the text.
struct Mistake {
    offset: usize,
    what: String,
}

type Parsed<T> = Result<T, Mistake>;

fn map(document: Document) -> Parsed<Map> {
    let table = document.table.map(table).transpose()?.unwrap_or_default();
    let versions = document.versions.map(|versions| {
        let range = Range::parse(versions.as_ref());
        range.map_err(|what| mistake(&versions, "versions", &what))
    });
    if document.idle.len() > SECTIONS_MAX || document.thread.len() > SECTIONS_MAX {
        let what = format!("more than {SECTIONS_MAX} sections of [[idle]] or of [[thread]]");
        return Err(Mistake { offset: 0, what });
    }
    Ok(Map {
        product: document.product,
        aliases: document.aliases,
        versions: versions.transpose()?.unwrap_or_default(),
        rules: all(document.module, |section| rule(section, &table))?,
        idle: each(&document.idle, idle)?,
        threads: each(&document.thread, thread)?,
        table,
        warnings: Vec::new(),
    })
}

fn all<S, T>(sections: Vec<S>, one: impl Fn(S) -> Parsed<T>) -> Parsed<Vec<T>> {
    sections.into_iter().map(one).collect()
}

fn each<S, T>(sections: &[S], one: impl Fn(&S) -> Parsed<T>) -> Parsed<Vec<T>> {
    sections.iter().map(one).collect()
}

fn table(section: TableSection) -> Parsed<Table> {
    let mut table = Table::of(patterns(&section.object, "table.object")?, section.whole);
    if let Some(name) = section.functions_of {
        let text = built_in::table(name.as_ref()).ok_or_else(|| {
            let known = built_in::tables().join(", ");
            let what = format!("there is no table of {}; there are {known}", name.as_ref());
            mistake(&name, "table.functions_of", &what)
        })?;
        table.add_text(text);
    }
    for (path, functions) in &section.files {
        table.add(path, functions.iter().map(String::as_str));
    }
    Ok(table)
}

fn rule(section: ModuleSection, table: &Table) -> Parsed<Rule> {
    let outward = match section.blame {
        None => false,
        Some(blame) if blame.as_ref() == "outward" => true,
        Some(blame) => {
            let what = "the only value of blame is \"outward\", which charges the caller";
            return Err(mistake(&blame, "module.blame", what));
        }
    };
    let module = module(&section.name, "module.name")?;
    if section.fits.as_ref().is_empty() {
        let what = "an empty list matches nothing";
        return Err(mistake(&section.fits, "module.match", what));
    }
    Ok(Rule { module, outward, fits: each(section.fits.as_ref(), |section| fit(section, table))? })
}

fn fit(section: &Spanned<FitSection>, table: &Table) -> Parsed<Fit> {
    let keys = section.as_ref();
    if keys.java.is_none() && keys.file.is_none() && keys.symbol.is_none() && keys.object.is_none()
    {
        let what = "give at least one of java, file, symbol, object";
        return Err(mistake(section, "module.match", what));
    }
    let files = keys.file.as_ref().map(|files| {
        if table.is_empty() {
            let what = "rules by source file need a [table], and this map has none";
            return Err(mistake(files, "module.match.file", what));
        }
        let patterns = patterns(files, "module.match.file")?;
        if let Some(idle) = patterns.without_file(&table.paths()) {
            let what = format!("\"{idle}\" matches no source file of the table");
            return Err(mistake(files, "module.match.file", &what));
        }
        Ok(table.paths().map(|path| patterns.fit_file(path)).collect())
    });
    Ok(Fit {
        java: keys.java.as_ref().map(java).transpose()?,
        files: files.transpose()?,
        symbols: optional(keys.symbol.as_ref(), "module.match.symbol")?,
        objects: optional(keys.object.as_ref(), "module.match.object")?,
    })
}

/// Packages and classes, compared without patterns.
fn java(texts: &Spanned<Texts>) -> Parsed<Vec<String>> {
    let is_name = |text: &str| {
        let odd = |part: &str| part.is_empty() || part.contains(['*', '?', '[', ']', '/']);
        !text.split('.').any(odd)
    };
    match texts.as_ref().0.iter().find(|text| !is_name(text)) {
        Some(text) => {
            let what = format!(
                "\"{text}\" is not a package or class; write it without wildcards, it includes everything within \
                 them: \"org.example.store\""
            );
            Err(mistake(texts, "module.match.java", &what))
        }
        None => Ok(texts.as_ref().0.clone()),
    }
}

fn idle(section: &IdleSection) -> Parsed<Idle> {
    Ok(Idle {
        leaf: patterns(&section.leaf, "idle.leaf")?,
        under: optional(section.under.as_ref(), "idle.under")?,
    })
}

fn thread(section: &ThreadSection) -> Parsed<ThreadRule> {
    let classes = [
        ("connection", ThreadClass::Connection),
        ("background", ThreadClass::Background),
        ("runtime", ThreadClass::Runtime),
        ("client", ThreadClass::Client),
    ];
    let word = section.class.as_ref();
    let class = classes.iter().find(|(name, _)| name == word).ok_or_else(|| {
        let what = format!(
            "\"{word}\" is not a class of threads; the classes are connection, background, runtime and client"
        );
        mistake(&section.class, "thread.class", &what)
    })?;
    let own = section.module.as_ref();
    Ok(ThreadRule {
        class: class.1,
        names: optional(section.name.as_ref(), "thread.name")?,
        titles: optional(section.title.as_ref(), "thread.title")?,
        frames: optional(section.frame.as_ref(), "thread.frame")?,
        module: own.map(|own| module(own, "thread.module")).transpose()?,
    })
}

fn module(name: &Spanned<String>, key: &str) -> Parsed<Module> {
    let mut modules = Module::ALL.into_iter();
    modules.find(|module| module.name() == name.as_ref()).ok_or_else(|| {
        let known = Module::ALL.map(Module::name).join(", ");
        let what = format!("\"{}\" is not a module; the modules are {known}", name.as_ref());
        mistake(name, key, &what)
    })
}

fn optional(texts: Option<&Spanned<Texts>>, key: &str) -> Parsed<Option<Patterns>> {
    texts.map(|texts| patterns(texts, key)).transpose()
}

fn patterns(texts: &Spanned<Texts>, key: &str) -> Parsed<Patterns> {
    Patterns::new(texts.as_ref().0.iter().map(String::as_str))
        .map_err(|what| mistake(texts, key, &what))
}

fn mistake<T>(place: &Spanned<T>, key: &str, what: &str) -> Mistake {
    Mistake { offset: place.span().start, what: format!("{key}: {what}") }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
}
