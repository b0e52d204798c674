//! Loading: each row is generated from its table and id alone.

use super::content::{C_BYTES, GROUP, Owner, PAD_BYTES};
use super::schema::Oltp;
use crate::distributions::Stream;
use syncline_contract::{Load, Rows, TableId, Value};

impl Oltp {
    pub(super) fn load_all(&self) -> Vec<Load> {
        let units = self.options.loaded_rows();
        let tables = self.statements.tables.iter().filter(|_| units > 0);
        tables.map(|table| Load { table: *table, units }).collect()
    }

    /// Appends the row with this number; its id is one more.
    pub(super) fn load_row(&self, of: TableId, number: u64, batch: &mut Rows) {
        let tables = &self.statements.tables;
        let table = tables.iter().position(|table| *table == of);
        let table = table.expect("only tables of this plan are loaded");
        let owner = Owner { table, id: number + 1 };
        let k = self.ids.draw(&mut Stream::of_load("oltp k", unit(owner)));
        let mut texts = texts(owner);
        let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
        owner.c(texts.below(GROUP), &mut c);
        owner.pad(texts.below(GROUP), k, &mut pad);
        let id = Value::Int(owner.id as i64);
        if self.options.secondary {
            batch.push(id);
        }
        batch.push(id);
        batch.push(Value::Int(k as i64));
        batch.push(Value::Text(text(&c)));
        batch.push(Value::Text(text(&pad)));
    }

    /// The version of the `c` that a row is loaded with.
    pub(super) fn loaded_version(owner: Owner) -> u64 {
        texts(owner).below(GROUP)
    }

    /// A description of the loaded rows. The distribution of `k` does not matter to later runs: `pad` holds
    /// each row's initial `k`.
    pub(super) fn loaded_rows(&self) -> String {
        let options = &self.options;
        let with = |on: bool, what: &'static str| if on { what } else { "" };
        format!(
            "{} tables of {} rows{}{}",
            options.tables,
            options.table_size,
            with(options.create_secondary, ", an index on k"),
            with(options.secondary, ", found by an index on id"),
        )
    }
}

impl Oltp {
    /// The number of tables and of rows in each, parsed from a text of
    /// [`loaded_as`](syncline_contract::Workload::loaded_as).
    pub fn layout_of(loaded_as: &str) -> Option<(u64, u64)> {
        let (tables, rest) = loaded_as.split_once(" tables of ")?;
        let (rows, _) = rest.split_once(" rows")?;
        Some((tables.parse().ok()?, rows.parse().ok()?))
    }
}

/// The stream for the texts of a row. It is not shared with `k`, because a later run may draw `k` from
/// another distribution, which uses more or fewer numbers.
fn texts(owner: Owner) -> Stream {
    Stream::of_load("oltp texts", unit(owner))
}

/// A number for each row across all tables.
fn unit(owner: Owner) -> u64 {
    (owner.id - 1) << 16 | owner.table as u64
}

/// Digits and dashes as text.
pub(super) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("digits and dashes are text")
}

#[cfg(test)]
mod tests {
    use crate::oltp::content::Owner;
    use crate::oltp::{Oltp, Options, RandType, Test};
    use syncline_contract::{Rows, Value, Workload};

    #[test]
    fn each_table_has_its_own_rows_and_every_text_verifies() {
        let oltp = Oltp::new(Options { tables: 3, table_size: 40, ..Options::default() });
        let loads = oltp.loads();
        assert_eq!(loads.len(), 3);
        for (table, load) in loads.iter().enumerate() {
            assert_eq!(load.units, 40);
            for number in 0..40 {
                let mut rows = Rows::new(4);
                oltp.load_unit(load.table, number, &mut rows);
                let row = rows.row(0);
                let (Value::Int(id), Value::Int(k)) = (row.value(0), row.value(1)) else {
                    panic!("id and k are numbers")
                };
                assert_eq!(id, number as i64 + 1);
                assert!((1..=40).contains(&k));
                let owner = Owner { table, id: id as u64 };
                let (Value::Text(c), Value::Text(pad)) = (row.value(2), row.value(3)) else {
                    panic!("c and pad are texts")
                };
                assert!(owner.version_of_c(c).is_some());
                assert_eq!(owner.of_pad(pad).map(|(_, base)| base as i64), Some(k));
            }
        }
    }

    /// f21: a part of the prepared rows may be used, and no row outside it is drawn.
    #[test]
    fn the_description_gives_the_layout_and_a_part_can_be_used() {
        let options = Options {
            tables: 3,
            table_size: 400,
            used_tables: 2,
            used_rows: 50,
            kept: true,
            ..Options::default()
        };
        let oltp = Oltp::new(options);
        let loaded = oltp.loaded_as().unwrap();
        assert_eq!(Oltp::layout_of(&loaded), Some((3, 400)));
        assert_eq!(oltp.loads().len(), 3, "all tables are loaded");
        for rand_type in RandType::ALL {
            let ids = Options { rand_type, ..options }.ids();
            let mut stream = crate::distributions::Stream::of_client(1, 0, "ids");
            assert!((0..2_000).all(|_| (1..=50).contains(&ids.draw(&mut stream))), "{rand_type:?}");
        }
    }

    #[test]
    fn texts_do_not_depend_on_how_k_is_drawn() {
        let row = |rand_type| {
            let oltp = Oltp::new(Options { table_size: 1_000, rand_type, ..Options::default() });
            let mut rows = Rows::new(4);
            oltp.load_unit(oltp.loads()[0].table, 7, &mut rows);
            let Value::Text(c) = rows.row(0).value(2) else { panic!("c is a text") };
            c.to_owned()
        };
        let owner = Owner { table: 0, id: 8 };
        for rand_type in [RandType::Uniform, RandType::Special] {
            let version = owner.version_of_c(&row(rand_type));
            assert_eq!(version, Some(Oltp::loaded_version(owner)));
        }
    }

    #[test]
    fn tests_that_begin_with_empty_tables_load_nothing() {
        for (test, auto_inc, loads) in [
            (Test::BulkInsert, true, 0),
            (Test::Insert, false, 0),
            (Test::Insert, true, 1),
            (Test::Delete, true, 1),
        ] {
            let oltp = Oltp::new(Options { test, auto_inc, ..Options::default() });
            assert_eq!(oltp.loads().len(), loads, "{test:?}");
        }
    }
}
