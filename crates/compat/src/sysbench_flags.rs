//! sysbench's options: `--name=value`, in which `-` and `_` are the same; the words without dashes are the
//! test and the command. A file named by `--config-file` holds one `name=value` per line.
//!
//! Every option is of one of four kinds: an option of the test, an option of the run, an option that names a
//! server, or one without effect here, which causes a warning or is refused by name.

use super::clients::clients;
use super::libpq_environment::LibpqEnvironment;
use super::sysbench_test::{Command, command_of, test_of};
use super::sysbench_url::{self, SysbenchOptions};
use std::path::PathBuf;
use syncline_console::{CannotRun, MeterArgs, MeterTyped};
use syncline_workloads::oltp::{self, Test};

/// The parsed command line.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent option, as in sysbench")]
pub(super) struct Flags {
    pub(super) test: Test,
    pub(super) command: Command,
    /// The store.
    pub(super) url: Option<String>,
    /// True if driver options name the store.
    pub(super) by_driver: bool,
    pub(super) runs: PathBuf,
    pub(super) json: bool,
    /// The profiling options.
    pub(super) meter: MeterArgs,
    /// Print what the run would do, and change nothing.
    pub(super) dry_run: bool,
    /// Print the version.
    pub(super) version: bool,
    pub(super) threads: usize,
    /// Events to run; 0 sets no limit.
    pub(super) events: u64,
    /// Seconds to run; 0 sets no limit.
    pub(super) time_s: u64,
    pub(super) warm_up_s: u64,
    /// Events per second; 0 is a closed loop.
    pub(super) rate_per_s: f64,
    /// Seconds between progress lines; 0 prints none.
    pub(super) report_interval_s: u64,
    /// The percentile to print; 0 prints none.
    pub(super) percentile: u8,
    /// Print the distribution of latencies.
    pub(super) histogram: bool,
    /// Seconds until events in progress at the end are aborted; none waits for them.
    pub(super) forced_shutdown_s: Option<u64>,
    /// The seed of all random choices; 0 takes the time.
    pub(super) seed: u64,
    /// Options of the test.
    pub(super) options: Vec<(String, String)>,
    /// Warnings for options without effect here.
    pub(super) warnings: Vec<String>,
}

/// Options without effect here, and why; each causes one warning.
const WITHOUT_MEANING: [(&str, &str); 8] = [
    ("thread_stack_size", "the stack size of threads is fixed"),
    ("thread_init_timeout", "connecting has no time limit"),
    ("luajit_cmd", "there is no Lua here"),
    ("mysql_ignore_errors", "conflicts are retried, and any other error ends the run"),
    ("debug", "the record already holds everything"),
    ("db_debug", "the record already holds everything"),
    ("mysql_debug", "the record already holds everything"),
    ("verbosity", "the output is always that of level 3"),
];

/// Options that are refused unless their value is what happens anyway.
const REFUSED: [(&str, &[&str], &str); 11] = [
    ("report_checkpoints", &[""], "the record holds intervals instead"),
    ("create_table_options", &[""], "the target decides how its tables are created"),
    ("mysql_table_options", &[""], "the target decides how its tables are created"),
    ("mysql_storage_engine", &["innodb"], "the target decides how its tables are created"),
    ("pgsql_variant", &[""], "only standard PostgreSQL is supported"),
    ("reconnect", &["0"], "clients keep their connections until the run ends"),
    ("mysql_dry_run", &["off"], "--dry-run prints what would be done; --on=null does no work"),
    ("mysql_compression", &["off"], "connections are not compressed"),
    ("mysql_ssl", &["off"], "set it in the URL of --on"),
    ("mysql_ssl_cipher", &[""], "set it in the URL of --on"),
    ("validate", &["on", "off"], "rows are always checked"),
];

impl Flags {
    /// Parses the words; `read` reads a file.
    pub(super) fn parse(
        words: &[String],
        read: impl Fn(&str) -> Result<String, CannotRun>,
    ) -> Result<Flags, CannotRun> {
        let mut parser = Parser::new();
        // A test that is not supported has options of its own, about which nothing is known.
        let by_option = words.iter().find_map(|word| word.strip_prefix("--test="));
        let first = words.iter().find(|word| !word.starts_with('-')).map(String::as_str);
        if let Some(name) = by_option.or(first).filter(|name| *name != "help") {
            test_of(name)?;
        }
        for word in words {
            match word.strip_prefix("--") {
                Some(option) => parser.option(option, &read)?,
                None if word.starts_with('-') => {
                    return Err(CannotRun(format!(
                        "{word}: sysbench's options begin with two dashes"
                    )));
                }
                None => parser.names.push(word.clone()),
            }
        }
        parser.finish()
    }
}

struct Parser {
    names: Vec<String>,
    place: SysbenchOptions,
    on: Option<String>,
    meter: MeterTyped,
    flags: Flags,
}

impl Parser {
    fn new() -> Parser {
        Parser {
            names: Vec::new(),
            place: SysbenchOptions::new(),
            on: None,
            meter: MeterTyped::default(),
            flags: Flags {
                test: Test::ReadWrite,
                command: Command::Help,
                url: None,
                by_driver: false,
                runs: "syncline-runs".into(),
                json: false,
                meter: MeterArgs::default(),
                dry_run: false,
                version: false,
                threads: 1,
                events: 0,
                time_s: 10,
                warm_up_s: 0,
                rate_per_s: 0.0,
                report_interval_s: 0,
                percentile: 95,
                histogram: false,
                forced_shutdown_s: None,
                seed: 0,
                options: Vec::new(),
                warnings: Vec::new(),
            },
        }
    }

    /// Parses `name=value`, or a name alone, which switches it on.
    fn option(
        &mut self,
        text: &str,
        read: &impl Fn(&str) -> Result<String, CannotRun>,
    ) -> Result<(), CannotRun> {
        let (typed, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let name = typed.replace('-', "_");
        if let Some(why) = deprecated(&name) {
            self.warn(format!("--{typed} is deprecated, use --{why} instead"));
        }
        let required = || value.ok_or_else(|| CannotRun(format!("--{typed} requires =VALUE")));
        let number = |least: u64| -> Result<u64, CannotRun> {
            let value = required()?;
            let number = value.parse().ok().filter(|number| *number >= least);
            number.ok_or_else(|| {
                CannotRun(format!("--{typed}={value}: must be a whole number from {least}"))
            })
        };
        match name.as_str() {
            "on" => self.on = Some(required()?.to_owned()),
            "runs" => self.flags.runs = required()?.into(),
            "json" => self.flags.json = true,
            "histogram" => {
                self.flags.histogram = !matches!(value, Some("off" | "false" | "no" | "0"));
            }
            "meter" => self.meter.meter = true,
            "sampling_hz" | "looks" => self.meter.set_sampling_hz(required()?).map_err(CannotRun)?,
            "map" => self.meter.map = Some(required()?.into()),
            "dry_run" => self.flags.dry_run = true,
            "help" => self.names.push("help".to_owned()),
            "version" => self.flags.version = true,
            "test" => {
                self.warn("--test is deprecated, name the test without it".to_owned());
                self.names.insert(0, required()?.to_owned());
            }
            "db_ps_mode" => match required()? {
                "auto" => {}
                "disable" => self.warn(
                    "--db-ps-mode=disable has no effect here: statements are prepared anyway, so a \
                     server parses each of them once a session"
                        .to_owned(),
                ),
                other => {
                    return Err(CannotRun(format!(
                        "--db-ps-mode={other}: must be auto or disable"
                    )));
                }
            },
            "config_file" => self.config(&read(required()?)?, read)?,
            "threads" | "num_threads" => {
                self.flags.threads = clients("--threads", number(1)?)?;
            }
            "events" | "max_requests" => self.flags.events = number(0)?,
            "time" | "max_time" => self.flags.time_s = number(0)?,
            "warmup_time" => self.flags.warm_up_s = number(0)?,
            "rate" | "tx_rate" => self.flags.rate_per_s = number(0)? as f64,
            "report_interval" => self.flags.report_interval_s = number(0)?,
            "rand_seed" => self.flags.seed = number(0)?,
            "percentile" => self.flags.percentile = percentile(required()?)?,
            "forced_shutdown" => {
                self.flags.forced_shutdown_s = match value {
                    Some("off") => None,
                    _ => Some(number(0)?),
                }
            }
            place if sysbench_url::is_place(place) => {
                self.place.insert(name, required()?.to_owned());
            }
            option if is_of_test(option) => {
                let value = switched(&name, value)
                    .ok_or_else(|| CannotRun(format!("--{typed} requires =VALUE")))?;
                // As with any option, the last one counts.
                self.flags.options.retain(|(other, _)| *other != name);
                self.flags.options.push((name, value));
            }
            _ => self.without_effect(typed, &name, value)?,
        }
        Ok(())
    }

    fn config(
        &mut self,
        text: &str,
        read: &impl Fn(&str) -> Result<String, CannotRun>,
    ) -> Result<(), CannotRun> {
        for line in text.lines().map(str::trim) {
            let option = line.trim_start_matches("--");
            let name = option.split('=').next().unwrap_or_default();
            if name.trim().replace('-', "_") == "config_file" {
                return Err(CannotRun::because(
                    "--config-file: a file of options cannot name another, since it could name itself",
                ));
            }
            if !line.is_empty() && !line.starts_with('#') {
                self.option(option, read)?;
            }
        }
        Ok(())
    }

    /// Warns about an option without effect, or refuses one whose value asks for something else.
    fn without_effect(
        &mut self,
        typed: &str,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), CannotRun> {
        if let Some((_, why)) = WITHOUT_MEANING.iter().find(|(option, _)| *option == name) {
            self.warn(format!("--{typed} has no effect here: {why}"));
            return Ok(());
        }
        let Some((_, done, why)) = REFUSED.iter().find(|(option, ..)| *option == name) else {
            return Err(CannotRun(format!(
                "syncline sysbench has no option --{typed}; `syncline sysbench TEST help` lists the options of \
                 a test"
            )));
        };
        let value = value.unwrap_or("on");
        if done.iter().any(|done| done.eq_ignore_ascii_case(value)) {
            return Ok(());
        }
        Err(CannotRun(format!("--{typed}={value} does not apply: {why}")))
    }

    fn warn(&mut self, what: String) {
        if !self.flags.warnings.contains(&what) {
            self.flags.warnings.push(what);
        }
    }

    fn finish(self) -> Result<Flags, CannotRun> {
        let mut flags = self.flags;
        let outside = LibpqEnvironment {
            variable: |name: &str| std::env::var(name).ok(),
            exists: std::path::Path::exists,
        };
        flags.by_driver = !self.place.is_empty();
        flags.url = match (self.on, sysbench_url::url(&self.place, &outside)?) {
            (Some(_), Some(_)) => {
                return Err(CannotRun::because(
                    "--on and the options of a driver both name the store: use only one of them",
                ));
            }
            (Some(on), None) => Some(on),
            (None, Some((url, warnings))) => {
                flags.warnings.extend(warnings);
                Some(url)
            }
            (None, None) => None,
        };
        let (test, command) = match &self.names[..] {
            [] if flags.version => ("oltp_read_write", "help"),
            [] => {
                return Err(CannotRun::because(
                    "no test was named: give a test and a command, such as oltp_read_write run",
                ));
            }
            [only] if only == "help" => ("oltp_read_write", "help"),
            [only] if flags.version => (only.as_str(), "help"),
            [test] => {
                return Err(CannotRun(format!(
                    "no command was named: give {test} with prepare, run, cleanup or help"
                )));
            }
            [test, command] => (test.as_str(), command.as_str()),
            [_, _, more, ..] => {
                return Err(CannotRun(format!(
                    "\"{more}\" is one word too many: write options as --name=value"
                )));
            }
        };
        flags.test = test_of(test)?;
        flags.command = command_of(command)?;
        flags.meter = self.meter.with_defaults(None).map_err(CannotRun)?;
        if flags.meter.meter && matches!(flags.command, Command::Prepare | Command::Cleanup) {
            return Err(CannotRun(format!(
                "--meter does not apply to {command}: it profiles a run"
            )));
        }
        if flags.time_s == 0 && flags.events == 0 {
            return Err(CannotRun::because(
                "--time=0 and --events=0 would never end: give one of them",
            ));
        }
        if flags.test == Test::BulkInsert {
            // One table per thread, as in sysbench.
            flags.options.retain(|(option, _)| option != "tables");
            let tables = flags.threads.to_string();
            flags.options.push(("tables".to_owned(), tables));
        }
        Ok(flags)
    }
}

fn percentile(typed: &str) -> Result<u8, CannotRun> {
    let percentile = typed.parse().ok().filter(|percent: &u8| *percent <= 100);
    percentile.ok_or_else(|| {
        CannotRun(format!(
            "--percentile={typed}: must be a whole number from 1 to 100, or 0 for none"
        ))
    })
}

/// The replacement of a deprecated option.
fn deprecated(name: &str) -> Option<&'static str> {
    match name {
        "num_threads" => Some("threads"),
        "max_requests" => Some("events"),
        "max_time" => Some("time"),
        "tx_rate" => Some("rate"),
        _ => None,
    }
}

/// Options of the workload that are not options of sysbench.
pub(super) const CHOSEN_HERE: [&str; 4] = ["test", "kept", "used_tables", "used_rows"];

/// True for an option of the tests that this command does not choose itself.
fn is_of_test(option: &str) -> bool {
    let chosen_here = CHOSEN_HERE.contains(&option);
    !chosen_here && listed(option).is_some()
}

fn listed(option: &str) -> Option<&'static syncline_contract::OptionListing> {
    oltp::Options::LISTING.iter().find(|listed| listed.name == option)
}

/// The value of a test's option, with switches as the workload writes them; none if it is missing.
fn switched(option: &str, value: Option<&str>) -> Option<String> {
    let is_switch = listed(option).is_some_and(|listed| listed.takes == "on or off");
    let word = match (is_switch, value) {
        (true, None | Some("on" | "true" | "yes" | "y" | "t" | "1")) => "on",
        (true, Some("off" | "false" | "no" | "n" | "f" | "0")) => "off",
        (_, Some(other)) => other,
        (false, None) => return None,
    };
    Some(word.to_owned())
}

#[cfg(test)]
#[path = "sysbench_flags_tests.rs"]
mod tests;
