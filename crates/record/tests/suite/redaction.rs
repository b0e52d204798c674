//! Records redacted for publication.

use crate::closed_schema;
use crate::fixture::{self, SQLITE};
use syncline_record::{Record, json, share};

/// All names of persons, hosts, paths and serial numbers in the fixtures.
const SECRETS: [&str; 5] = ["/home", "ann", "bench", "buildhost7", "ZX-99881"];

#[test]
fn no_identifying_name_remains() {
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    run.identity.command = Some("syncline run insert --on sqlite:/home/ann/bench/x".to_owned());
    run.end.warnings[0].what = "the log in /home/ann/bench on buildhost7 is slow".to_owned();
    for record in [Record::from(run), Record::from(fixture::probe())] {
        let before = json(std::slice::from_ref(&record));
        let shared = share(&record);
        let text = json(std::slice::from_ref(&shared));
        for secret in SECRETS {
            let found = text.find(secret).map(|at| &text[at.saturating_sub(40)..at + 40]);
            assert_eq!(found, None, "{secret} remains");
        }
        assert!(before.contains("/home/ann/bench"));
        closed_schema::check(&[shared]);
    }
}

// A.E9
#[test]
fn a_scripts_relative_path_is_removed_everywhere() {
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let file = "SECRETPATH-joe/hidden.sql@2,other.sql".to_owned();
    run.head.workload.options.insert("file".to_owned(), file);
    run.end.warnings[0].what = "SECRETPATH-joe/hidden.sql:2 SELECT 1 is slow".to_owned();
    let text = json(&[share(&Record::from(run))]);
    for secret in ["SECRETPATH", "joe", "hidden", "other.sql"] {
        assert!(!text.contains(secret), "{secret} remains");
    }
}

#[test]
fn figures_settings_and_the_kernel_s_own_paths_stay() {
    let record = Record::from(fixture::probe());
    let shared = share(&record);
    let (one, other) = (record.as_probe().unwrap(), shared.as_probe().unwrap());
    assert_eq!(one.body.cells, other.body.cells);
    assert_eq!(one.body.sync_line.line_1, other.body.sync_line.line_1);
    assert_eq!(one.body.device.cache_off_command, other.body.device.cache_off_command);
    let run = Record::from(fixture::run(SQLITE, 8, 9_120.0, 1.0));
    let shared = share(&run);
    let (one, other) = (run.as_run().unwrap(), shared.as_run().unwrap());
    assert_eq!(one.end.outcomes, other.end.outcomes);
    assert_eq!(other.head.target.url.as_deref(), Some("sqlite:(removed)?durability=data"));
    assert_eq!(one.head.target.evidence, other.head.target.evidence);
    assert_eq!(share(&shared), shared, "sharing twice changes nothing");
}
