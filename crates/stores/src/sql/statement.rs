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
                text.say("SELECT ");
                text.columns(table(&path.table), columns);
                text.walk(plan, path);
                text.ordered(plan, path, *order);
                text.limited(*limit, plan.parameters(action).len());
                text.locked(*lock);
            }
            Action::Join { path, right, on, columns } => text.join(plan, path, *right, on, columns),
            Action::Sorted { path, column, distinct } => {
                text.say(if *distinct { "SELECT DISTINCT " } else { "SELECT " });
                text.columns(table(&path.table), &[*column]);
                text.walk(plan, path);
                text.say(" ORDER BY ");
                text.columns(table(&path.table), &[*column]);
            }
            Action::Aggregate { path, function } => {
                text.say("SELECT ");
                text.aggregate(table(&path.table), *function);
                text.walk(plan, path);
            }
            Action::Insert { table: id } => text.insert(table(id), &table(id).inserted()),
            Action::Put { table: id } => text.put(table(id)),
            Action::Update { table: id, sets } | Action::Change { table: id, sets } => {
                text.update(table(id), sets);
            }
            Action::Delete { table: id } | Action::Remove { table: id } => {
                text.say("DELETE FROM ");
                text.table(table(id));
                text.of_key(table(id));
            }
            Action::Statement { text: user, .. } => return self.users(user),
        }
        text.done()
    }

    /// The statement that loads a whole row, a key given by the server included.
    pub fn load(&self, table: &Table) -> Statement {
        let all: Vec<_> = (0..table.columns.len()).map(ColumnId).collect();
        let mut text = Text::new(*self);
        text.insert(table, &all);
        text.done()
    }
}

impl Text<'_> {
    fn get(&mut self, table: &Table, columns: &[ColumnId], lock: Lock) {
        self.say("SELECT ");
        self.columns(table, columns);
        self.say(" FROM ");
        self.table(table);
        self.of_key(table);
        self.locked(lock);
    }

    fn insert(&mut self, table: &Table, columns: &[ColumnId]) {
        self.say("INSERT INTO ");
        self.table(table);
        if columns.is_empty() {
            let nothing = self.sql.dialect.insert_nothing;
            self.say(" ");
            self.say(nothing);
            return;
        }
        self.say(" (");
        self.columns(table, columns);
        self.say(") VALUES (");
        self.each(", ", 1..=columns.len(), Text::parameter);
        self.say(")");
    }

    fn put(&mut self, table: &Table) {
        let all = table.inserted();
        let rest: Vec<_> = all.iter().filter(|column| !table.key.contains(column)).collect();
        self.insert(table, &all);
        match self.sql.dialect.upsert {
            Upsert::OnConflict => {
                self.say(" ON CONFLICT (");
                self.columns(table, &table.key);
                self.say(if rest.is_empty() { ") DO NOTHING" } else { ") DO UPDATE SET " });
                self.each(", ", rest, |text, column| {
                    text.column(table, *column, "");
                    text.column(table, *column, " = excluded.");
                });
            }
            Upsert::OnDuplicateKey => {
                self.say(" ON DUPLICATE KEY UPDATE ");
                // A row of nothing but its key is set to what it is.
                let rest = if rest.is_empty() { table.key.iter().collect() } else { rest };
                self.each(", ", rest, |text, column| {
                    text.column(table, *column, "");
                    text.column(table, *column, " = VALUES(");
                    text.say(")");
                });
            }
        }
    }

    fn update(&mut self, table: &Table, sets: &[(ColumnId, Set)]) {
        self.say("UPDATE ");
        self.table(table);
        self.say(" SET ");
        self.each(", ", sets.iter().enumerate(), |text, (position, (column, set))| {
            text.column(table, *column, "");
            text.say(" = ");
            if *set == Set::Add {
                text.column(table, *column, "");
                text.say(" + ");
            }
            text.parameter(table.key.len() + position + 1);
        });
        self.of_key(table);
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
        self.say("SELECT ");
        self.each(", ", columns, |text, (side, column)| match side {
            Side::Left => text.column(left_table, *column, "l."),
            Side::Right => text.column(right_table, *column, "r."),
        });
        self.say(" FROM ");
        self.table(left_table);
        self.say(" AS l JOIN ");
        self.table(right_table);
        self.say(" AS r ON ");
        if on.is_empty() {
            let always = self.sql.dialect.always;
            self.say(always);
        }
        self.each(" AND ", on, |text, (left, right)| {
            text.column(left_table, *left, "l.");
            text.column(right_table, *right, " = r.");
        });
        self.conditions(plan, path, "l.");
    }

    fn aggregate(&mut self, table: &Table, function: Aggregate) {
        let (before, column, after) = match function {
            Aggregate::Count => return self.say("count(*)"),
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
        self.say(after);
    }

    /// The table of a path and its conditions.
    fn walk(&mut self, plan: &Plan, path: &Path) {
        self.say(" FROM ");
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
        self.say(if conditions.is_empty() { "" } else { " WHERE " });
        self.each(" AND ", conditions, |text, (column, compares, number)| {
            text.column(table, column, alias);
            text.say(compares);
            text.parameter(number);
        });
    }

    /// That the key equals the first parameters.
    fn of_key(&mut self, table: &Table) {
        self.say(" WHERE ");
        self.each(" AND ", table.key.iter().enumerate(), |text, (position, column)| {
            text.column(table, *column, "");
            text.say(" = ");
            text.parameter(position + 1);
        });
    }

    fn ordered(&mut self, plan: &Plan, path: &Path, order: Order) {
        let table = &plan.tables()[path.table.0];
        let columns = plan.path_columns(path);
        self.say(if columns.is_empty() { "" } else { " ORDER BY " });
        self.each(", ", columns, |text, column| {
            text.column(table, *column, "");
            text.say(match order {
                Order::Ascending => "",
                Order::Descending => " DESC",
            });
        });
    }

    fn limited(&mut self, limit: Limit, last_parameter: usize) {
        let (before, after) = self.sql.dialect.limit;
        match limit {
            Limit::None => return,
            Limit::Fixed(rows) => self.say(&format!("{before}{rows}")),
            Limit::Parameter => {
                self.say(before);
                self.parameter(last_parameter);
            }
        }
        self.say(after);
    }

    fn locked(&mut self, lock: Lock) {
        if lock == Lock::Update {
            let words = self.sql.dialect.row_lock;
            self.say(words);
        }
    }
}
