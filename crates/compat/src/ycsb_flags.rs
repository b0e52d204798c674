//! YCSB's flags: a single dash, a word, and its value in the next word.

use super::java_properties;
use crate::ycsb_args::YcsbPhase;
use std::path::PathBuf;
use syncline_console::{CannotRun, LineArg, MeterArgs, MeterTyped};

/// The parsed flags after the phase.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flags {
    /// Properties in order; later ones take precedence.
    pub(super) properties: Vec<(String, String)>,
    /// The store.
    pub(super) on: Option<String>,
    /// The phase, if a flag repeats it.
    pub(super) phase: Option<YcsbPhase>,
    /// As in `syncline run`.
    pub(super) line: LineArg,
    /// As in `syncline run`.
    pub(super) runs: PathBuf,
    /// As in `syncline run`.
    pub(super) seed: u64,
    /// As in `syncline run`.
    pub(super) dry_run: bool,
    /// The profiling options.
    pub(super) meter: MeterArgs,
    /// Warnings for flags without effect here.
    pub(super) warnings: Vec<String>,
}

impl Flags {
    /// Parses the words; `read` reads a file.
    pub(super) fn parse(
        words: &[String],
        read: impl Fn(&str) -> Result<String, CannotRun>,
    ) -> Result<Flags, CannotRun> {
        let mut flags = Flags {
            properties: Vec::new(),
            on: None,
            phase: None,
            line: LineArg::Brief,
            runs: "syncline-runs".into(),
            seed: 42,
            dry_run: false,
            meter: MeterArgs::default(),
            warnings: Vec::new(),
        };
        let (mut from_files, mut typed) = (Vec::new(), Vec::new());
        let mut meter = MeterTyped::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (flag, joined) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") || flag == "-jvm-args" => {
                    (flag, Some(value.to_owned()))
                }
                _ => (word.as_str(), None),
            };
            let mut value = || {
                let next = joined.clone().or_else(|| words.next().cloned());
                next.ok_or_else(|| CannotRun(format!("{flag} requires a value")))
            };
            let mut set = |key: &str, value: String| typed.push((key.to_owned(), value));
            match flag {
                "-P" => from_files.extend(java_properties::pairs(&read(&value()?)?)),
                "-p" => {
                    let given = value()?;
                    let Some((key, value)) = given.split_once('=') else {
                        return Err(CannotRun(format!("-p {given}: must be KEY=VALUE")));
                    };
                    set(key.trim(), value.trim().to_owned());
                }
                "-threads" => set("threadcount", value()?),
                "-target" => set("target", value()?),
                "-l" | "-label" => set("label", value()?),
                "-db" => set("db", value()?),
                // Progress is always shown.
                "-s" => {}
                "-t" => flags.phase = Some(YcsbPhase::Run),
                "-load" => flags.phase = Some(YcsbPhase::Load),
                "-jvm-args" | "-cp" => {
                    value()?;
                    flags.warnings.push(format!("{flag} has no effect here: there is no JVM"));
                }
                "--on" => flags.on = Some(value()?),
                "--line" => flags.line = LineArg::from(value()?.as_str()),
                "--runs" => flags.runs = value()?.into(),
                "--meter" => meter.meter = true,
                "--sampling-hz" | "--looks" => {
                    meter.set_sampling_hz(&value()?).map_err(CannotRun)?;
                }
                "--map" => meter.map = Some(value()?.into()),
                "--dry-run" => flags.dry_run = true,
                "--seed" => {
                    let seed = value()?;
                    flags.seed = seed.parse().map_err(|_error| {
                        CannotRun(format!("--seed {seed}: must be a whole number"))
                    })?;
                }
                binding if !binding.starts_with('-') => flags.warnings.push(format!(
                    "the database binding \"{binding}\" has no effect here: --on names the store"
                )),
                unknown => {
                    let known = "-P, -p, -threads, -target, -s, -t, -load, -l, -db, -jvm-args, -cp, --on, --line, --runs, \
                                 --seed, --dry-run, --meter, --sampling-hz, --map";
                    return Err(CannotRun(format!(
                        "syncline ycsb has no flag {unknown}; it has: {known}"
                    )));
                }
            }
        }
        flags.properties = from_files;
        flags.properties.append(&mut typed);
        flags.meter = meter.with_defaults(None).map_err(CannotRun)?;
        Ok(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::{CannotRun, Flags};

    fn parse(line: &str) -> Result<Flags, CannotRun> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse(&words, |path| match path {
            "one" => Ok("a=1\nb=2\n".to_owned()),
            "two" => Ok("b=3\n".to_owned()),
            other => Err(CannotRun(format!("no file {other}"))),
        })
    }

    #[test]
    fn typed_properties_take_precedence_over_files() {
        let flags = parse("basic -p b=4 -P one -s -P two -threads 8 -target 50 --on engine:x -t");
        let flags = flags.map_err(|why| why.0).unwrap();
        let pairs: Vec<_> =
            flags.properties.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(pairs, ["a=1", "b=2", "b=3", "b=4", "threadcount=8", "target=50"]);
        assert_eq!(flags.on.as_deref(), Some("engine:x"));
        assert_eq!(flags.warnings.len(), 1, "the binding");
    }

    #[test]
    fn errors_are_one_sentence() {
        for (line, expected) in [
            ("-P", "requires a value"),
            ("-P none", "no file none"),
            ("-p recordcount", "must be KEY=VALUE"),
            ("-q", "has no flag -q"),
            ("--seed x", "a whole number"),
        ] {
            let why = parse(line).err().map(|why| why.0).unwrap_or_default();
            assert!(why.contains(expected), "{line}: {why}");
        }
    }
}
