//! What `--meter` asks of a run, for every verb that runs a load.

use crate::args::MeterArgs;
use crate::exit::CannotRun;
use std::path::Path;
use syncline_contract::read_named_text;
use syncline_profile::Map;
use syncline_runner::ProfilerOptions;

/// The most bytes of a file with a map.
const MAP_MAX: u64 = 16 << 20;

/// How closely a run is looked into; none if it is not.
pub(crate) fn options(args: &MeterArgs) -> Option<ProfilerOptions> {
    args.meter
        .then(|| ProfilerOptions { looks_per_s: u32::try_from(args.looks).unwrap_or(u32::MAX) })
}

/// The map that was named, in place of the one of the product.
pub(crate) fn map(args: &MeterArgs) -> Result<Option<Map>, CannotRun> {
    args.map.as_deref().map(read).transpose()
}

/// A map in a file of its own.
pub(crate) fn read(path: &Path) -> Result<Map, CannotRun> {
    let text = read_named_text(path, MAP_MAX)
        .map_err(|error| CannotRun(format!("cannot read the map {}: {error}", path.display())))?;
    Map::parse(&text, &path.display().to_string()).map_err(CannotRun::because)
}
