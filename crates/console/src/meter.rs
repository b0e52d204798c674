//! `--meter` and what belongs to it, for every verb that runs a load.

use crate::CannotRun;
use crate::value;
use clap::Args;
use std::path::{Path, PathBuf};
use syncline_contract::read_named_text;
use syncline_profile::Map;
use syncline_runner::ProfilerOptions;

/// The most bytes of a file with a map.
const MAP_MAX: u64 = 16 << 20;

/// The sampling frequency where no other is given.
const LOOKS: usize = 99;

/// Whether a run is looked into, how closely, and by which map.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct MeterArgs {
    /// Profile the store: the cost of a transaction by module
    #[arg(long)]
    pub meter: bool,

    /// Sampling frequency per CPU (Hz), with --meter
    #[arg(long = "sampling-hz", alias = "looks", value_name = "N", value_parser = value::looks, default_value_t = LOOKS, requires = "meter")]
    pub looks: usize,

    /// A map from the store's code to modules, instead of the built-in one
    #[arg(long, value_name = "FILE", requires = "meter")]
    pub map: Option<PathBuf>,
}

impl Default for MeterArgs {
    /// Not looked into.
    fn default() -> MeterArgs {
        MeterArgs { meter: false, looks: LOOKS, map: None }
    }
}

impl MeterArgs {
    /// How closely a run is looked into; none if it is not.
    pub fn options(&self) -> Option<ProfilerOptions> {
        self.meter
            .then(|| ProfilerOptions { looks_per_s: u32::try_from(self.looks).unwrap_or(u32::MAX) })
    }

    /// The map that was named, in place of the one of the product.
    pub fn read_map(&self) -> Result<Option<Map>, CannotRun> {
        self.map.as_deref().map(read_map).transpose()
    }
}

/// A map in a file of its own.
pub fn read_map(path: &Path) -> Result<Map, CannotRun> {
    let text = read_named_text(path, MAP_MAX)
        .map_err(|error| CannotRun(format!("cannot read the map {}: {error}", path.display())))?;
    Map::parse(&text, &path.display().to_string()).map_err(CannotRun::because)
}

/// The same flags as they were typed, where what was not typed comes from elsewhere or is settled later.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MeterTyped {
    /// Profile the store, even if the run of the record was not profiled
    #[arg(long)]
    pub meter: bool,

    /// Sampling frequency per CPU (Hz) [default: as in the record, or 99]
    #[arg(long = "sampling-hz", alias = "looks", value_name = "N", value_parser = value::looks)]
    pub looks: Option<usize>,

    /// A map from the store's code to modules, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
}

impl MeterTyped {
    /// Takes the value of `--sampling-hz`.
    pub fn looks(&mut self, typed: &str) -> Result<(), String> {
        let looks = value::looks(typed).map_err(|why| format!("--sampling-hz {typed}: {why}"))?;
        self.looks = Some(looks);
        Ok(())
    }

    /// With what was not typed: `before` are the looks a second of an earlier run, if there is one and it
    /// was looked into. What makes no sense without `--meter` is refused.
    pub fn settled(&self, before: Option<usize>) -> Result<MeterArgs, String> {
        let meter = self.meter || before.is_some();
        let rest = [("--map", self.map.is_some()), ("--sampling-hz", self.looks.is_some())];
        match rest.iter().find(|(_, typed)| *typed) {
            Some((flag, _)) if !meter => Err(format!("{flag} requires --meter")),
            _ => Ok(MeterArgs {
                meter,
                looks: self.looks.or(before).unwrap_or(LOOKS),
                map: self.map.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LOOKS, MeterTyped};

    #[test]
    fn what_was_typed_outweighs_an_earlier_run_and_asks_for_the_meter() {
        let nothing = MeterTyped::default();
        assert!(!nothing.settled(None).unwrap().meter);
        let again = nothing.settled(Some(500)).unwrap();
        assert_eq!((again.meter, again.looks), (true, 500));
        let mut closer = MeterTyped::default();
        closer.looks("997").unwrap();
        assert_eq!(closer.settled(Some(500)).unwrap().looks, 997);
        assert!(closer.settled(None).unwrap_err().contains("--sampling-hz"));
        closer.meter = true;
        assert_eq!(closer.settled(None).unwrap().looks, 997);
        closer.looks = None;
        assert_eq!(closer.settled(None).unwrap().looks, LOOKS);
        assert!(closer.looks("0").unwrap_err().contains("--sampling-hz 0"));
    }
}
