//! The use of a database after it was closed.

use crate::support::{on_disk, options, returns, row, table};
use syncline_engine::{Begin, Database, Error};

#[test]
fn a_session_that_outlives_its_database_reads_and_does_not_prevent_reopening() {
    let (folder, database) = on_disk();
    returns(move || {
        let before = table(&database, "t");
        database.run(|tx| tx.put(&before, &row(1))).unwrap();
        let mut session = database.session().unwrap();
        session.begin(Begin::Serializable).unwrap();
        session.put(&before, &row(2)).unwrap();
        let worker = database.worker();
        database.close().unwrap();
        let again = Database::open(folder.path().join("db"), options()).unwrap();
        let after = again.table("t").unwrap();
        again.run(|tx| tx.put(&after, &row(3))).unwrap();
        assert!(matches!(session.commit(), Err(Error::Poisoned { .. })));
        assert!(matches!(session.begin(Begin::Serializable), Err(Error::Poisoned { .. })));
        session.begin(Begin::ReadOnly).unwrap();
        assert!(session.get(&before, &[1.into()]).unwrap().is_some());
        assert!(session.get(&before, &[3.into()]).unwrap().is_none());
        worker.begin_pass();
        worker.end_pass();
        drop((session, worker));
        again.run(|tx| tx.put(&after, &row(4))).unwrap();
        assert_eq!(again.verify().unwrap(), Vec::<String>::new());
    });
}
