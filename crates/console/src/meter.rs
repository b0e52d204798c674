//! `--meter` and its companion options, for every command that runs a load.

use crate::CannotRun;
use crate::value;
use clap::Args;
use std::path::{Path, PathBuf};
use syncline_contract::read_named_text;
use syncline_profile::Map;
use syncline_runner::ProfilerOptions;

/// The maximum size of a map file, in bytes.
const MAP_MAX: u64 = 16 << 20;

/// The default sampling frequency.
const DEFAULT_SAMPLING_HZ: usize = 99;

/// Whether a run is profiled, at which frequency, and with which map.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct MeterArgs {
    /// Profile the store: the cost of a transaction by module
    #[arg(long)]
    pub meter: bool,

    /// Sampling frequency per CPU (Hz), with --meter
    #[arg(long = "sampling-hz", alias = "looks", value_name = "N", value_parser = value::sampling_hz, default_value_t = DEFAULT_SAMPLING_HZ, requires = "meter")]
    pub sampling_hz: usize,

    /// A map from the store's code to modules, instead of the built-in one
    #[arg(long, value_name = "FILE", requires = "meter")]
    pub map: Option<PathBuf>,
}

impl Default for MeterArgs {
    /// Without profiling.
    fn default() -> MeterArgs {
        MeterArgs { meter: false, sampling_hz: DEFAULT_SAMPLING_HZ, map: None }
    }
}

impl MeterArgs {
    /// The profiler's options; none if the run is not profiled.
    pub fn options(&self) -> Option<ProfilerOptions> {
        self.meter.then(|| ProfilerOptions {
            samples_per_s: u32::try_from(self.sampling_hz).unwrap_or(u32::MAX),
        })
    }

    /// The map given by `--map`; none if the product's built-in map applies.
    pub fn read_map(&self) -> Result<Option<Map>, CannotRun> {
        self.map.as_deref().map(read_map).transpose()
    }
}

/// Reads a map from a file.
pub fn read_map(path: &Path) -> Result<Map, CannotRun> {
    let text = read_named_text(path, MAP_MAX)
        .map_err(|error| CannotRun(format!("cannot read the map {}: {error}", path.display())))?;
    Map::parse(&text, &path.display().to_string()).map_err(CannotRun::because)
}

/// The same options as typed; defaults come from an earlier run or from [`MeterTyped::with_defaults`].
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MeterTyped {
    /// Profile the store, even if the run of the record was not profiled
    #[arg(long)]
    pub meter: bool,

    /// Sampling frequency per CPU (Hz) [default: as in the record, or 99]
    #[arg(long = "sampling-hz", alias = "looks", value_name = "N", value_parser = value::sampling_hz)]
    pub sampling_hz: Option<usize>,

    /// A map from the store's code to modules, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
}

impl MeterTyped {
    /// Parses the value of `--sampling-hz`.
    pub fn set_sampling_hz(&mut self, typed: &str) -> Result<(), String> {
        let sampling_hz =
            value::sampling_hz(typed).map_err(|why| format!("--sampling-hz {typed}: {why}"))?;
        self.sampling_hz = Some(sampling_hz);
        Ok(())
    }

    /// Fills in the options that were not typed: `before` is the sampling frequency of an earlier run, if
    /// there is one and it was profiled. Options that require `--meter` are refused without it.
    pub fn with_defaults(&self, before: Option<usize>) -> Result<MeterArgs, String> {
        let meter = self.meter || before.is_some();
        let rest = [("--map", self.map.is_some()), ("--sampling-hz", self.sampling_hz.is_some())];
        match rest.iter().find(|(_, typed)| *typed) {
            Some((flag, _)) if !meter => Err(format!("{flag} requires --meter")),
            _ => Ok(MeterArgs {
                meter,
                sampling_hz: self.sampling_hz.or(before).unwrap_or(DEFAULT_SAMPLING_HZ),
                map: self.map.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_SAMPLING_HZ, MeterTyped};

    #[test]
    fn typed_options_override_those_of_an_earlier_run() {
        let nothing = MeterTyped::default();
        assert!(!nothing.with_defaults(None).unwrap().meter);
        let again = nothing.with_defaults(Some(500)).unwrap();
        assert_eq!((again.meter, again.sampling_hz), (true, 500));
        let mut closer = MeterTyped::default();
        closer.set_sampling_hz("997").unwrap();
        assert_eq!(closer.with_defaults(Some(500)).unwrap().sampling_hz, 997);
        assert!(closer.with_defaults(None).unwrap_err().contains("--sampling-hz"));
        closer.meter = true;
        assert_eq!(closer.with_defaults(None).unwrap().sampling_hz, 997);
        closer.sampling_hz = None;
        assert_eq!(closer.with_defaults(None).unwrap().sampling_hz, DEFAULT_SAMPLING_HZ);
        assert!(closer.set_sampling_hz("0").unwrap_err().contains("--sampling-hz 0"));
    }
}
