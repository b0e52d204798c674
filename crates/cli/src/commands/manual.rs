//! `syncline completions` and `syncline manual`, generated from the definition of the command line.
//!
//! 1. Each command that is not hidden has a page, such as `syncline-run-insert.1`, so that every page a page
//!    refers to exists.
//! 2. A page names its command, describes it, and has the examples of its `--help`.

use super::atomic_file;
use crate::args::{ManualArgs, ShellArgs, command, definition};
use clap::Command;
use std::fs;
use std::io;
use std::path::Path;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};

/// Writes completions for a shell.
pub(crate) fn completions(args: &ShellArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "syncline", &mut script);
    terminal::print(&text(script)?)?;
    Ok(Verdict::Holds)
}

/// A manual page.
struct Page {
    /// "syncline-run".
    name: String,
    text: String,
}

/// Writes one page to standard output, or all to a directory.
pub(crate) fn manual(args: &ManualArgs) -> Outcome {
    let pages = pages()?;
    if let Some(directory) = &args.to {
        write(&pages, directory)?;
        return Ok(Verdict::Holds);
    }
    let wanted: Vec<&str> =
        ["syncline"].into_iter().chain(args.verb.iter().map(String::as_str)).collect();
    let wanted = wanted.join("-");
    let page = pages.iter().find(|page| page.name == wanted);
    let page = page.ok_or_else(|| {
        let verb = args.verb.join(" ");
        CannotRun(format!("there is no command \"{verb}\"; syncline --help lists the commands"))
    })?;
    terminal::print(&page.text)?;
    Ok(Verdict::Holds)
}

fn write(pages: &[Page], directory: &Path) -> Result<(), CannotRun> {
    let cannot = |path: &Path, error: &io::Error| {
        CannotRun(format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(directory).map_err(|error| cannot(directory, &error))?;
    for page in pages {
        let path = directory.join(format!("{}.1", page.name));
        atomic_file::write(&path, page.text.as_bytes()).map_err(|error| cannot(&path, &error))?;
    }
    terminal::note(&format!("wrote {} manual pages to {}", pages.len(), directory.display()));
    Ok(())
}

/// Every page, the program's first.
fn pages() -> Result<Vec<Page>, CannotRun> {
    let mut root = definition().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    collect(&root, None, &mut pages)?;
    Ok(pages)
}

fn collect(
    command: &Command,
    parent: Option<&str>,
    pages: &mut Vec<Page>,
) -> Result<(), CannotRun> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    pages.push(Page { name: name.to_owned(), text: text(page(command, parent)?)? });
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for sub in shown {
        collect(sub, Some(name), pages)?;
    }
    Ok(())
}

fn page(command: &Command, parent: Option<&str>) -> io::Result<Vec<u8>> {
    let version = env!("CARGO_PKG_VERSION");
    let man = clap_mangen::Man::new(command.clone())
        .source(format!("syncline {version}"))
        .manual("Syncline Manual");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = String::new();
    if let Some(notes) = command.get_after_help() {
        rest += &format!(".SH NOTES\n{}\n", escaped(&notes.to_string()));
    }
    if let Some(examples) = command.get_before_help() {
        let examples = examples.to_string();
        let lines = examples.lines().skip(1).map(str::trim_start);
        let lines: Vec<&str> = lines.collect();
        rest += &format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", escaped(&lines.join("\n")));
    }
    if let Some(parent) = parent {
        rest += &format!(".SH SEE ALSO\n{}(1)\n", escaped(parent));
    }
    rest += &format!(".SH VERSION\n{}\n", escaped(version));
    page.extend(rest.into_bytes());
    Ok(page)
}

/// Escapes text so that roff interprets none of it.
fn escaped(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn text(bytes: Vec<u8>) -> Result<String, CannotRun> {
    String::from_utf8(bytes).map_err(CannotRun::from)
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn escaped_text_contains_no_roff_commands() {
        let text = "syncline probe .\n.TH a\n'b \\n --c";
        assert_eq!(escaped(text), "syncline probe .\n\\&.TH a\n\\&'b \\en \\-\\-c");
    }
}
