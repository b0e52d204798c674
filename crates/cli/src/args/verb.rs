//! The whole command line: the commands, and the workloads of `run` with options from their tables.

use super::help::{examples_last, grouped};
use super::{
    CleanArgs, CompareArgs, EngineArgs, LikeArgs, ListArgs, ManualArgs, ModelArgs, ObserveArgs,
    PrivateArgs, ProbeArgs, RunArgs, ShowArgs, SurveyArgs, VerifyArgs,
};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;
use syncline_compat::CompatCommand;
use syncline_console::{progress, value};

/// Write completions for a shell to standard output.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline completions bash > /etc/bash_completion.d/syncline\n  syncline completions fish > ~/.config/fish/completions/syncline.fish"
)]
pub(crate) struct ShellArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// The parsed command.
#[derive(Debug)]
pub(crate) enum Verb {
    Survey(SurveyArgs),
    Probe(ProbeArgs),
    Model(ModelArgs),
    Run { workload: String, options: Vec<(String, String)>, args: RunArgs },
    RunAgain(LikeArgs),
    Verify(VerifyArgs),
    VerifyChild,
    Show(ShowArgs),
    Compare(CompareArgs),
    List(ListArgs),
    Observe(ObserveArgs),
    Private(PrivateArgs),
    Clean(CleanArgs),
    Engine(EngineArgs),
    Compat(CompatCommand),
    Completions(ShellArgs),
    Manual(ManualArgs),
}

/// Parses the command line; like clap, prints help or a usage error and ends the program.
pub(crate) fn parse() -> Verb {
    let matches = with_signs(command()).get_matches_from(with_help(std::env::args_os()));
    verb_of(&matches).unwrap_or_else(|error| error.exit())
}

/// Rewrites `help run insert` to `run insert --help`.
fn with_help(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut typed: Vec<_> = typed.collect();
    if typed.get(1).is_some_and(|verb| verb == "help") {
        typed.remove(1);
        typed.push("--help".into());
    }
    typed
}

/// Accepts negative numbers as values, so that the option's own parser reports them.
fn with_signs(command: Command) -> Command {
    let signed = command.mut_args(|argument| {
        let number = argument.get_num_args();
        let takes_values = argument.get_action().takes_values()
            && number.is_none_or(|number| number.takes_values());
        argument.allow_negative_numbers(takes_values)
    });
    signed.mut_subcommands(with_signs)
}

/// The command line, with its help arranged for printing.
pub(crate) fn command() -> Command {
    grouped(examples_last(definition()))
}

/// The definition that parsing, help, completions and manual pages share.
pub(crate) fn definition() -> Command {
    Command::new("syncline")
        .version(env!("CARGO_PKG_VERSION"))
        .about("How many durable transactions a second can this machine do, how many does your database do, and where does the rest go? For Linux.")
        .before_help("Examples:\n  syncline survey\n  syncline run insert --on sqlite --clients 8")
        .after_help("Exit codes: 0 the command ran and every check holds; 1 a promise failed or something became slower; 2 the command could not run to its end.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(SurveyArgs::augment_args(Command::new("survey").args([quiet(), tag()])))
        .subcommand(ProbeArgs::augment_args(
            Command::new("probe").args([quiet(), tag(), metrics()]).disable_help_subcommand(true),
        ))
        .subcommand(ModelArgs::augment_args(Command::new("model")))
        .subcommand(run())
        .subcommand(VerifyArgs::augment_args(Command::new("verify")))
        .subcommand(Command::new(crate::commands::CHILD).hide(true))
        .subcommand(ShowArgs::augment_args(Command::new("show")))
        .subcommand(CompareArgs::augment_args(Command::new("compare")))
        .subcommand(ListArgs::augment_args(Command::new("list")))
        .subcommand(ObserveArgs::augment_args(Command::new("observe").args([tag(), metrics()])))
        .subcommand(PrivateArgs::augment_args(Command::new("private")))
        .subcommand(CleanArgs::augment_args(Command::new("clean")))
        .subcommand(EngineArgs::augment_args(Command::new("engine")))
        .subcommands(CompatCommand::definitions())
        .subcommand(ShellArgs::augment_args(Command::new("completions")))
        .subcommand(ManualArgs::augment_args(Command::new("manual")))
}

/// The option that turns progress off, for commands that measure.
fn quiet() -> Arg {
    Arg::new("quiet").short('q').long("quiet").action(ArgAction::SetTrue).help("Print no progress")
}

/// The option that puts a tag on records, for commands that write them.
fn tag() -> Arg {
    Arg::new("record_tag")
        .long("tag")
        .value_name("TEXT")
        .value_parser(value::tag)
        .help("Tag of the records, such as the commit of the program under test")
}

/// The option that keeps a file of metrics up to date, for commands that measure for long.
fn metrics() -> Arg {
    Arg::new("metrics_file")
        .long("metrics")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Keep this file up to date with metrics in OpenMetrics text, for Prometheus; best on another disk")
}

/// The format of durations.
const TIMES: &str = "A TIME is 500ms, 10s, 2m or 1h; a bare number is seconds.";

fn run() -> Command {
    let workloads = syncline_workloads::LISTINGS.iter().map(|workload| {
        let options = workload.options.iter().map(|option| {
            Arg::new(option.name)
                .long(option.name.replace('_', "-"))
                .value_name("VALUE")
                .help(format!("{}: {} [default: {}]", sentence(option.meaning), option.takes, option.default))
                .help_heading("Options of the workload")
        });
        let example = format!(
            "Examples:\n  syncline run {0} --on sqlite --clients 8\n  syncline run {0} --on null --clients 64 --workers 1 --json",
            workload.name
        );
        let command = Command::new(workload.name).before_help(example).after_help(TIMES);
        let common = [quiet(), tag(), metrics()].map(|argument| argument.help_heading("Output"));
        RunArgs::augment_args(command.args(options).args(common)).about(sentence(workload.what))
    });
    LikeArgs::augment_args(Command::new("run").args([quiet(), tag(), metrics()]))
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .about("Run a workload on one or more stores and report committed transactions")
        .before_help("Examples:\n  syncline run insert --on sqlite --clients 8\n  syncline run insert --on sqlite --on null --repeat 3 --interleave\n  syncline run --like k3f9a")
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        // Lets an unknown workload name reach our own error, which lists the workloads.
        .allow_external_subcommands(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .subcommands(workloads)
}

fn verb_of(matches: &ArgMatches) -> Result<Verb, Error> {
    let (name, matches) = matches.subcommand().expect("clap requires a command");
    if is_quiet(matches) {
        progress::quiet();
    }
    if let Some(text) = option_value::<String>(matches, "record_tag") {
        crate::commands::set_tag(text);
    }
    if let Some(path) = option_value::<PathBuf>(matches, "metrics_file") {
        crate::commands::set_metrics_file(path);
    }
    if let Some(command) = CompatCommand::from_matches(name, matches) {
        return command.map(Verb::Compat);
    }
    Ok(match name {
        "survey" => Verb::Survey(SurveyArgs::from_arg_matches(matches)?),
        "probe" => Verb::Probe(ProbeArgs::from_arg_matches(matches)?),
        "model" => Verb::Model(ModelArgs::from_arg_matches(matches)?),
        "run" => run_of(matches)?,
        "verify" => Verb::Verify(VerifyArgs::from_arg_matches(matches)?),
        crate::commands::CHILD => Verb::VerifyChild,
        "show" => Verb::Show(ShowArgs::from_arg_matches(matches)?),
        "compare" => Verb::Compare(CompareArgs::from_arg_matches(matches)?),
        "list" => Verb::List(ListArgs::from_arg_matches(matches)?),
        "observe" => Verb::Observe(ObserveArgs::from_arg_matches(matches)?),
        "clean" => Verb::Clean(CleanArgs::from_arg_matches(matches)?),
        "engine" => Verb::Engine(EngineArgs::from_arg_matches(matches)?),
        "private" => Verb::Private(PrivateArgs::from_arg_matches(matches)?),
        "completions" => Verb::Completions(ShellArgs::from_arg_matches(matches)?),
        "manual" => Verb::Manual(ManualArgs::from_arg_matches(matches)?),
        other => unreachable!("the definition has no command {other}"),
    })
}

/// The value of an option, typed after the command or after one of its subcommands.
fn option_value<'m, T: Clone + Send + Sync + 'static>(
    matches: &'m ArgMatches,
    name: &str,
) -> Option<&'m T> {
    let here = matches.try_get_one::<T>(name).ok().flatten();
    here.or_else(|| matches.subcommand().and_then(|(_, below)| option_value(below, name)))
}

/// True if `--quiet` was typed, after the command or after the workload.
fn is_quiet(matches: &ArgMatches) -> bool {
    // In pgbench, -q is a different option, which that command reads itself.
    let typed = matches.try_get_one::<bool>("quiet");
    let here = typed.ok().flatten().is_some_and(|quiet| *quiet);
    here || matches.subcommand().is_some_and(|(_, below)| is_quiet(below))
}

fn run_of(matches: &ArgMatches) -> Result<Verb, Error> {
    let Some((workload, matches)) = matches.subcommand() else {
        return LikeArgs::from_arg_matches(matches).map(Verb::RunAgain);
    };
    let mut listings = syncline_workloads::LISTINGS.iter();
    let Some(listed) = listings.find(|listed| listed.name == workload) else {
        return Err(no_workload(workload));
    };
    let known = listed.options.iter();
    let typed = known.filter_map(|option| {
        let value = matches.get_one::<String>(option.name)?;
        Some((option.name.to_owned(), value.clone()))
    });
    Ok(Verb::Run {
        workload: workload.to_owned(),
        options: typed.collect(),
        args: RunArgs::from_arg_matches(matches)?,
    })
}

fn no_workload(name: &str) -> Error {
    let listings = syncline_workloads::LISTINGS.iter();
    let names: Vec<_> = listings.map(|listed| listed.name).collect();
    let there_are = names.join(", ");
    let what = format!("there is no workload \"{name}\"; there are: {there_are}\n");
    Error::raw(ErrorKind::InvalidSubcommand, what)
}

/// Capitalizes the first letter, as in all help texts.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
