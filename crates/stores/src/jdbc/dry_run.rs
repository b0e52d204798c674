//! What a run would do to the database, for `--dry-run`.

use super::location::DatabaseLocation;
use super::managed_schema;
use super::prepared::statements;
use super::target::Jdbc;
use syncline_contract::{DryRunPlan, Plan, PlannedOperation};

/// The plan's statements for a number of clients.
pub(super) fn of(target: &Jdbc, plan: &Plan, clients: usize) -> DryRunPlan {
    let product = target.product;
    let sql = target.sql();
    let tables = sql.schema(plan, |_| "");
    let mut dry_run = DryRunPlan {
        operations: plan
            .operations()
            .iter()
            .map(|operation| PlannedOperation {
                name: operation.name.clone(),
                statements: statements(product, plan, &operation.action)
                    .into_iter()
                    .map(|statement| statement.text)
                    .collect(),
            })
            .collect(),
        transactions: vec![
            "setAutoCommit(true) for one operation".to_owned(),
            "setAutoCommit(false), commit() for several".to_owned(),
        ],
        settings: vec![format!("setTransactionIsolation({})", target.level().word())],
        ..DryRunPlan::default()
    };
    match &target.place {
        DatabaseLocation::Directory { directory, embedded, durability, .. } => {
            dry_run.makes = (embedded.creation_statements)(*durability);
            let after = (embedded.after_commit)(*durability);
            dry_run.transactions.extend(after.map(str::to_owned));
            let place = directory.path().display();
            dry_run.removes = vec![format!("the database in {place} is closed and removed")];
        }
        DatabaseLocation::Memory { .. } => {
            dry_run.removes = vec!["the database in memory is closed".to_owned()];
        }
        DatabaseLocation::Server { schema, .. } => {
            dry_run.makes = managed_schema::makes(product, schema);
            dry_run.settings.push(format!("setSchema({schema})"));
            dry_run.connections = Some(clients + 1);
            let drop_table = |table| format!("DROP TABLE {}", sql.table_name(table));
            dry_run.removes = plan.tables().iter().map(drop_table).collect();
            let (before, after) = product.schema.remove;
            let name = sql.quoted(schema.as_str());
            dry_run.removes.push(format!("{before}{name}{after}"));
        }
    }
    dry_run.makes.extend(tables);
    dry_run
}
