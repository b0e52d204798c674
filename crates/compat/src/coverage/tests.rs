//! The tables of `entries.rs` against the tools' own lists, what the parsers do, and the page.

use super::entries::{Entry, PGBENCH, PGBENCH_OUTSIDE, SERVER, SYSBENCH, YCSB};
use crate::pgbench;
use crate::pgbench_args::{self, PgbenchArgs};
use crate::sysbench_flags::Flags as SysbenchFlags;
use crate::ycsb_flags::Flags as YcsbFlags;
use crate::ycsb_properties::{ParsedProperties, known_properties};
use std::collections::BTreeSet;
use std::process::Command;
use syncline_console::CannotRun;
use syncline_stores::libpq::{ENVIRONMENT, Effect, PARAMETERS};

/// The names in a list, without its comment line.
fn listed(text: &'static str) -> BTreeSet<&'static str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

fn names(entries: &'static [Entry]) -> BTreeSet<&'static str> {
    let names = entries.iter().flat_map(|entry| entry.names);
    names.copied().collect()
}

/// The options in the left column of a help text.
fn of_help(help: &str) -> BTreeSet<String> {
    let lines = help.lines().filter(|line| line.starts_with(' '));
    let options = lines.map(str::trim_start).filter(|line| line.starts_with('-'));
    let left = options.map(|line| line.split("  ").next().unwrap_or_default());
    // An option as long as its column is followed by a single blank and its meaning.
    left.flat_map(|left| left.split(", "))
        .filter(|option| option.starts_with('-'))
        .filter_map(|option| option.split(['=', '[', ' ', ':']).next())
        .map(|option| option.replace('_', "-"))
        .collect()
}

/// The help of a tool, if it is installed in the imitated version. A tool that reports no version is used in
/// any.
fn help_of(tool: &str, version: Option<&str>, calls: &[&[&str]]) -> Option<String> {
    let output_of = |arguments: &[&str]| {
        let output = Command::new(tool).args(arguments).output().ok()?;
        String::from_utf8([output.stdout, output.stderr].concat()).ok()
    };
    if let Some(version) = version {
        output_of(&["--version"]).filter(|text| text.contains(version))?;
    }
    calls.iter().map(|call| output_of(call)).collect()
}

/// The options in a help text that a list lacks.
fn lacking(help: &str, list: &'static str) -> Vec<String> {
    let listed: BTreeSet<String> = listed(list).into_iter().map(str::to_owned).collect();
    of_help(help).difference(&listed).cloned().collect()
}

const PGBENCH_LIST: &str = include_str!("pgbench-15.18.txt");
const SYSBENCH_LIST: &str = include_str!("sysbench-1.0.20.txt");
const YCSB_LIST: &str = include_str!("ycsb-d9faaac.txt");

#[test]
fn every_option_of_the_tools_is_in_its_table() {
    // `-d` is --debug up to version 15 and --dbname from 16 on.
    for (list, known) in [
        (PGBENCH_LIST, names(PGBENCH)),
        (SYSBENCH_LIST, names(SYSBENCH)),
        (YCSB_LIST, names(YCSB).into_iter().chain(known_properties()).collect()),
    ] {
        let absent: Vec<_> = listed(list).difference(&known).copied().collect();
        assert!(absent.is_empty(), "{absent:?} are in no table");
    }
    let properties = known_properties().filter(|name| *name != "warmuptime");
    let beyond: Vec<_> = properties.filter(|name| !listed(YCSB_LIST).contains(name)).collect();
    assert!(beyond.is_empty(), "{beyond:?} are not properties of YCSB");
}

/// Where the real tools are installed, their help has no option that the lists lack.
#[test]
fn the_lists_are_those_of_the_installed_tools() {
    let tests = ["oltp_read_write", "oltp_insert", "bulk_insert"];
    let calls: Vec<Vec<&str>> = tests.iter().map(|test| vec![*test, "help"]).collect();
    let calls: Vec<&[&str]> =
        std::iter::once(&["--help"][..]).chain(calls.iter().map(Vec::as_slice)).collect();
    for (tool, version, calls, list, least) in [
        ("pgbench", Some("(PostgreSQL) 15."), &[&["--help"][..]][..], PGBENCH_LIST, 41),
        ("sysbench", Some("sysbench 1.0.20"), &calls, SYSBENCH_LIST, 41),
        ("ycsb", None, &[&["--help"][..]][..], YCSB_LIST, 4),
        ("ycsb.sh", None, &[&["--help"][..]][..], YCSB_LIST, 4),
    ] {
        let Some(help) = help_of(tool, version, calls) else {
            continue;
        };
        let absent = lacking(&help, list);
        assert!(absent.is_empty(), "{tool} has {absent:?}, which its list lacks");
        let found = of_help(&help);
        assert!(found.len() >= least, "{tool}: {found:?}");
        // Each of its options is one that this would miss.
        for option in &found {
            let without: String =
                list.lines().filter(|line| line != option).flat_map(|line| [line, "\n"]).collect();
            let missed = lacking(&help, without.leak());
            assert_eq!(missed, std::slice::from_ref(option), "{tool}");
        }
    }
}

/// A new option is detected in the form of each tool's help, even where the tools are not installed.
#[test]
fn an_option_that_a_list_lacks_is_detected() {
    for (help, list, found) in [
        (
            "Benchmarking options:\n  -c, --client=NUM         how many\n      --new-option=NUM     whatever\n",
            PGBENCH_LIST,
            "--new-option",
        ),
        (
            "General options:\n  --threads=N                     how many [1]\n  --new_option[=on|off]           whatever [off]\n",
            SYSBENCH_LIST,
            "--new-option",
        ),
        (
            "Options:\n  -threads n: how many (default: 1) - or \"threadcount\"\n  -newoption n: whatever\n",
            YCSB_LIST,
            "-newoption",
        ),
    ] {
        assert_eq!(of_help(help).len(), 2 + usize::from(list == PGBENCH_LIST), "{help}");
        assert_eq!(lacking(help, list), [found]);
    }
}

/// The result of parsing an option.
#[derive(Debug)]
enum ParseResult {
    Taken(Vec<String>),
    Refused(String),
}

/// Asserts that an entry describes what the parser did.
fn assert_effect(tool: &str, entry: &Entry, result: &ParseResult) {
    let named = |text: &str| {
        let text = text.replace('_', "-");
        entry.names.iter().any(|name| text.contains(name))
    };
    match (entry.effect, result) {
        (Effect::Used(_), ParseResult::Taken(warnings)) => {
            let about = warnings.iter().find(|warning| named(warning));
            let deprecated = about.is_none_or(|warning| warning.contains("deprecated"));
            assert!(deprecated, "{tool} {:?}: {result:?}", entry.names);
        }
        (Effect::Ignored(why), ParseResult::Taken(warnings)) => {
            let is_named = warnings.iter().any(|warning| named(warning) && !why.is_empty());
            assert!(is_named, "{tool} {:?} is ignored silently: {result:?}", entry.names);
        }
        (Effect::Refused(why), ParseResult::Refused(message)) => {
            assert!(
                named(message),
                "{tool} {:?} is refused without its name: {message}",
                entry.names
            );
            assert!(message.contains(why), "{tool} {:?}: {message}", entry.names);
        }
        _ => panic!(
            "{tool} {:?}: the table says {:?}, but the parser did {result:?}",
            entry.names, entry.effect
        ),
    }
}

#[test]
fn pgbench_s_options_do_what_the_table_says() {
    for entry in PGBENCH {
        for name in entry.names {
            // Tests each of its names, replacing the name that the sample uses.
            let given = entry.names.iter().find(|name| {
                entry.sample.split(' ').any(|word| word.split('=').next() == Some(name))
            });
            let given = given.unwrap_or_else(|| panic!("{:?} has no sample", entry.names));
            let sample = entry.sample.replacen(given, name, 1);
            let sample = if name.starts_with("--") { sample } else { sample.replacen('=', " ", 1) };
            let line = format!("pgbench {sample} --on null");
            let line = if matches!(given, &"--host" | &"-h" | &"-p" | &"-U" | &"-d") {
                line.replace(" --on null", "")
            } else {
                line
            };
            let parsed = pgbench_args::definition().try_get_matches_from(line.split_whitespace());
            if matches!(*given, "--help" | "--version") {
                let shown = parsed.expect_err("it ends the program").exit_code();
                assert_eq!(shown, 0, "{line}");
                continue;
            }
            let matches = parsed.unwrap_or_else(|why| panic!("{line}: {why}"));
            let args = PgbenchArgs::of(&matches).unwrap();
            let result = match pgbench::refuse(&args) {
                Ok(()) => ParseResult::Taken(pgbench::warnings(&args, |_| None)),
                Err(why) => ParseResult::Refused(why.0),
            };
            assert_effect("pgbench", entry, &result);
        }
    }
    let args = PgbenchArgs::default();
    for entry in PGBENCH_OUTSIDE {
        let warned = pgbench::warnings(&args, |name| (name == entry.names[0]).then(String::new));
        let ignored = matches!(entry.effect, Effect::Ignored(_));
        assert_eq!(ignored, !warned.is_empty(), "{:?}", entry.names);
    }
}

#[test]
fn sysbench_s_options_do_what_the_table_says() {
    let read = |_: &str| Ok::<_, CannotRun>(String::new());
    for entry in SYSBENCH {
        let first = entry.names[0];
        assert!(entry.sample.starts_with(first), "{:?} has no sample", entry.names);
        for name in entry.names {
            let sample = entry.sample.replacen(first, name, 1);
            let place = matches!(entry.effect, Effect::Used(how) if how == SERVER);
            let on = if place { "" } else { "--on=null" };
            let line = format!("oltp_read_write {on} {sample} run");
            let line = if *name == "--help" { sample } else { line };
            let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            let result = match SysbenchFlags::parse(&words, read) {
                Ok(flags) => ParseResult::Taken(flags.warnings),
                Err(why) => ParseResult::Refused(why.0),
            };
            assert_effect("sysbench", entry, &result);
        }
    }
}

#[test]
fn ycsb_s_flags_do_what_the_table_says() {
    for entry in YCSB {
        let words: Vec<_> = entry.sample.split_whitespace().map(str::to_owned).collect();
        let parsed = YcsbFlags::parse(&words, |_| Ok(String::new()));
        let flags = parsed.unwrap_or_else(|why| panic!("{:?}: {}", entry.names, why.0));
        let mut properties = flags.properties;
        properties.push(("recordcount".to_owned(), "5".to_owned()));
        let parsed = ParsedProperties::of(&properties, false);
        let parsed = parsed.unwrap_or_else(|why| panic!("{:?}: {}", entry.names, why.0));
        let mut warnings = flags.warnings;
        // A flag that sets a property causes a warning with the property's name.
        warnings.extend(parsed.warnings.iter().map(|one| {
            let one = one.replace("property label", "-l");
            one.replace("property db", "-db")
        }));
        assert_effect("ycsb", entry, &ParseResult::Taken(warnings));
    }
}

/// The page, whose tables are between lines that name them.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compatibility.md");

fn effect(effect: Effect) -> (&'static str, String) {
    match effect {
        Effect::Used(how) => ("done", how.to_owned()),
        Effect::Only(values, why) => ("refused", format!("except {}: {why}", values.join(", "))),
        Effect::Refused(why) => ("refused", why.to_owned()),
        Effect::Ignored(why) => ("warning", why.to_owned()),
    }
}

fn row(name: &str, of: Effect) -> String {
    let (word, how) = effect(of);
    let how = how.replace('|', "\\|");
    format!("| {name} | {word} | {how} |\n")
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    format!("| {head} | here | how, or why |\n|---|---|---|\n{}", rows.collect::<String>())
}

fn entries(entries: &'static [Entry]) -> impl Iterator<Item = String> {
    entries.iter().map(|entry| {
        let names: Vec<_> = entry.names.iter().map(|name| format!("`{name}`")).collect();
        row(&names.join(", "), entry.effect)
    })
}

/// Every table, by its name.
fn tables() -> Vec<(&'static str, String)> {
    let parameters = PARAMETERS.iter().map(|one| {
        let variable = one.variable.map_or(String::new(), |name| format!(", `{name}`"));
        row(&format!("`{}`{variable}", one.name), one.effect)
    });
    let others = ENVIRONMENT.iter().map(|one| row(&format!("`{}`", one.name), one.effect));
    let properties = known_properties().map(|name| {
        let with = match name {
            "fieldlengthhistogram" => ("fieldlengthdistribution", "histogram"),
            _ => ("recordcount", "5"),
        };
        let pair = |value: &str| {
            vec![
                (with.0.to_owned(), with.1.to_owned()),
                ("recordcount".to_owned(), "5".to_owned()),
                (name.to_owned(), value.to_owned()),
            ]
        };
        let values = ["5", "true", "0.5", "uniform", "constant", "core", "op", "hashed", "0"];
        let taken = values.iter().find_map(|value| ParsedProperties::of(&pair(value), false).ok());
        match taken {
            None => panic!("{name} takes none of {values:?}"),
            Some(parsed) => match parsed.warnings.first() {
                None => row(&format!("`{name}`"), Effect::Used("")),
                Some(warning) => {
                    let why = warning.split_once(": ").map_or("", |(_, why)| why);
                    format!("| `{name}` | warning | {why} |\n")
                }
            },
        }
    });
    vec![
        ("pgbench", table("option of pgbench", entries(PGBENCH))),
        ("pgbench-outside", table("variable or file", entries(PGBENCH_OUTSIDE))),
        ("libpq", table("parameter of libpq, its variable", parameters.chain(others))),
        ("sysbench", table("option of sysbench", entries(SYSBENCH))),
        ("ycsb", table("flag of YCSB", entries(YCSB))),
        ("ycsb-properties", table("property of YCSB", properties)),
    ]
}

/// With `SYNCLINE_WRITE_PAGES` set, the page is rewritten instead of compared.
#[test]
fn the_page_has_the_tables() {
    let mut page = std::fs::read_to_string(PAGE).unwrap();
    let writes = std::env::var_os("SYNCLINE_WRITE_PAGES").is_some();
    for (name, table) in tables() {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let from =
            page.find(&begin).unwrap_or_else(|| panic!("{name} has no begin mark")) + begin.len();
        let to = page.find(&end).unwrap_or_else(|| panic!("{name} has no end mark"));
        if writes {
            page.replace_range(from..to, &table);
        } else {
            assert_eq!(&page[from..to], table, "{name}: regenerate it with SYNCLINE_WRITE_PAGES=1");
        }
    }
    if writes {
        std::fs::write(PAGE, page).unwrap();
    }
}
