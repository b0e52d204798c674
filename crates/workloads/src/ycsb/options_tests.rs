//! YCSB's options: valid combinations, and the settings of the standard workloads.

use super::{Distribution, Options};
use syncline_contract::OptionArgs;

fn parse(pairs: &[(&str, &str)]) -> Result<Options, String> {
    let owned = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let owned: Vec<_> = owned.collect();
    let pairs = OptionArgs::new("workload ycsb".to_owned(), Options::LISTING, &owned);
    let pairs = pairs.map_err(|error| error.to_string())?;
    Options::parse(&pairs).map_err(|error| error.to_string())
}

#[test]
fn letters_set_the_values_of_ycsbs_files() {
    for (letter, weights, distribution, scan) in [
        ("a", [0.5, 0.5, 0.0, 0.0, 0.0, 0.0], Distribution::Scrambled, 1_000),
        ("b", [0.95, 0.05, 0.0, 0.0, 0.0, 0.0], Distribution::Scrambled, 1_000),
        ("c", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], Distribution::Scrambled, 1_000),
        ("d", [0.95, 0.0, 0.05, 0.0, 0.0, 0.0], Distribution::Latest, 1_000),
        ("e", [0.0, 0.0, 0.05, 0.95, 0.0, 0.0], Distribution::Scrambled, 100),
        ("f", [0.5, 0.0, 0.0, 0.0, 0.5, 0.0], Distribution::Scrambled, 1_000),
    ] {
        let options = parse(&[("workload", letter)]).unwrap();
        let same = options.weights().iter().zip(weights).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(same, "{letter}: {:?}", options.weights());
        assert_eq!((options.distribution, options.scan_rows_max), (distribution, scan));
    }
}

#[test]
fn given_options_override_the_letter() {
    for chosen in [
        &[("workload", "a"), ("read", "3"), ("distribution", "hotspot")][..],
        &[("profile", "k2"), ("ops_per_txn", "5"), ("new_keys", "50")],
        &[("workload", "e"), ("scan_lengths", "zipfian"), ("read_all_fields", "no")],
        &[("field_lengths", "histogram"), ("field_histogram", "10:1,2,3"), ("field_bytes", "20")],
    ] {
        let options = parse(chosen).unwrap();
        let pairs = options.pairs();
        let again: Vec<_> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(parse(&again).unwrap(), options);
        for (name, value) in chosen {
            assert!(pairs.contains(&(*name, (*value).to_owned())), "{name}");
        }
    }
}

/// f16: a description of kept rows has a maximum length.
#[test]
fn too_many_loaded_parts_are_refused() {
    let parts: Vec<String> = (0..60).map(|part| format!("{}+1", 2 * part)).collect();
    let before = parts.join(",");
    let pairs = [
        ("loaded_before", before.as_str()),
        ("load_part", "1000+10"),
        ("insert_start", "1000"),
        ("insert_count", "10"),
    ];
    assert!(parse(&pairs).unwrap_err().contains("load those between them"));
}

#[test]
fn invalid_combinations_give_one_sentence() {
    for (pairs, expected) in [
        (&[("read", "0"), ("update", "0")][..], "nothing to draw"),
        (&[("scan_rows_min", "2000")], "scan_rows_min above"),
        (&[("workload", "c"), ("theta", "1.2")], "whose formula ends there"),
        (&[("profile", "k2"), ("field_bytes", "2")], "too short for a key"),
        (&[("table", "Users")], "it takes lower case"),
        (&[("insert_start", "100000")], "beyond the records"),
        (&[("load_part", "99999+2")], "beyond the records"),
        (
            &[("loaded_before", "0+10"), ("load_part", "5+10")],
            "some records were loaded before, and some were not",
        ),
        (&[("load_part", "5+10"), ("insert_count", "10")], "not all records are loaded"),
        (&[("field_lengths", "histogram")], "without field_histogram"),
        (&[("field_histogram", "10:5")], "of at least two buckets"),
        (&[("scan_lengths", "histogram")], "it takes constant, uniform or zipfian"),
        (&[("read", "-1")], "it takes a number from 0"),
    ] {
        let error = parse(pairs).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(parse(&[("distribution", "zipfian"), ("theta", "1.2")]).is_ok());
}
