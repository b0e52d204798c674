//! `--meter` and what belongs to it, for every verb that runs a load.

use super::value;
use clap::Args;
use std::path::PathBuf;

/// The sampling frequency where no other is given.
const LOOKS: usize = 99;

/// Whether a run is looked into, how closely, and by which map.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(crate) struct MeterArgs {
    /// Profile the store: the cost of a transaction by module
    #[arg(long)]
    pub(crate) meter: bool,

    /// Sampling frequency per CPU (Hz), with --meter
    #[arg(long = "sampling-hz", alias = "looks", value_name = "N", value_parser = value::looks, default_value_t = LOOKS, requires = "meter")]
    pub(crate) looks: usize,

    /// A map from the store's code to modules, instead of the built-in one
    #[arg(long, value_name = "FILE", requires = "meter")]
    pub(crate) map: Option<PathBuf>,
}

impl Default for MeterArgs {
    /// Not looked into.
    fn default() -> MeterArgs {
        MeterArgs { meter: false, looks: LOOKS, map: None }
    }
}

/// The same flags as they were typed, where what was not typed comes from elsewhere or is settled later.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MeterTyped {
    /// Profile the store, even if the run of the record was not profiled
    #[arg(long)]
    pub(crate) meter: bool,

    /// Sampling frequency per CPU (Hz) [default: as in the record, or 99]
    #[arg(long = "sampling-hz", alias = "looks", value_name = "N", value_parser = value::looks)]
    pub(crate) looks: Option<usize>,

    /// A map from the store's code to modules, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
}

impl MeterTyped {
    /// Takes the value of `--sampling-hz`.
    pub(crate) fn looks(&mut self, typed: &str) -> Result<(), String> {
        let looks = value::looks(typed).map_err(|why| format!("--sampling-hz {typed}: {why}"))?;
        self.looks = Some(looks);
        Ok(())
    }

    /// With what was not typed: `before` are the looks a second of an earlier run, if there is one and it
    /// was looked into. What makes no sense without `--meter` is refused.
    pub(crate) fn settled(&self, before: Option<usize>) -> Result<MeterArgs, String> {
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
