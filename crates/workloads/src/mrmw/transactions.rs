//! The client: reads or writes, as each task is drawn.

use super::schema::{Mrmw, Options};
use crate::records::{READ_TASK, Tally, Tasks, WRITE_TASK};
use crate::rows::NewRows;
use std::sync::Arc;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

/// A client.
#[derive(Debug)]
pub struct MrmwClient {
    tasks: Tasks,
    options: Options,
    new_rows: Arc<NewRows>,
}

impl MrmwClient {
    pub(super) fn new(mrmw: &Mrmw, number: usize, seed: u64) -> MrmwClient {
        MrmwClient {
            tasks: Tasks::new(&mrmw.table, number, seed),
            options: mrmw.options,
            new_rows: Arc::clone(&mrmw.table.new_rows),
        }
    }
}

impl Client for MrmwClient {
    type Tally = Tally;

    fn draw(&mut self) -> usize {
        let reads = self.tasks.stream().below(100) < self.options.readers;
        if reads || self.new_rows.readable() >= self.options.records_max {
            let newest = self.options.newest;
            self.tasks.draw_reads(self.options.reads_per_task, newest);
            READ_TASK
        } else {
            self.tasks.draw_writes(self.options.writes_per_task);
            WRITE_TASK
        }
    }

    fn access_pattern(&self, kind: usize) -> AccessPattern {
        match kind {
            READ_TASK if self.options.reads_per_task == 1 => AccessPattern::Single,
            READ_TASK => AccessPattern::ReadOnly,
            _ if self.options.writes_per_task == 1 => AccessPattern::Single,
            _ => AccessPattern::Several,
        }
    }

    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        self.tasks.perform(kind, transaction).await
    }

    fn ended(&mut self, kind: usize, ending: Ending) {
        if kind == WRITE_TASK {
            self.tasks.written(ending);
        }
    }

    fn tally(self) -> Tally {
        self.tasks.tally()
    }
}
