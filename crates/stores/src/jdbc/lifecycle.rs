//! The life of a database: made or opened again, started, closed, removed or left.
//!
//! 1. An embedded database stands in a directory of ours from `claim` on; connecting makes it and starts it.
//! 2. What could not be removed may be removed again: the state says so until it is done.
//! 3. Only what this target has made or opened is closed, since closing would open it.

use super::jvm::{Java, Thrown, given, methods};
use super::location::DatabaseLocation;
use super::managed_schema;
use super::prepared::Operations;
use super::product::{Close, Embedded};
use super::reported_settings;
use super::target::Jdbc;
use parking_lot::Mutex;
use std::io;
use std::path::Path;
use syncline_contract::{Durability, Failure, FailureKind, Plan, Target, TargetResult};

/// Properties of the JVM belong to the whole process, so that one database starts at a time.
static STARTING: Mutex<()> = Mutex::new(());

impl Jdbc {
    pub(super) fn of_directory(&self, result: io::Result<()>) -> TargetResult<()> {
        result.map_err(|error| {
            let what = format!("{} could not be made: {error}", self.product.name);
            Failure::new(FailureKind::Storage, what)
        })
    }

    /// Takes the directory of an embedded database, or says whose it is.
    pub(super) fn claim(&self) -> TargetResult<()> {
        match &self.place {
            DatabaseLocation::Directory { directory, .. } => self.of_directory(directory.claim()),
            DatabaseLocation::Memory { .. } | DatabaseLocation::Server { .. } => Ok(()),
        }
    }

    pub(super) fn make(&self, plan: &Plan) -> TargetResult<()> {
        match &self.place {
            DatabaseLocation::Directory { embedded, durability, .. } => {
                let made = (embedded.made)(*durability);
                self.start(embedded, *durability, &made)?;
            }
            DatabaseLocation::Memory { .. } => drop(self.bare()?),
            DatabaseLocation::Server { schema, .. } => {
                let mut connection = self.bare()?;
                let made = managed_schema::make_schema(&mut connection, self.product, schema);
                made.map_err(|thrown| self.failure(&thrown, &format!("make schema {schema}")))?;
            }
        }
        let mut connection = self.connection()?;
        for statement in self.sql().schema(plan, |_| "") {
            let made = connection.execute(&statement);
            made.map_err(|thrown| self.failure(&thrown, &format!("execute {statement}")))?;
        }
        let said = reported_settings::said(self, &mut connection)?;
        match self.asked() {
            Some(asked) if asked != said.durability => {
                let what = format!(
                    "{} was asked for durability {}, but {}",
                    self.product.name,
                    asked.word(),
                    said.evidence
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
            _ => Ok(()),
        }
    }

    /// Starts an embedded database, which connecting makes where there is none, and executes statements.
    fn start(
        &self,
        embedded: &Embedded,
        durability: Durability,
        statements: &[String],
    ) -> TargetResult<()> {
        let _alone = STARTING.lock();
        let properties = (embedded.properties)(durability);
        let mut java = Java::attach()?;
        let set = |thrown: Thrown| self.failure(&thrown, "set properties of the JVM");
        for (name, value) in &properties {
            system_property(&mut java, name, *value).map_err(set)?;
        }
        let started = self.bare().and_then(|mut connection| {
            statements.iter().try_for_each(|statement| {
                let executed = connection.execute(statement);
                executed.map_err(|thrown| self.failure(&thrown, &format!("execute {statement}")))
            })
        });
        for (name, _) in &properties {
            system_property(&mut java, name, None).map_err(set)?;
        }
        started
    }

    /// Closes an embedded database.
    fn stop(&self, embedded: &Embedded, directory: &Path) -> TargetResult<()> {
        match embedded.close {
            Close::Statement(text) => {
                let closed = self.bare()?.execute(text);
                closed.map_err(|thrown| self.failure(&thrown, "be closed"))
            }
            Close::Connecting(url) => {
                // That it is closed is said by throwing.
                let driver = self.driver()?;
                drop(driver.connect(&mut Java::attach()?, &url(directory), &[]));
                Ok(())
            }
        }
    }

    /// Removes what this target has made or opened. Where that fails, it may be tried again.
    pub(super) fn removed(&self) -> TargetResult<()> {
        let mut closed = Ok(());
        match &self.place {
            DatabaseLocation::Directory { directory, embedded, .. } => {
                // What cannot be closed goes all the same: closed again later, it would be made again.
                closed = self.stop(embedded, directory.path());
                directory.remove().map_err(|error| {
                    let what = format!("{} could not be removed: {error}", self.product.name);
                    Failure::new(FailureKind::Storage, what)
                })?;
            }
            DatabaseLocation::Memory { .. } => {
                if let Some(embedded) = &self.product.embedded {
                    self.stop(embedded, Path::new(""))?;
                }
            }
            DatabaseLocation::Server { schema, .. } => {
                let mut connection = self.bare()?;
                let removed = managed_schema::remove_schema(&mut connection, self.product, schema);
                removed
                    .map_err(|thrown| self.failure(&thrown, &format!("remove schema {schema}")))?;
            }
        }
        let mut state = self.state();
        (state.made, state.opened) = (false, false);
        closed
    }

    /// Starts the database that stands in our directory, if it does, and looks for a plan's tables.
    pub(super) fn open_again(&self, plan: &Plan) -> TargetResult<bool> {
        let DatabaseLocation::Directory { directory, embedded, durability, .. } = &self.place
        else {
            let what = format!("{} cannot be opened again", self.name());
            return Err(Failure::new(FailureKind::Limit, what));
        };
        let adopted = directory.adopt();
        let adopted = adopted.map_err(|error| {
            let what = format!("{} could not be opened: {error}", self.product.name);
            Failure::new(FailureKind::Storage, what)
        })?;
        let mut files = embedded.files.iter();
        if !adopted || !files.any(|name| directory.path().join(name).exists()) {
            directory.let_go();
            return Ok(false);
        }
        self.state().opened = true;
        self.start(embedded, *durability, &[])?;
        // What other tables there are shows by what cannot be prepared.
        Operations::prepare(&mut self.connection()?, self.product, plan)?;
        Ok(true)
    }

    /// Closes a database in our directory and leaves it there. One that was refused was not opened, and
    /// closing would open it.
    pub(super) fn leave(&self) -> TargetResult<()> {
        if let DatabaseLocation::Directory { directory, embedded, .. } = &self.place {
            if self.is_ours() {
                self.stop(embedded, directory.path())?;
            }
            directory.let_go();
        }
        let mut state = self.state();
        (state.made, state.opened) = (false, false);
        Ok(())
    }

    /// True if this target has made or opened the database.
    pub(super) fn is_ours(&self) -> bool {
        let state = self.state();
        state.made || state.opened
    }
}

fn system_property(java: &mut Java, name: &str, value: Option<&str>) -> Result<(), Thrown> {
    let methods = methods(java)?;
    let name = java.text(name)?;
    match value {
        Some(value) => {
            let value = java.text(value)?;
            let pair = [given(&name), given(&value)];
            java.of_class(&methods.system_set_property, &pair)?
        }
        None => java.of_class(&methods.system_clear_property, &[given(&name)])?,
    };
    Ok(())
}
