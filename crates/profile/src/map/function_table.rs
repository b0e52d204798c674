//! The source file of each function, for rules that name files of a program without debug symbols.
//!
//! As text, one line for each source file: its path, a tab, and its functions separated by spaces. `Class::*`
//! means every function of that scope that is not named elsewhere. Lines that begin with `#` are
//! comments. `scripts/make-function-table` makes tables.

use super::function_name;
use super::pattern::Patterns;
use std::collections::HashMap;

/// The position of a source file in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct File(u32);

impl File {
    /// The position in [`Table::paths`].
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Functions by their source files.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// The programs and libraries that contain the functions.
    objects: Patterns,
    is_whole: bool,
    files: Vec<String>,
    by_path: HashMap<String, File>,
    functions: HashMap<String, File>,
}

impl Table {
    /// A table of those programs and libraries, without functions. `is_whole` means that it will hold every
    /// function that they export.
    pub(super) fn of(objects: Patterns, is_whole: bool) -> Table {
        Table { objects, is_whole, ..Table::default() }
    }

    /// Reads lines of the module's text format; skips lines without a tab.
    pub(super) fn add_text(&mut self, text: &str) {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for (path, functions) in lines.filter_map(|line| line.split_once('\t')) {
            self.add(path, functions.split(' '));
        }
    }

    /// Adds functions of a file. The last entry for a function wins.
    pub(super) fn add<'a>(&mut self, path: &str, functions: impl Iterator<Item = &'a str>) {
        let file = File(u32::try_from(self.files.len()).expect("a table has few files"));
        self.files.push(path.to_owned());
        self.by_path.insert(path.to_owned(), file);
        for name in functions {
            self.functions.insert(name.to_owned(), file);
        }
    }

    /// True if the table covers a program or library of that name.
    pub(super) fn covers(&self, object: &str) -> bool {
        self.objects.fit(object)
    }

    /// True if it should hold every function that they export.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The file of a machine function.
    pub(super) fn file(&self, name: &str) -> Option<File> {
        let name = function_name::whole(name);
        if let Some(file) = self.functions.get(name) {
            return Some(*file);
        }
        let bare = function_name::bare(name);
        let scoped = || {
            let (scope, _) = bare.rsplit_once("::")?;
            self.functions.get(&format!("{scope}::*"))
        };
        self.functions.get(&bare).or_else(scoped).copied()
    }

    /// The file of a path, by the longest common end: programs contain paths of the machine that built them.
    pub(super) fn file_of_path(&self, path: &str) -> Option<File> {
        let mut rest = path;
        loop {
            if let Some(file) = self.by_path.get(rest) {
                return Some(*file);
            }
            rest = rest.split_once('/')?.1;
        }
    }

    /// The path of a file.
    pub(super) fn path(&self, file: File) -> &str {
        &self.files[file.0 as usize]
    }

    /// The folder of a file.
    pub(super) fn folder(&self, file: File) -> &str {
        let path = self.path(file);
        path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// True if it holds no file.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The paths of all files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> + Clone {
        self.files.iter().map(String::as_str)
    }

    /// Every function that it names, a scope by its `*`, with its file.
    #[cfg(test)]
    pub(super) fn functions(&self) -> impl Iterator<Item = (&str, File)> {
        self.functions.iter().map(|(name, file)| (name.as_str(), *file))
    }

    /// Every file.
    #[cfg(test)]
    pub(super) fn files(&self) -> impl Iterator<Item = File> + use<> {
        (0..u32::try_from(self.files.len()).expect("a table has few files")).map(File)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn functions_are_found_by_name_or_by_scope() {
        let mut table = Table::default();
        table.add_text("# remark\nsql/log.cc\tMYSQL_BIN_LOG::* trans_register_ha\nsql/handler.cc\thandler::ha_open\n");
        let path = |name| table.file(name).map(|file| table.path(file));
        assert_eq!(path("MYSQL_BIN_LOG::write(THD*, bool)"), Some("sql/log.cc"));
        assert_eq!(path("trans_register_ha.cold"), Some("sql/log.cc"));
        assert_eq!(path("handler::ha_open(TABLE*, char const*)"), Some("sql/handler.cc"));
        assert_eq!(path("handler::ha_close()"), None);
        let file = table.file("handler::ha_open").unwrap();
        assert_eq!(table.folder(file), "sql");
    }
}
