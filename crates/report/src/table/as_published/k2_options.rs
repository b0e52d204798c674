//! Finds the published K2 mix that a run used.

use super::k2::REQUIREMENTS;
use crate::Result;
use crate::published::{K2Load, K2Mix, k2};
use std::collections::BTreeMap;
use syncline_record::{Record, RunRecord};

type Options = BTreeMap<String, String>;

/// The run and its published mix; an error if it has none.
pub(super) fn published_mix(record: &Record) -> Result<(&'static K2Mix, &RunRecord)> {
    let run = record.as_run().ok_or_else(|| REQUIREMENTS.refuse(record))?;
    let (name, options) = (&run.head.workload.name, &run.head.workload.options);
    let requested = match name.as_str() {
        "tpcc" => tpcc_mix(options),
        "ycsb" => ycsb_mix(options),
        _ => return Err(REQUIREMENTS.refuse(record)),
    };
    let found =
        requested.and_then(|requested| k2().mixes.iter().find(|mix| fits(&requested, &mix.load)));
    let is = || format!("a run of {name} with a mix that K2 did not publish");
    let mix = found.ok_or_else(|| REQUIREMENTS.refuse_as(record, is()))?;
    Ok((mix, run))
}

/// The requested weights, in the order of [`K2Load`], and the distribution of keys.
struct RequestedMix {
    weights: Vec<f64>,
    distribution: Option<String>,
}

/// The mix of a run of tpcc, whose five weights are in the order of its profile.
fn tpcc_mix(options: &Options) -> Option<RequestedMix> {
    let given: Option<Vec<f64>> =
        options.get("weights")?.split(',').map(|word| word.trim().parse().ok()).collect();
    let given: [f64; 5] = given?.try_into().ok()?;
    let weights = if options.get("profile").is_some_and(|word| word == "k2") {
        given
    } else {
        let [new_order, payment, order_status, delivery, stock_level] = given;
        [payment, order_status, delivery, new_order, stock_level]
    };
    Some(RequestedMix { weights: weights.to_vec(), distribution: None })
}

/// The mix of a run of ycsb; `None` with other operations than reads and updates, or several per transaction.
fn ycsb_mix(options: &Options) -> Option<RequestedMix> {
    let weight = |name: &str| -> Option<f64> {
        options.get(name).map_or(Some(0.0), |word| word.parse().ok())
    };
    let others = ["insert", "scan", "read_modify_write", "delete"];
    for other in others {
        if weight(other)? > 0.0 {
            return None;
        }
    }
    let single = options.get("ops_per_txn").is_none_or(|word| word == "1");
    single.then_some(RequestedMix {
        weights: vec![weight("read")?, weight("update")?],
        distribution: options.get("distribution").cloned(),
    })
}

fn fits(requested: &RequestedMix, load: &K2Load) -> bool {
    let (weights, distribution) = match load {
        K2Load::Tpcc { payment, order_status, delivery, new_order, stock_level } => {
            (vec![*payment, *order_status, *delivery, *new_order, *stock_level], None)
        }
        K2Load::Ycsb { read, update, distribution } => (vec![*read, *update], Some(distribution)),
    };
    let (own, theirs): (f64, f64) = (requested.weights.iter().sum(), weights.iter().sum());
    let same_share = |(one, other): (&f64, &f64)| (one * theirs - other * own).abs() < own * 1e-6;
    own > 0.0
        && requested.weights.len() == weights.len()
        && requested.distribution.as_ref() == distribution
        && requested.weights.iter().zip(&weights).all(same_share)
}

#[cfg(test)]
mod tests {
    use super::{fits, tpcc_mix, ycsb_mix};
    use crate::published::k2;

    fn mix_of(requested: Option<super::RequestedMix>) -> Option<&'static str> {
        let requested = requested?;
        k2().mixes.iter().find(|mix| fits(&requested, &mix.load)).map(|mix| mix.mix.as_str())
    }

    fn options(text: &str) -> super::Options {
        let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn weights_are_compared_in_the_order_of_their_profile() {
        let of = |text: &str| mix_of(tpcc_mix(&options(text)));
        let full = Some("TPC-C {43,4,4,45,4}");
        assert_eq!(of("profile=k2 weights=43,4,4,45,4"), full);
        assert_eq!(of("profile=spec weights=45,43,4,4,4"), full);
        assert_eq!(of("profile=spec weights=90,86,8,8,8"), full);
        assert_eq!(of("profile=spec weights=43,4,4,45,4"), None);
        assert_eq!(of("profile=k2 weights=50,0,0,50,0"), Some("TPC-C {50,0,0,50,0}"));
        for unknown in ["weights=1,2,3", "weights=0,0,0,0,0", "weights=a,b,c,d,e", ""] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn operations_and_keys_of_ycsb_are_compared() {
        let of = |text: &str| mix_of(ycsb_mix(&options(text)));
        let scrambled = Some("YCSB {95,5,szipfian}");
        assert_eq!(of("read=0.95 update=0.05 distribution=scrambled"), scrambled);
        assert_eq!(of("read=95 update=5 distribution=scrambled ops_per_txn=1"), scrambled);
        assert_eq!(of("read=1 update=1 distribution=uniform scan=0"), Some("YCSB {50,50,uniform}"));
        for other in [
            "read=0.95 update=0.05 distribution=zipfian",
            "read=0.95 update=0.05 distribution=uniform scan=1",
            "read=0.95 update=0.05 distribution=uniform ops_per_txn=10",
            "read=0.9 update=0.1 distribution=uniform",
            "read=0.95 update=0.05",
            "read=0 update=0 distribution=uniform",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
