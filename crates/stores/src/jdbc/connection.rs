//! A connection: opened, configured, queried as text, closed.

use super::driver::Driver;
use super::jvm::{Java, Local, Methods, Shared, Thrown, given, methods};
use super::settings::Level;
use jni::sys::jvalue;

/// A connection of this thread. Dropping it rolls back an open transaction and closes it.
#[derive(Debug)]
pub(super) struct Connection {
    java: Java,
    methods: &'static Methods,
    handle: Shared,
    /// The autocommit mode that was last set; a JDBC connection begins with it on.
    autocommit: bool,
}

/// The names and versions that a database and its driver report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoreInfo {
    pub(super) product: String,
    pub(super) version: String,
    pub(super) driver: String,
}

impl Connection {
    /// Connects with a driver.
    pub(super) fn open(
        mut java: Java,
        driver: &Driver,
        url: &str,
        properties: &[(String, String)],
    ) -> Result<Connection, Thrown> {
        let connection = driver.connect(&mut java, url, properties)?;
        if connection.is_null() {
            let message = "the driver does not accept this URL".to_owned();
            let (state, code) = (String::new(), 0);
            return Err(Thrown { state, code, message });
        }
        let handle = java.share(&connection)?;
        Ok(Connection { methods: methods(&mut java)?, java, handle, autocommit: true })
    }

    /// The JNI environment of this connection's thread.
    #[inline]
    pub(super) fn java(&mut self) -> &mut Java {
        &mut self.java
    }

    /// The table of methods.
    #[inline]
    pub(super) fn methods(&self) -> &'static Methods {
        self.methods
    }

    /// True if each statement commits by itself.
    #[inline]
    pub(super) fn is_autocommit(&self) -> bool {
        self.autocommit
    }

    /// Sets whether each statement commits by itself; calls the driver only for a change.
    #[inline]
    pub(super) fn set_autocommit(&mut self, autocommit: bool) -> Result<(), Thrown> {
        if self.autocommit == autocommit {
            return Ok(());
        }
        let method = &self.methods.connection_set_autocommit;
        let arguments = [jvalue { z: u8::from(autocommit) }];
        self.java.call::<()>(&self.handle, method, &arguments)?;
        self.autocommit = autocommit;
        Ok(())
    }

    /// Commits.
    #[inline]
    pub(super) fn commit(&mut self) -> Result<(), Thrown> {
        let method = &self.methods.connection_commit;
        self.java.call::<()>(&self.handle, method, &[])
    }

    /// Rolls the transaction back.
    pub(super) fn rollback(&mut self) -> Result<(), Thrown> {
        let method = &self.methods.connection_rollback;
        self.java.call::<()>(&self.handle, method, &[])
    }

    /// Sets the isolation level, and reads it back.
    pub(super) fn isolate(&mut self, level: Level) -> Result<i32, Thrown> {
        let methods = self.methods;
        let arguments = [jvalue { i: level.number() }];
        let (set, get) = (&methods.connection_set_isolation, &methods.connection_isolation);
        self.java.call::<()>(&self.handle, set, &arguments)?;
        self.java.call::<i32>(&self.handle, get, &[])
    }

    /// Makes a schema the default for unqualified names; a catalog if a product has no schemas.
    pub(super) fn enter(&mut self, schema: &str, is_catalog: bool) -> Result<(), Thrown> {
        let methods = self.methods;
        let name = self.java.text(schema)?;
        let method = if is_catalog {
            &methods.connection_set_catalog
        } else {
            &methods.connection_set_schema
        };
        let arguments = [given(&name)];
        self.java.call::<()>(&self.handle, method, &arguments)
    }

    /// Prepares a statement.
    pub(super) fn prepare(&mut self, text: &str) -> Result<Shared, Thrown> {
        let method = &self.methods.connection_prepare;
        let text = self.java.text(text)?;
        let arguments = [given(&text)];
        let prepared = self.java.call::<Local>(&self.handle, method, &arguments)?;
        self.java.share(&prepared)
    }

    /// Executes a text.
    pub(super) fn execute(&mut self, text: &str) -> Result<(), Thrown> {
        let methods = self.methods;
        let statement = self.statement()?;
        let text = self.java.text(text)?;
        let arguments = [given(&text)];
        let executed = self.java.call::<bool>(&statement, &methods.statement_execute, &arguments);
        let closed = self.java.call::<()>(&statement, &methods.statement_close, &[]);
        executed?;
        closed
    }

    /// The rows of a query as text, with `columns` columns each; null is empty.
    pub(super) fn rows(&mut self, text: &str, columns: i32) -> Result<Vec<Vec<String>>, Thrown> {
        let methods = self.methods;
        let statement = self.statement()?;
        let text = self.java.text(text)?;
        let arguments = [given(&text)];
        let query = &methods.statement_query;
        let result = self.java.call::<Local>(&statement, query, &arguments)?;
        let mut rows = Vec::new();
        while self.java.call::<bool>(&result, &methods.result_next, &[])? {
            let mut row = Vec::new();
            for column in 1..=columns {
                let arguments = [jvalue { i: column }];
                let cell = self.java.call::<Local>(&result, &methods.result_string, &arguments)?;
                row.push(self.java.words(&cell)?);
            }
            rows.push(row);
        }
        self.java.call::<()>(&statement, &methods.statement_close, &[])?;
        Ok(rows)
    }

    /// The first cell of a query; `None` if it returns no rows.
    pub(super) fn cell(&mut self, text: &str) -> Result<Option<String>, Thrown> {
        let rows = self.rows(text, 1)?;
        Ok(rows.into_iter().next().and_then(|row| row.into_iter().next()))
    }

    /// The names and versions that the database and its driver report.
    pub(super) fn about(&mut self) -> Result<StoreInfo, Thrown> {
        let methods = self.methods;
        let method = &methods.connection_about;
        let about = self.java.call::<Local>(&self.handle, method, &[])?;
        let mut words = |method| {
            let text = self.java.call::<Local>(&about, method, &[])?;
            self.java.words(&text)
        };
        let product = words(&methods.about_product)?;
        let version = words(&methods.about_version)?;
        let name = words(&methods.about_driver)?;
        let driver = format!("{name} {}", words(&methods.about_driver_version)?);
        Ok(StoreInfo { product, version, driver })
    }

    /// Sends an empty request, and waits for the answer.
    pub(super) fn is_valid(&mut self) -> Result<bool, Thrown> {
        let method = &self.methods.connection_valid;
        let seconds = [jvalue { i: 10 }];
        self.java.call::<bool>(&self.handle, method, &seconds)
    }

    /// The names of all schemas, or catalogs.
    pub(super) fn schemas(&mut self, is_catalog: bool) -> Result<Vec<String>, Thrown> {
        let methods = self.methods;
        let about = self.java.call::<Local>(&self.handle, &methods.connection_about, &[])?;
        let asks = if is_catalog { &methods.about_catalogs } else { &methods.about_schemas };
        let result = self.java.call::<Local>(&about, asks, &[])?;
        self.column(&result, 1)
    }

    /// The names of the tables in a schema, or catalog.
    pub(super) fn tables(&mut self, schema: &str, is_catalog: bool) -> Result<Vec<String>, Thrown> {
        let methods = self.methods;
        let about = self.java.call::<Local>(&self.handle, &methods.connection_about, &[])?;
        let name = self.java.text(schema)?;
        let (any, kind) = (self.java.text("%")?, self.java.text("TABLE")?);
        let text = self.java.class("java/lang/String")?;
        let kinds = self.java.array(&text, &[kind])?;
        let none = jvalue { l: std::ptr::null_mut() };
        let (catalog, schema) =
            if is_catalog { (given(&name), none) } else { (none, given(&name)) };
        let arguments = [catalog, schema, given(&any), given(&kinds)];
        let result = self.java.call::<Local>(&about, &methods.about_tables, &arguments)?;
        self.column(&result, 3)
    }

    fn column(&mut self, result: &Local, column: i32) -> Result<Vec<String>, Thrown> {
        let methods = self.methods;
        let mut names = Vec::new();
        while self.java.call::<bool>(result, &methods.result_next, &[])? {
            let place = [jvalue { i: column }];
            let cell = self.java.call::<Local>(result, &methods.result_string, &place)?;
            names.push(self.java.words(&cell)?);
        }
        self.java.call::<()>(result, &methods.result_close, &[])?;
        Ok(names)
    }

    fn statement(&mut self) -> Result<Local, Thrown> {
        let method = &self.methods.connection_statement;
        self.java.call::<Local>(&self.handle, method, &[])
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Derby refuses to close a connection with an open transaction. Errors have no receiver here:
        // the database rolls back what a lost connection has not committed.
        if !self.autocommit {
            drop(self.rollback());
        }
        let close = &self.methods.connection_close;
        drop(self.java.call::<()>(&self.handle, close, &[]));
    }
}
