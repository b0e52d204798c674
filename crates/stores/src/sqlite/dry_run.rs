//! The statements that a run executes on the database, for `--dry-run` and for the record.
//!
//! The texts are those that the target executes: the schema's and the operations' from `sql`, the
//! settings' from `connection`, BEGIN and COMMIT from `execute`.

use super::connection::pragmas;
use super::database_files::APPLICATION_ID;
use super::execute::Control;
use super::settings::{Settings, Wait};
use super::sql;
use syncline_contract::{ClientModel, DryRunPlan, Plan, PlannedOperation};

/// The statement that marks a new database as made by a run.
pub(super) fn mark() -> String {
    format!("PRAGMA application_id={APPLICATION_ID}")
}

/// All statements of a plan; `private` means that the whole directory is removed with the run.
pub(super) fn of(plan: &Plan, settings: &Settings, private: bool) -> DryRunPlan {
    let mut set = pragmas(settings);
    // SQLite has no statement for a busy handler; its own is set by this call.
    if settings.wait == Wait::Sqlite {
        set.insert(0, format!("sqlite3_busy_timeout({})", settings.busy_timeout_ms));
    }
    let mut makes = vec![mark()];
    makes.extend(sql::schema(plan, settings));
    let operations = plan.operations().iter();
    let removed = if private {
        "the database's temporary directory is removed"
    } else {
        "the files of the database are removed"
    };
    DryRunPlan {
        makes,
        operations: operations
            .map(|operation| PlannedOperation {
                name: operation.name.clone(),
                statements: vec![sql::statement(plan, &operation.action)],
            })
            .collect(),
        transactions: transactions(settings.client),
        settings: set,
        connections: None,
        removes: vec![removed.to_owned()],
    }
}

fn transactions(client: ClientModel) -> Vec<String> {
    use Control::{Begin, BeginImmediate, Commit, Release, Rollback, RollbackTo, Savepoint};
    let begin = BeginImmediate.text();
    match client {
        ClientModel::Queue => vec![
            format!("{begin}, once for a group of clients"),
            format!("{}, where a client has several operations", Savepoint.text()),
            format!("{0}, or to abort {1} and {0}", Release.text(), RollbackTo.text()),
            format!("{}, once for the group", Commit.text()),
        ],
        ClientModel::Threads | ClientModel::Futures => vec![
            format!("{begin} to write, {} only to read, none for one operation", Begin.text()),
            format!("{}, or to abort {}", Commit.text(), Rollback.text()),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::sqlite::settings::Settings;
    use syncline_contract::{Kind, Lock, Plan, Read, Table, Text, Write};

    // D18
    #[test]
    fn the_statements_of_a_plan_are_those_that_sqlite_executes() {
        let mut plan = Plan::new();
        let table =
            plan.table(Table::new("t").column("id", Kind::Int).text("text", 10).key(&["id"]));
        let _: Read<(syncline_contract::Int,), (Text,)> =
            plan.get("get", table, &["text"], Lock::None);
        let _: Write<(syncline_contract::Int, Text)> = plan.put("put", table);
        let dry_run = of(&plan, &Settings::default(), true);
        let rusqlite = rusqlite::Connection::open_in_memory().unwrap();
        for text in dry_run.makes.iter().chain(&dry_run.settings) {
            if !text.starts_with("sqlite3_") {
                rusqlite.execute_batch(text).unwrap();
            }
        }
        for operation in &dry_run.operations {
            for text in &operation.statements {
                rusqlite.prepare(text).unwrap();
            }
        }
        let names: Vec<String> =
            dry_run.operations.iter().map(|operation| operation.name.to_string()).collect();
        assert_eq!(names, ["get", "put"]);
        assert!(dry_run.makes.iter().any(|text| text.starts_with("CREATE TABLE")));
        assert!(dry_run.transactions[0].starts_with("BEGIN IMMEDIATE"));
    }
}
