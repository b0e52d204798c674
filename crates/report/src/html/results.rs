//! The page of a folder of records from many machines: what each disk does, and what stores did on it.
//!
//! 1. A row is one record, and its cells are the record's; nothing is averaged over machines.
//! 2. Rows with the most syncs per second come first, and disks that do not keep what they sync last.
//! 3. The records are files next to the page, and not in it.

use super::page;
use maud::{Markup, html};
use std::cmp::Ordering;
use syncline_record::units::{self, plural};
use syncline_record::{ProbeRecord, Record, RunRecord};

/// The page of the records of a folder, by their file names.
pub fn results(records: &[(String, Record)]) -> String {
    let of = |(file, record): &(String, Record)| Some((file.clone(), record.as_probe()?.clone()));
    let mut probes: Vec<(String, ProbeRecord)> = records.iter().filter_map(of).collect();
    probes.sort_by(|(_, one), (_, other)| {
        let loses =
            |probe: &ProbeRecord| probe.verdict().is_some_and(|one| one.word == "not durable");
        loses(one)
            .cmp(&loses(other))
            .then(by_rate(one.body.sync_line.line_1, other.body.sync_line.line_1))
    });
    let of = |(file, record): &(String, Record)| Some((file.clone(), record.as_run()?.clone()));
    let mut runs: Vec<(String, RunRecord)> = records.iter().filter_map(of).collect();
    runs.sort_by(|(_, one), (_, other)| {
        let setting = |run: &RunRecord| (run.head.workload.name.clone(), run.head.plan.clients);
        setting(one)
            .cmp(&setting(other))
            .then(by_rate(Some(one.end.throughput_per_s), Some(other.end.throughput_per_s)))
    });
    let body = html! {
        @if probes.is_empty() && runs.is_empty() { p { "No records." } }
        @if !probes.is_empty() { h2 { "Disks" } (disks(&probes)) }
        @if !runs.is_empty() { h2 { "Stores" } (stores(&runs)) }
    };
    let title = format!("Syncline: results of {}", plural(records.len() as u64, "record"));
    page::document(
        &title,
        &[],
        &body,
        "Each row is one measurement of one machine at one time, whose record is linked. Rates of different \
         machines, and of one cloud volume at two times, differ by factors.",
    )
}

/// The higher rate first, an unknown one last.
fn by_rate(one: Option<f64>, other: Option<f64>) -> Ordering {
    other.unwrap_or(-1.0).total_cmp(&one.unwrap_or(-1.0))
}

fn disks(probes: &[(String, ProbeRecord)]) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th.text { "disk" } th.text { "machine" } th { "syncs, 1 at a time" } th { "best in parallel" }
                th { "p50" } th { "p99" } th.text { "synced data" } th.text { "fit for" } th.text { "record" }
            } }
            tbody { @for (file, probe) in probes { (disk(file, probe)) } }
        } }
    }
}

fn disk(file: &str, probe: &ProbeRecord) -> Markup {
    let line = &probe.body.sync_line;
    let times = line.latency_ns;
    let time = |ns: Option<u64>| units::or_unknown(ns, units::span_ns);
    html! { tr {
        td.text { (disk_name(probe)) }
        td.text { (probe.body.machine.in_words()) }
        td { b { (units::or_unknown(line.line_1, units::rate)) } }
        td { (units::or_unknown(line.line_max, units::rate)) }
        td { (time(times.map(|times| times.p50))) }
        td { (time(times.map(|times| times.p99))) }
        td.text { (units::or_unknown(probe.verdict(), |verdict| verdict.word.clone())) }
        td.text { (verdicts(probe)) }
        (link(file, probe.identity.started.as_str()))
    } }
}

/// The model, the volatile cache and the file system.
fn disk_name(probe: &ProbeRecord) -> String {
    let device = &probe.body.device;
    let mut words = vec![match &device.model {
        Some(model) => model.clone(),
        None if device.disks.is_empty() => "no disk of its own".to_owned(),
        None => device.disks.join(", "),
    }];
    words.extend(device.file_system.clone());
    words.push(format!("cache {}", device.write_cache));
    words.join(", ")
}

/// Products by the word of the verdict on each.
fn verdicts(probe: &ProbeRecord) -> Markup {
    let with = |word: &str| {
        let products = probe.body.fitness.iter().filter(|fitness| fitness.word == word);
        products.map(|fitness| fitness.product.clone()).collect::<Vec<_>>().join(", ")
    };
    let parts = ["fit", "unfit", "not known"].map(|word| (word, with(word)));
    html! {
        @if probe.body.fitness.is_empty() { "not asked" }
        @for (word, products) in parts.iter().filter(|(_, products)| !products.is_empty()) {
            div { b { (word) } ": " (products) }
        }
    }
}

fn stores(runs: &[(String, RunRecord)]) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th.text { "workload" } th { "clients" } th.text { "store" } th.text { "durability" }
                th { "commits/s" } th { "p99" } th { "syncs per commit" } th { "disk syncs, 1 at a time" }
                th.text { "machine" } th.text { "record" }
            } }
            tbody { @for (file, run) in runs { (store(file, run)) } }
        } }
    }
}

fn store(file: &str, run: &RunRecord) -> Markup {
    let target = &run.head.target;
    let version = target.version.as_deref().unwrap_or("");
    let p99 = run.service_ns().map(|times| times.p99);
    html! { tr {
        td.text { (run.head.workload.name) }
        td { (run.head.plan.clients) }
        td.text { (target.name) " " (version) }
        td.text.evidence { (target.durability_with_evidence()) }
        td { b { (units::rate(run.end.throughput_per_s)) } }
        td { (units::or_unknown(p99, units::span_ns)) }
        td { (units::or_unknown(run.end.per_commit.syncs.value, units::figure)) }
        td { (units::or_unknown(run.end.sync_line.line_1, units::rate)) }
        td.text { (run.head.machine.in_words()) }
        (link(file, run.identity.started.as_str()))
    } }
}

/// The cell with the day of a record, which links to its file.
fn link(file: &str, started: &str) -> Markup {
    let day = started.split('T').next().unwrap_or(started);
    html! { td.text { a href=(percent_encoded(file)) { (day) } } }
}

/// A file name as a relative address.
fn percent_encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded = name.bytes().map(|byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::percent_encoded;

    #[test]
    fn a_file_name_is_one_relative_address() {
        assert_eq!(percent_encoded("2026-11-20T0915Z-a.jsonl"), "2026-11-20T0915Z-a.jsonl");
        assert_eq!(percent_encoded("a b/#é.jsonl"), "a%20b%2F%23%C3%A9.jsonl");
    }
}
