//! Any store with a JDBC driver, through a JVM in this process.

mod jvm;
