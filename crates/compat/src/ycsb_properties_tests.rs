//! YCSB's properties: accepted, warned about and refused.

use super::{CannotRun, Interval, ParsedProperties};

fn parsed(pairs: &[(&str, &str)]) -> Result<ParsedProperties, String> {
    let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    ParsedProperties::of(&pairs.collect::<Vec<_>>(), true).map_err(|why| why.0)
}

const LEAST: [(&str, &str); 2] = [("recordcount", "1000"), ("operationcount", "500")];

#[test]
fn properties_become_options_and_a_plan() {
    let mut pairs = LEAST.to_vec();
    pairs.extend([
        ("workload", "site.ycsb.workloads.CoreWorkload"),
        ("requestdistribution", "zipfian"),
        ("readallfields", "false"),
        ("insertproportion", "0.05"),
        ("threadcount", "8"),
        ("target", "100.5"),
        ("maxexecutiontime", "60"),
        ("measurement.interval", "both"),
        ("dataintegrity", "true"),
        ("recordcount", "2000"),
    ]);
    let parsed = parsed(&pairs).unwrap();
    let option = |name: &str| {
        let found = parsed.options.iter().find(|(option, _)| option == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(option("records"), Some("2000"), "the last one counts");
    assert_eq!(option("distribution"), Some("scrambled"));
    assert_eq!(option("read_all_fields"), Some("no"));
    assert_eq!(option("verify"), Some("row"));
    assert_eq!(option("new_keys"), Some("50"), "twice the expected inserts");
    assert_eq!((parsed.threads, parsed.operations), (8, Some(500)));
    assert_eq!(parsed.target_per_s, Some(100.5));
    assert_eq!(parsed.interval, Interval::Both);
    assert!(parsed.changes_rows && parsed.warnings.is_empty());
}

/// f13, f14: keys of YCSB's own template, of bindings and of go-ycsb's scripts cause a warning.
#[test]
fn keys_that_the_core_workload_does_not_read_cause_warnings() {
    let keys = [
        "maxscanrate",
        "scanoptimelimit",
        "discardscannedrecord",
        "port",
        "mysql.host",
        "rocksdb.dir",
        "columnfamily",
        "dropdata",
        "verbose",
        "silence",
        "outputstyle",
        "zipfianconstant",
    ];
    for key in keys {
        let mut pairs = LEAST.to_vec();
        pairs.push((key, "1"));
        let warnings = parsed(&pairs).unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{key}: {warnings:?}");
        assert!(warnings[0].starts_with(&format!("property {key} ")), "{warnings:?}");
    }
}

/// f16.
#[test]
fn a_part_of_the_records_is_loaded_and_used() {
    let part = |pairs: &[(&str, &str)]| {
        let mut all = LEAST.to_vec();
        all.extend(pairs);
        let parsed = parsed(&all).unwrap();
        let named = |name: &str| parsed.options.iter().any(|(option, _)| option == name);
        (parsed.part.clone(), named("insert_start"))
    };
    assert_eq!(part(&[]), (0..1000, false));
    assert_eq!(part(&[("insertcount", "1000")]), (0..1000, false));
    assert_eq!(part(&[("insertstart", "600")]), (600..1000, true));
    let both = [("insertstart", "600"), ("insertcount", "100")];
    assert_eq!(part(&both), (600..700, true));
}

/// f15.
#[test]
fn field_lengths_come_from_the_histogram_file() {
    let option = |pairs: &[(&str, &str)]| -> Result<String, String> {
        let mut all = LEAST.to_vec();
        all.push(("fieldlengthdistribution", "histogram"));
        all.extend(pairs);
        let mut parsed = parsed(&all)?;
        parsed
            .read_histogram(|path| match path {
                "hist.txt" => Ok("BlockSize\t8\n0\t5\n1\t6\n".to_owned()),
                "bad" => Ok("BlockSize\t8\n1\t5\n".to_owned()),
                _ => Err(CannotRun("there is no such file".to_owned())),
            })
            .map_err(|why| why.0)?;
        let options = parsed.options.iter();
        let found = options.filter(|(name, _)| name.starts_with("field_"));
        let found: Vec<String> = found.map(|(name, value)| format!("{name}={value}")).collect();
        Ok(found.join(" "))
    };
    let taken = "field_lengths=histogram field_histogram=8:5,6";
    assert_eq!(option(&[]).as_deref(), Ok(taken));
    assert_eq!(option(&[("fieldlengthhistogram", "hist.txt")]).as_deref(), Ok(taken));
    let why = option(&[("fieldlengthhistogram", "bad")]).unwrap_err();
    assert!(why.contains("bad (fieldlengthhistogram): line 2"), "{why}");
    let why = option(&[("fieldlengthhistogram", "none")]).unwrap_err();
    assert_eq!(why, "there is no such file");
    let mut pairs = LEAST.to_vec();
    pairs.push(("fieldlengthhistogram", "hist.txt"));
    let parsed = parsed(&pairs).unwrap();
    assert_eq!((parsed.histogram, parsed.warnings.len()), (None, 1));
}

#[test]
fn every_known_property_is_accepted_by_name() {
    for key in super::known_properties() {
        let mut pairs = LEAST.to_vec();
        pairs.push((key, "1"));
        if let Ok(parsed) = parsed(&pairs) {
            let unread = parsed.warnings.iter().any(|one| one.contains("does not read it"));
            assert!(!unread, "{key}: {:?}", parsed.warnings);
        }
    }
}

#[test]
fn properties_without_effect_cause_warnings_and_unknown_ones_are_refused() {
    let mut pairs = LEAST.to_vec();
    pairs.extend([("exporter", "x"), ("db.url", "jdbc:x"), ("measurementtype", "raw")]);
    let warnings = parsed(&pairs).unwrap().warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    for (pair, expected) in [
        (
            ("readporportion", "1"),
            "\"readporportion\" is not a property of YCSB's core workload; did you mean \"readproportion\"?",
        ),
        (("tables", "usertable"), "did you mean \"table\"?"),
        (("hdrhistogram.percentile", "50"), "did you mean \"hdrhistogram.percentiles\"?"),
        (("workload", "my.Own"), "it must be site.ycsb"),
        (("requestdistribution", "scrambled"), "it must be uniform, zipfian"),
        (("fieldlengthdistribution", "normal"), "it must be constant, uniform, zipfian, histogram"),
        (
            ("insertstart", "1000"),
            "insertstart=1000 and insertcount=0 are not within the 1000 records",
        ),
        (("insertcount", "1001"), "not within the 1000 records"),
        (("insertcount", "0"), "not within the 1000 records"),
        (("operationcount", "many"), "a whole number"),
        (("operationcount", "0"), "a run needs an end"),
        (("recordcount", "0"), "recordcount is not given"),
        (("threadcount", "999999999"), "at most 1000000 clients"),
    ] {
        let mut pairs = LEAST.to_vec();
        pairs.push(pair);
        let why = parsed(&pairs).err().unwrap_or_default();
        assert!(why.contains(expected), "{pair:?}: {why}");
    }
}
