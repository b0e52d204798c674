//! The statement of an operation.

use super::Sql;
use super::dialect::Upsert;
use super::text::{Statement, Text};
use syncline_contract::{
    Action, Aggregate, ColumnId, Kind, Limit, Lock, Order, Path, Plan, Range, Set, Side, Table,
    TableId,
};

impl Sql<'_> {
    /// The statement of an operation of a plan.
    pub fn statement(&self, plan: &Plan, action: &Action) -> Statement {
        let mut text = Text::new(*self);
        let table = |id: &TableId| &plan.tables()[id.0];
        match action {
            Action::Get { table: id, columns, lock } => text.get(table(id), columns, *lock),
            Action::Scan { path, order, limit, columns, lock } => {
                text.push("SELECT ");
                text.columns(table(&path.table), columns);
                text.push_from(plan, path);
                text.ordered(plan, path, *order);
                text.limited(*limit, plan.parameters(action).len());
                text.locked(*lock);
            }
            Action::Join { path, right, on, columns } => text.join(plan, path, *right, on, columns),
            Action::Sorted { path, column, distinct } => {
                text.push(if *distinct { "SELECT DISTINCT " } else { "SELECT " });
                text.columns(table(&path.table), &[*column]);
                text.push_from(plan, path);
                text.push(" ORDER BY ");
                text.columns(table(&path.table), &[*column]);
            }
            Action::Aggregate { path, function } => {
                text.push("SELECT ");
                text.aggregate(table(&path.table), *function);
                text.push_from(plan, path);
            }
            Action::Insert { table: id } => text.insert(table(id), &table(id).inserted()),
            Action::Put { table: id } => text.put(table(id)),
            Action::Update { table: id, sets } | Action::Change { table: id, sets } => {
                text.update(table(id), sets);
            }
            Action::Delete { table: id } | Action::Remove { table: id } => {
                text.push("DELETE FROM ");
                text.table(table(id));
                text.where_key(table(id));
            }
            Action::Statement { text: user, .. } => return self.users(user),
        }
        text.done()
    }

    /// The statement that loads a whole row, including a generated key.
    pub fn load(&self, table: &Table) -> Statement {
        let all: Vec<_> = (0..table.columns.len()).map(ColumnId).collect();
        let mut text = Text::new(*self);
        text.insert(table, &all);
        text.done()
    }
}

impl Text<'_> {
    fn get(&mut self, table: &Table, columns: &[ColumnId], lock: Lock) {
        self.push("SELECT ");
        self.columns(table, columns);
        self.push(" FROM ");
        self.table(table);
        self.where_key(table);
        self.locked(lock);
    }

    fn insert(&mut self, table: &Table, columns: &[ColumnId]) {
        self.push("INSERT INTO ");
        self.table(table);
        if columns.is_empty() {
            let nothing = self.sql.dialect.insert_nothing;
            self.push(" ");
            self.push(nothing);
            return;
        }
        self.push(" (");
        self.columns(table, columns);
        self.push(") VALUES (");
        self.each(", ", 1..=columns.len(), Text::parameter);
        self.push(")");
    }

    fn put(&mut self, table: &Table) {
        let all = table.inserted();
        let rest: Vec<_> = all.iter().filter(|column| !table.key.contains(column)).collect();
        self.insert(table, &all);
        match self.sql.dialect.upsert {
            Upsert::OnConflict => {
                self.push(" ON CONFLICT (");
                self.columns(table, &table.key);
                self.push(if rest.is_empty() { ") DO NOTHING" } else { ") DO UPDATE SET " });
                self.each(", ", rest, |text, column| {
                    text.column(table, *column, "");
                    text.column(table, *column, " = excluded.");
                });
            }
            Upsert::OnDuplicateKey => {
                self.push(" ON DUPLICATE KEY UPDATE ");
                // A row that consists only of its key is set to its own values.
                let rest = if rest.is_empty() { table.key.iter().collect() } else { rest };
                self.each(", ", rest, |text, column| {
                    text.column(table, *column, "");
                    text.column(table, *column, " = VALUES(");
                    text.push(")");
                });
            }
        }
    }

    fn update(&mut self, table: &Table, sets: &[(ColumnId, Set)]) {
        self.push("UPDATE ");
        self.table(table);
        self.push(" SET ");
        self.each(", ", sets.iter().enumerate(), |text, (position, (column, set))| {
            text.column(table, *column, "");
            text.push(" = ");
            if *set == Set::Add {
                text.column(table, *column, "");
                text.push(" + ");
            }
            text.parameter(table.key.len() + position + 1);
        });
        self.where_key(table);
    }

    fn join(
        &mut self,
        plan: &Plan,
        path: &Path,
        right: TableId,
        on: &[(ColumnId, ColumnId)],
        columns: &[(Side, ColumnId)],
    ) {
        let (left_table, right_table) = (&plan.tables()[path.table.0], &plan.tables()[right.0]);
        self.push("SELECT ");
        self.each(", ", columns, |text, (side, column)| match side {
            Side::Left => text.column(left_table, *column, "l."),
            Side::Right => text.column(right_table, *column, "r."),
        });
        self.push(" FROM ");
        self.table(left_table);
        self.push(" AS l JOIN ");
        self.table(right_table);
        self.push(" AS r ON ");
        if on.is_empty() {
            let always = self.sql.dialect.always;
            self.push(always);
        }
        self.each(" AND ", on, |text, (left, right)| {
            text.column(left_table, *left, "l.");
            text.column(right_table, *right, " = r.");
        });
        self.conditions(plan, path, "l.");
    }

    fn aggregate(&mut self, table: &Table, function: Aggregate) {
        let (before, column, after) = match function {
            Aggregate::Count => return self.push("count(*)"),
            Aggregate::CountDistinct(column) => ("count(DISTINCT ", column, ")"),
            Aggregate::Sum(column) if table.columns[column.0].kind == Kind::Int => {
                let (before, after) = self.sql.dialect.integer_sum;
                (before, column, after)
            }
            Aggregate::Sum(column) => ("sum(", column, ")"),
            Aggregate::Min(column) => ("min(", column, ")"),
            Aggregate::Max(column) => ("max(", column, ")"),
        };
        self.column(table, column, before);
        self.push(after);
    }

    /// Appends the table of a path and its conditions.
    fn push_from(&mut self, plan: &Plan, path: &Path) {
        self.push(" FROM ");
        self.table(&plan.tables()[path.table.0]);
        self.conditions(plan, path, "");
    }

    fn conditions(&mut self, plan: &Plan, path: &Path, alias: &str) {
        let table = &plan.tables()[path.table.0];
        let columns = plan.path_columns(path);
        let ranged: &[(&str, usize)] = match path.range {
            Range::All => &[],
            Range::From => &[(" >= ", 1)],
            Range::Between => &[(" >= ", 1), (" <= ", 2)],
        };
        let equal = (0..path.equal).map(|position| (columns[position], " = ", position + 1));
        let ranged = ranged
            .iter()
            .map(|(compares, number)| (columns[path.equal], *compares, path.equal + number));
        let conditions: Vec<_> = equal.chain(ranged).collect();
        self.push(if conditions.is_empty() { "" } else { " WHERE " });
        self.each(" AND ", conditions, |text, (column, compares, number)| {
            text.column(table, column, alias);
            text.push(compares);
            text.parameter(number);
        });
    }

    /// Appends the condition that the key equals the first parameters.
    fn where_key(&mut self, table: &Table) {
        self.push(" WHERE ");
        self.each(" AND ", table.key.iter().enumerate(), |text, (position, column)| {
            text.column(table, *column, "");
            text.push(" = ");
            text.parameter(position + 1);
        });
    }

    fn ordered(&mut self, plan: &Plan, path: &Path, order: Order) {
        let table = &plan.tables()[path.table.0];
        let columns = plan.path_columns(path);
        self.push(if columns.is_empty() { "" } else { " ORDER BY " });
        self.each(", ", columns, |text, column| {
            text.column(table, *column, "");
            text.push(match order {
                Order::Ascending => "",
                Order::Descending => " DESC",
            });
        });
    }

    fn limited(&mut self, limit: Limit, last_parameter: usize) {
        let (before, after) = self.sql.dialect.limit;
        match limit {
            Limit::None => return,
            Limit::Fixed(rows) => self.push(&format!("{before}{rows}")),
            Limit::Parameter => {
                self.push(before);
                self.parameter(last_parameter);
            }
        }
        self.push(after);
    }

    fn locked(&mut self, lock: Lock) {
        if lock == Lock::Update {
            let words = self.sql.dialect.row_lock;
            self.push(words);
        }
    }
}
