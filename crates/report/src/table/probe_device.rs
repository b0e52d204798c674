//! The layers under a directory, each fact with its source.

use super::grid::{Grid, Side};
use super::prose;
use syncline_record::units;
use syncline_record::{Fact, Layer, ProbeRecord};

/// The device part of a probe's view.
pub(super) fn device(record: &ProbeRecord) -> String {
    let device = &record.body.device;
    let mut grid = Grid::new(&[("Device", Side::Left), ("", Side::Left), ("source", Side::Left)]);
    // The file system's own layer may repeat the facts of the mount.
    if device.layers.iter().all(|layer| layer.facts != device.mount) {
        device.mount.iter().for_each(|fact| row(&mut grid, "", fact));
    }
    for layer in &device.layers {
        let indent = "  ".repeat(usize::try_from(layer.depth).unwrap_or(0).min(8));
        let name = format!("{indent}{} ({})", layer.name, layer.kind);
        grid.row(vec![name, standing(layer), String::new()]);
        for fact in &layer.facts {
            row(&mut grid, &format!("{indent}  "), fact);
        }
    }
    device.environment.iter().for_each(|fact| row(&mut grid, "", fact));
    let mut text =
        if grid.is_empty() { String::new() } else { format!("\n{}", grid.render_wrapped()) };
    for sentence in &device.sentences {
        text += &prose::wrap("  note: ", sentence);
    }
    for remedy in device.layers.iter().filter_map(|layer| layer.remedy.as_ref()) {
        text += &format!("  to change it: {remedy}\n");
    }
    if let Some(command) = &device.cache_off_command {
        text += &format!("  to turn the write cache off: {command}\n");
    }
    text
}

fn row(grid: &mut Grid, indent: &str, fact: &Fact) {
    let value = units::or_unknown(fact.value.clone(), |value| value);
    grid.row(vec![format!("{indent}{}", fact.name), value, short_source(&fact.said_by)]);
}

/// The kernel's short path of a disk's directory: `/sys/block/vda` is a link to the long path over the bus.
pub(crate) fn short_source(said_by: &str) -> String {
    match (said_by.starts_with("/sys/devices/"), said_by.split_once("/block/")) {
        (true, Some((_, rest))) => format!("/sys/block/{rest}"),
        _ => said_by.to_owned(),
    }
}

fn standing(layer: &Layer) -> String {
    match (layer.standing.as_str(), &layer.standing_reason) {
        ("passes on", _) => "passes syncs on".to_owned(),
        ("breaks", Some(reason)) => format!("breaks syncs: {reason}"),
        (_, Some(reason)) => format!("what it does with a sync is not known: {reason}"),
        (_, None) => "what it does with a sync is not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::short_source;

    #[test]
    fn sysfs_is_named_by_its_short_path() {
        let long = "/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda/queue/fua";
        assert_eq!(short_source(long), "/sys/block/vda/queue/fua");
        assert_eq!(short_source("/proc/cpuinfo"), "/proc/cpuinfo");
    }
}
