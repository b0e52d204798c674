//! An observation: the work of a production store by its own counters and the kernel's, and its ratio to the
//! sync line.

use super::grid::{Grid, Side};
use super::prose::{self, fact};
use super::run::{BEST_IN_PARALLEL, ONE_AT_A_TIME};
use crate::bucket_quantile::quantiles;
use crate::conclusion::conclusions;
use syncline_record::units;
use syncline_record::{
    Counted, CounterFigures, ObservationBody, ObservationRecord, ObservedStore, Setting,
};

type Show = fn(f64) -> String;

/// The view of an observation.
pub fn observation(record: &ObservationRecord) -> String {
    let body = &record.body;
    let store = &body.target;
    let mut text = format!(
        "observed {}   {}   {}\n\n",
        store.name, record.identity.started, record.identity.id
    );
    text += &format!("  {}, observed for {}\n", commit_rates(body), units::span_ns(body.span_ns));
    text += &prose::wrap("  ", &sync_line_ratios(record));
    if let Some(why) = &store.disk_drops_syncs {
        text += &prose::wrap(
            "  ",
            &format!(
                "the disk below the log keeps nothing over a power cut, whatever the store syncs: {why}"
            ),
        );
        if let Some(command) = &store.disk_remedy {
            text += &format!("  to change it: {command}\n");
        }
    }
    let conclusions = conclusions(record);
    if !conclusions.is_empty() {
        text += "\n";
        text += &prose::wrap("  ", &conclusions.join(" "));
    }
    text += "\n";
    text += &fact("store", &product(store));
    text += &fact("machine", &body.machine.in_words());
    text += &fact("log directory", &log(record));
    text += &figures(record);
    text += &counters(body);
    text += &settings("Settings", &store.settings);
    match (&store.replication, &store.replication_reason) {
        (Some(replicas), _) if replicas.is_empty() => {
            text += &prose::heading("Replication");
            text += "  no replicas\n";
        }
        (Some(replicas), _) => text += &settings("Replication", replicas),
        (None, why) => {
            text += &prose::heading("Replication");
            let why = why.as_deref().unwrap_or("the store does not report it");
            text += &prose::wrap("  ", &format!("not available: {why}"));
        }
    }
    text
}

/// The rate of commits and, if that includes transactions that only read, the rate of those that wrote.
fn commit_rates(body: &ObservationBody) -> String {
    if body.commits_hold_reads != Some(true) {
        return match body.commits_per_s {
            Some(per_s) => format!("{} commits/s", units::count(per_s)),
            None => "commits/s unknown".to_owned(),
        };
    }
    let count = |per_s| units::or_unknown(per_s, units::count);
    let (all, wrote) = (count(body.commits_per_s), count(writing_commits_per_s(body)));
    format!("{all} commits/s ({wrote} of them writes)")
}

/// Commits per second that may have written; all commits if the record does not distinguish them.
fn writing_commits_per_s(body: &ObservationBody) -> Option<f64> {
    match &body.writing_commits_per_s {
        Some(counted) => counted.value,
        None => body.commits_per_s,
    }
}

fn log(record: &ObservationRecord) -> String {
    let body = &record.body;
    match (&body.target.log_directory, &body.target.log_reason) {
        (Some(directory), _) => {
            let device = body.device.name.as_deref().unwrap_or("no single disk");
            format!("{directory} on {device}")
        }
        (None, why) => format!("none: {}", why.as_deref().unwrap_or("not reported")),
    }
}

/// The ratio of its commits and sync calls to the sync line.
fn sync_line_ratios(record: &ObservationRecord) -> String {
    let body = &record.body;
    let line = &body.sync_line;
    let Some(line_1) = line.line_1.filter(|line| *line > 0.0) else {
        let why = line.reason.as_deref().unwrap_or("it was not probed");
        return format!("cannot be compared with the disk's sync rate: {why}");
    };
    let wrote = match body.commits_hold_reads {
        Some(true) => "commits that wrote",
        _ => "commits",
    };
    let named = |name: &str, line: f64| {
        let share = |rate: f64| units::times(rate / line);
        let commits = units::or_unknown(writing_commits_per_s(body), share);
        let calls = units::or_unknown(body.sync_calls_per_s.value, share);
        format!("{wrote} {commits} {name} ({}), sync calls {calls}", units::rate(line))
    };
    let mut parts = vec![named(ONE_AT_A_TIME, line_1)];
    parts
        .extend(line.line_max.filter(|line| *line > 0.0).map(|line| named(BEST_IN_PARALLEL, line)));
    parts.join("; ")
}

fn figures(record: &ObservationRecord) -> String {
    let body = &record.body;
    let mut grid = Grid::new(&[
        ("Observed", Side::Left),
        ("", Side::Right),
        ("source, or why unknown", Side::Left),
    ]);
    let mut rows: Vec<(&str, &Counted, Show)> = Vec::new();
    let wrote = body.writing_commits_per_s.as_ref();
    rows.extend(wrote.map(|wrote| ("commits that wrote", wrote, units::rate as Show)));
    rows.extend::<[(&str, &Counted, Show); 6]>([
        ("commits per sync", &body.commits_per_sync, units::figure),
        ("commits per sync call", &body.commits_per_sync_call, units::figure),
        ("sync calls", &body.sync_calls_per_s, units::rate),
        ("device flushes", &body.flushes_per_s, units::rate),
        ("log bytes per commit", &body.log_bytes_per_commit, units::size),
        ("time per sync", &body.sync_ns, units::span),
    ]);
    for (name, counted, show) in rows {
        let value = units::or_unknown(counted.value, show);
        grid.row(vec![format!("  {name}"), value, counted.source.clone()]);
    }
    format!("\n{}", grid.render_wrapped())
}

/// Counters over the span, each with its rate, or why there is none.
fn counters(body: &ObservationBody) -> String {
    let (counters, span_ns) = (&body.counters, body.span_ns);
    if counters.is_empty() {
        return String::new();
    }
    let mut grid = Grid::new(&[
        ("The store's own counters", Side::Left),
        ("increase", Side::Right),
        ("per second", Side::Right),
        ("", Side::Left),
    ]);
    let seconds = (span_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    // The record also has how each was read, and the store's other counters.
    for counter in counters.iter().filter(|counter| counter.meaning != "other") {
        let show = unit_format(&counter.unit);
        let grown = counter.grown.map(|grown| grown as f64);
        let meaning = counter.meaning.replace('_', " ");
        grid.row(vec![
            format!("  {meaning} ({})", counter.name),
            units::or_unknown(grown, show),
            units::or_unknown(grown.map(|grown| grown / seconds), show),
            match counter.meaning.as_str() {
                "commits" if counter.grown.is_some() && body.own_commits > 0 => {
                    format!("{} of them by this observation", body.own_commits)
                }
                _ => missing_reason(counter),
            },
        ]);
    }
    for one in quantiles(counters) {
        let at_most = units::or_unknown(one.at_most_ns, units::span);
        let name = format!("  99 % within ({})", one.name);
        grid.row(vec![name, at_most, String::new(), one.note]);
    }
    format!("\n{}", grid.render_wrapped())
}

/// Why the growth of a counter is not known; empty if it is.
pub(super) fn missing_reason(counter: &CounterFigures) -> String {
    let why = counter.reason.as_ref();
    why.map_or_else(String::new, |why| format!("not available: {why}"))
}

/// How values of a unit are shown.
pub(crate) fn unit_format(unit: &str) -> fn(f64) -> String {
    match unit {
        "bytes" => units::size,
        "ns" => units::span,
        _ => units::figure,
    }
}

/// The product with its version, named once and without the compiler that built it.
fn product(store: &ObservedStore) -> String {
    let Some(version) = &store.version else {
        return format!("{}, version withheld", store.product);
    };
    let rest = version.strip_prefix(store.product.as_str());
    let version = rest.unwrap_or(version).trim_start();
    let version = version.split(" on ").next().unwrap_or(version);
    format!("{} {version}", store.product)
}

/// "16384 8kB" as "16384 x 8 kB = 128 MiB", "4096 kB" as "4096 kB = 4 MiB"; other values as they are.
pub(crate) fn with_units(value: &str) -> String {
    let in_blocks = || {
        let (count, unit) = value.split_once(' ')?;
        let count: u64 = count.parse().ok().filter(|count| *count > 0)?;
        let digits = unit.len()
            - unit.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        let (each, unit) = unit.split_at(digits);
        let bytes: u64 = match unit {
            "B" => 1,
            "kB" => 1 << 10,
            "MB" => 1 << 20,
            _ => return None,
        };
        let block: u64 = if each.is_empty() { 1 } else { each.parse().ok()? };
        let all = units::size(count.checked_mul(block)?.checked_mul(bytes)? as f64);
        Some(if each.is_empty() {
            format!("{count} {unit} = {all}")
        } else {
            format!("{count} x {each} {unit} = {all}")
        })
    };
    in_blocks().unwrap_or_else(|| value.to_owned())
}

fn settings(heading: &str, settings: &[Setting]) -> String {
    let mut text = String::new();
    if !settings.is_empty() {
        text += &prose::heading(heading);
        for setting in settings {
            let value = with_units(&setting.value);
            let line = format!("{} = {value} ({})", setting.name, setting.said_by);
            text += &prose::wrap("  ", &line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::with_units;

    // 2.2 of the users' page: "shared_buffers = 16384 8kB"
    #[test]
    fn settings_in_blocks_are_printed_with_their_size() {
        for (value, text) in [
            ("16384 8kB", "16384 x 8 kB = 128 MiB"),
            ("4096 kB", "4096 kB = 4 MiB"),
            ("64 MB", "64 MB = 64 MiB"),
            ("200 ms", "200 ms"),
            ("-1 8kB", "-1 8kB"),
            ("0 8kB", "0 8kB"),
            ("on", "on"),
        ] {
            assert_eq!(with_units(value), text);
        }
    }
}
