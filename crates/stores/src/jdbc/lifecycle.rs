//! The life cycle of a database: created or reopened, started, closed, removed or kept.
//!
//! 1. An embedded database is in a managed directory from `claim` on; connecting creates it and starts
//!    it.
//! 2. A failed removal may be repeated: the state records that until it is done.
//! 3. Only a database that this target has created or opened is closed, since closing another one would
//!    open it.

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

/// Properties of the JVM belong to the whole process, so only one database starts at a time.
static STARTING: Mutex<()> = Mutex::new(());

impl Jdbc {
    pub(super) fn of_directory(&self, result: io::Result<()>) -> TargetResult<()> {
        result.map_err(|error| {
            let what = format!("{} could not be created: {error}", self.product.name);
            Failure::new(FailureKind::Storage, what)
        })
    }

    /// Claims the directory of an embedded database, or returns why not.
    pub(super) fn claim(&self) -> TargetResult<()> {
        match &self.place {
            DatabaseLocation::Directory { directory, .. } => self.of_directory(directory.claim()),
            DatabaseLocation::Memory { .. } | DatabaseLocation::Server { .. } => Ok(()),
        }
    }

    pub(super) fn make(&self, plan: &Plan) -> TargetResult<()> {
        match &self.place {
            DatabaseLocation::Directory { embedded, durability, .. } => {
                let made = (embedded.creation_statements)(*durability);
                self.start(embedded, *durability, &made)?;
            }
            DatabaseLocation::Memory { .. } => drop(self.bare()?),
            DatabaseLocation::Server { schema, .. } => {
                let mut connection = self.bare()?;
                let made = managed_schema::make_schema(&mut connection, self.product, schema);
                made.map_err(|thrown| self.failure(&thrown, &format!("create schema {schema}")))?;
            }
        }
        let mut connection = self.connection()?;
        for statement in self.sql().schema(plan, |_| "") {
            let made = connection.execute(&statement);
            made.map_err(|thrown| self.failure(&thrown, &format!("execute {statement}")))?;
        }
        let reported_durability = reported_settings::reported_durability(self, &mut connection)?;
        match self.requested_durability() {
            Some(asked) if asked != reported_durability.durability => {
                let what = format!(
                    "the URL sets durability={1} for {0}, but {2}",
                    self.product.name,
                    asked.word(),
                    reported_durability.evidence
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
            _ => Ok(()),
        }
    }

    /// Starts an embedded database, which connecting creates if it does not exist, and executes
    /// statements.
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
                // It reports by an exception that it is closed.
                let driver = self.driver()?;
                drop(driver.connect(&mut Java::attach()?, &url(directory), &[]));
                Ok(())
            }
        }
    }

    /// Removes the database that this target has created or opened. After a failure, it may be tried
    /// again.
    pub(super) fn remove_database(&self) -> TargetResult<()> {
        let mut closed = Ok(());
        match &self.place {
            DatabaseLocation::Directory { directory, embedded, .. } => {
                // One that cannot be closed is removed anyway: closing it again later would create it
                // again.
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
        (state.is_created, state.is_reopened) = (false, false);
        closed
    }

    /// Starts the database in our directory, if there is one, and checks for a plan's tables.
    pub(super) fn open_again(&self, plan: &Plan) -> TargetResult<bool> {
        let DatabaseLocation::Directory { directory, embedded, durability, .. } = &self.place
        else {
            let what = format!("{} cannot be reopened", self.name());
            return Err(Failure::new(FailureKind::Limit, what));
        };
        let adopted = directory.adopt();
        let adopted = adopted.map_err(|error| {
            let what = format!("{} could not be opened: {error}", self.product.name);
            Failure::new(FailureKind::Storage, what)
        })?;
        let mut files = embedded.files.iter();
        if !adopted || !files.any(|name| directory.path().join(name).exists()) {
            directory.release();
            return Ok(false);
        }
        self.state().is_reopened = true;
        self.start(embedded, *durability, &[])?;
        // A table that differs is detected when its statements are prepared.
        Operations::prepare(&mut self.connection()?, self.product, plan)?;
        Ok(true)
    }

    /// Closes a database in our directory and keeps it. One that was refused was not opened, and
    /// closing would open it.
    pub(super) fn leave(&self) -> TargetResult<()> {
        if let DatabaseLocation::Directory { directory, embedded, .. } = &self.place {
            if self.is_managed() {
                self.stop(embedded, directory.path())?;
            }
            directory.release();
        }
        let mut state = self.state();
        (state.is_created, state.is_reopened) = (false, false);
        Ok(())
    }

    /// True if this target has created or opened the database.
    pub(super) fn is_managed(&self) -> bool {
        let state = self.state();
        state.is_created || state.is_reopened
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
