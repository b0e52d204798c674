//! `--dry-run`: prints what a run would do, without doing it.
//!
//! Nothing is opened, connected or written, so only a real run shows whether a server would admit it.

use super::run_matrix::Choice;
use crate::registry::TargetRegistry;
use syncline_console::{CannotRun, LineArg, Outcome, Verdict, terminal};
use syncline_contract::{DryRunPlan, Plan, Rows, Target, Value, Workload};
use syncline_record::units::{self, plural};
use syncline_stores::launch_spec;
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;

/// Units of a load that are generated to estimate its size.
const SAMPLE: u64 = 200;

/// Prints, for each target and choice, what a run would do.
pub(super) fn dry_run<S: TargetRegistry>(
    choices: &[Choice],
    urls: &[String],
    line: &LineArg,
    registry: &S,
) -> Outcome {
    for choice in choices {
        for url in urls {
            let text = one(choice, url, registry)?;
            terminal::print(&text)?;
        }
    }
    let line = match line {
        LineArg::Brief => {
            "the sync line of each log directory would be measured before and after, which writes there\n"
        }
        _ => "",
    };
    terminal::print(line)?;
    terminal::note("dry run: nothing was changed");
    Ok(Verdict::Holds)
}

/// Prints what a compatibility command would do on a target.
pub(super) fn compat_dry_run<S: TargetRegistry>(
    workload: &AnyWorkload,
    clients: usize,
    url: &str,
    registry: &S,
) -> Outcome {
    terminal::print(&of(workload, clients, url, registry)?)?;
    terminal::note("dry run: nothing was changed");
    Ok(Verdict::Holds)
}

fn one<S: TargetRegistry>(choice: &Choice, url: &str, registry: &S) -> Result<String, CannotRun> {
    of(choice.workload(), choice.clients(), url, registry)
}

fn of<S: TargetRegistry>(
    workload: &AnyWorkload,
    clients: usize,
    url: &str,
    registry: &S,
) -> Result<String, CannotRun> {
    let mut text = format!(
        "{} on {}, {}\n",
        workload.name(),
        redacted_url(url),
        plural(clients as u64, "client")
    );
    let target = match launch_spec(url) {
        Some(wanted) => {
            text += "  a temporary server would be started and removed afterwards; it would hold nothing else\n";
            registry.open(&wanted?.placeholder_url())?
        }
        None => registry.open(url)?,
    };
    let plan = target.dry_run(workload.plan(), clients)?;
    text += &plan_text(&plan);
    text += &loads(workload);
    text.push('\n');
    Ok(text)
}

fn plan_text(plan: &DryRunPlan) -> String {
    let mut text = String::new();
    let mut part = |heading: &str, lines: &[String]| {
        if !lines.is_empty() {
            text += &format!("  {heading}\n");
            for line in lines {
                text += &format!("    {}\n", line.replace('\n', "\n    "));
            }
        }
    };
    part("would create", &plan.makes);
    part("would set on its own sessions", &plan.settings);
    part("around each transaction", &plan.transactions);
    for operation in &plan.operations {
        part(&format!("operation {}", operation.name), &operation.statements);
    }
    part("would remove afterwards", &plan.removes);
    if let Some(connections) = plan.connections {
        text += &format!("  would open {connections} connections\n");
    }
    if *plan == DryRunPlan::default() {
        text += "  the store is called in this process, without statements\n";
    }
    text
}

/// What would be loaded, extrapolated from sample units of each table.
fn loads(workload: &AnyWorkload) -> String {
    let plan = workload.plan();
    let mut text = String::new();
    for load in workload.loads().iter().filter(|load| load.units > 0) {
        let (rows, bytes) = sampled(workload, plan, load);
        text += &format!(
            "  would load about {rows} rows of {}, {} of values\n",
            plan.tables()[load.table.0].name,
            units::size(bytes)
        );
    }
    if text.is_empty() {
        text += "  would load no rows\n";
    }
    text
}

fn sampled(workload: &AnyWorkload, plan: &Plan, load: &syncline_contract::Load) -> (u64, f64) {
    let width = plan.tables()[load.table.0].inserted().len();
    let mut batch = Rows::new(width);
    batch.reset(width);
    let sample = load.units.min(SAMPLE);
    // Spread over the whole load, since later units may be longer.
    for number in 0..sample {
        workload.load_unit(load.table, number * load.units / sample, &mut batch);
    }
    let bytes: usize =
        batch.iter().map(|row| row.values().map(|value| bytes_of(&value)).sum::<usize>()).sum();
    let scale = load.units as f64 / sample as f64;
    ((batch.len() as f64 * scale) as u64, bytes as f64 * scale)
}

fn bytes_of(value: &Value<'_>) -> usize {
    match value {
        Value::Null => 0,
        Value::Int(_) | Value::Float(_) | Value::Timestamp(_) | Value::Decimal(_) => 8,
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    }
}
