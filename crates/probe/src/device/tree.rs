//! Reads small text files below a root, such as those of `proc` and `sys`.

use std::fs;
use std::path::{Path, PathBuf};
use syncline_record::Fact;

/// A file tree; paths are relative to its root.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree below that root, which must exist.
    pub(crate) fn new(root: &Path) -> Tree {
        Tree { root: root.canonicalize().unwrap_or_else(|_| root.to_owned()) }
    }

    /// The content, trimmed; `None` if absent, unreadable or empty.
    pub(crate) fn text(&self, path: &Path) -> Option<String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ', '\n', '\t']).to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The raw content; `None` if absent or unreadable.
    pub(crate) fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        fs::read(self.root.join(relative(path))).ok()
    }

    /// True if the path exists.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.root.join(relative(path)).exists()
    }

    /// The names in a directory, sorted; empty if it is absent.
    pub(crate) fn names(&self, path: &Path) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(relative(path)));
        let entries = entries.into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The path with links resolved, relative to the root again; `None` if it does not exist.
    pub(crate) fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let real = self.root.join(relative(path)).canonicalize().ok()?;
        real.strip_prefix(&self.root).ok().map(Path::to_owned)
    }

    /// The first line of a file as a fact, with the file as its source.
    pub(crate) fn fact(&self, name: &'static str, path: &Path) -> Fact {
        fact(name, self.text(path), said_by(path))
    }
}

/// A fact with its source.
pub(crate) fn fact(name: &str, value: Option<String>, said_by: impl Into<String>) -> Fact {
    Fact { name: name.to_owned(), value, said_by: said_by.into(), private: false }
}

/// The file's absolute name for display.
pub(crate) fn said_by(path: &Path) -> String {
    format!("/{}", relative(path).display())
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
