//! The cells and headings of a sheet as text.

use super::sheet::{Figure, Heading, KERNEL, USER};
use syncline_profile::View;
use syncline_record::units;

/// The title of a column.
pub(crate) fn title(heading: Heading) -> &'static str {
    match heading {
        Heading::Metric(name) => match name {
            "cpu_user" => "user",
            "cpu_kernel" => "kernel",
            "off_cpu" => "off CPU",
            "system_calls" => "calls",
            "sync_calls" => "syncs",
            "voluntary_switches" => "voluntary",
            "involuntary_switches" => "involuntary",
            "sync_writes" => "sync writes",
            "async_writes" => "async writes",
            "written_bytes" => "written",
            "flushes" => "flushes",
            "allocated_bytes" => "allocated",
            "allocated_objects" => "objects",
            "contentions" => "contended",
            "contention_wait" => "waited, us",
            "sleeps" => "sleeps",
            other => other,
        },
        Heading::Cpu => "CPU",
        Heading::CpuShare => "CPU %",
        Heading::CpuRange => "95 %",
        Heading::Share(USER) => "user %",
        Heading::Share(KERNEL) => "kernel %",
        Heading::Share(_) => "tag %",
        Heading::WallShare => "wall %",
        Heading::Samples => "samples",
    }
}

/// A cell: times in microseconds, shares in percent, "-" if there is no figure.
pub(crate) fn cell_text(figure: &Figure) -> String {
    let percent = |share: f64| units::percent(share).replace(" %", "");
    match figure {
        Figure::Time(ns) => units::figure(ns / 1e3),
        Figure::Count(count) => units::figure(*count),
        Figure::Bytes(bytes) => units::size(*bytes),
        Figure::Share(share) => percent(*share),
        Figure::Between(least, most) => format!("{:.1}..{:.1}", least * 100.0, most * 100.0),
        Figure::Samples(samples) => units::count(*samples as f64),
        Figure::LeftOut => "left out".to_owned(),
        Figure::None => "-".to_owned(),
    }
}

/// The module to which a stack of several modules is charged.
pub(crate) fn charging_in_words(view: View) -> &'static str {
    match view {
        View::Innermost => "to the module that spent it (self time)",
        View::OnBehalfOf => "to the calling module",
    }
}
