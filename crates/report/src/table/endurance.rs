//! The time that a drive's rated endurance lasts at a rate, as a sentence.

use crate::Rating;
use syncline_record::units;
use syncline_record::{ProbeRecord, RunRecord};

/// The time for continuous commits at the rate of a run.
pub fn endurance_of_run(rating: Rating, run: &RunRecord) -> String {
    let bytes = &run.end.per_commit.device_bytes;
    let what = format!("commits at {}", units::rate(run.end.throughput_per_s));
    sentence(rating, bytes.value, &bytes.source, Some(run.end.throughput_per_s), &what)
}

/// The time for continuous syncs at `line_1`.
pub fn endurance_of_line(rating: Rating, probe: &ProbeRecord) -> String {
    let line = &probe.body.sync_line;
    let cell = line.method.as_deref().zip(line.write_bytes).zip(line.file_state.as_deref());
    let cell = cell.and_then(|((method, bytes), state)| probe.cell(method, bytes, state, 1));
    let (value, source) =
        cell.map_or((None, "the cell of the sync rate was not measured"), |(_, figures)| {
            (figures.device_bytes_per_sync.value, figures.device_bytes_per_sync.source.as_str())
        });
    let what = format!("syncs one at a time, {}", units::or_unknown(line.line_1, units::rate));
    sentence(rating, value, source, line.line_1, &what)
}

fn sentence(
    rating: Rating,
    bytes: Option<f64>,
    source: &str,
    per_s: Option<f64>,
    what: &str,
) -> String {
    let years = bytes.zip(per_s).and_then(|(bytes, per_s)| rating.years(bytes, per_s));
    match (years, bytes) {
        (Some(years), Some(bytes)) => format!(
            "{:.0} TB of rated endurance last {} of {what} day and night, {} of device writes each",
            rating.bytes / 1e12,
            duration(years),
            units::size(bytes)
        ),
        (None, Some(_)) => {
            format!("no lifetime can be given: {what} wrote nothing to the device")
        }
        (_, None) => format!("how long the endurance lasts is unknown: {source}"),
    }
}

fn duration(years: f64) -> String {
    let days = years * 365.25;
    if days < 90.0 {
        format!("{} days", units::figure(days))
    } else {
        format!("{} years", units::figure(years))
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, sentence};
    use crate::Rating;

    #[test]
    fn years_days_and_the_unknown() {
        let rating = Rating::parse("600TB").unwrap();
        let text = sentence(rating, Some(4_096.0), "disk", Some(10_000.0), "commits at 10.0k/s");
        assert_eq!(
            text,
            "600 TB of rated endurance last 0.464 years of commits at 10.0k/s day and night, 4 KiB of \
             device writes each"
        );
        assert!(
            sentence(rating, None, "two disks", None, "commits").ends_with("unknown: two disks")
        );
        assert!(
            sentence(rating, Some(0.0), "disk", Some(1.0), "commits").starts_with("no lifetime")
        );
        assert_eq!(duration(0.1), "36.5 days");
    }
}
