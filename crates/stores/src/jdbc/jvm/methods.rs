//! The table of methods, each looked up once for the whole process.
//!
//! The ids of an interface's methods are valid for every class that implements it, so that one table
//! serves the drivers of all products.

use super::call::{Java, Shared, Thrown};
use jni::objects::{JMethodID, JObject, JStaticMethodID};
use jni::signature::{ReturnType, TypeSignature};
use std::sync::OnceLock;

/// A method of a class, ready to be called.
#[derive(Debug)]
pub(in crate::jdbc) struct Method {
    class: Shared,
    id: Id,
    name: &'static str,
    arguments: usize,
    returns: ReturnType,
}

#[derive(Clone, Copy, Debug)]
enum Id {
    OfObject(JMethodID),
    OfClass(JStaticMethodID),
}

impl Method {
    /// From an id that was looked up in that class with that signature.
    pub(super) fn of_object(
        class: Shared,
        id: JMethodID,
        name: &'static str,
        signature: &str,
    ) -> Result<Method, Thrown> {
        Method::new(class, Id::OfObject(id), name, signature)
    }

    /// As [`Method::of_object`], for a static method.
    pub(super) fn of_class(
        class: Shared,
        id: JStaticMethodID,
        name: &'static str,
        signature: &str,
    ) -> Result<Method, Thrown> {
        Method::new(class, Id::OfClass(id), name, signature)
    }

    fn new(class: Shared, id: Id, name: &'static str, signature: &str) -> Result<Method, Thrown> {
        let TypeSignature { args, ret } = TypeSignature::from_str(signature)?;
        let returns = if ret == ReturnType::Array { ReturnType::Object } else { ret };
        let arguments = args.len();
        Ok(Method { class, id, name, arguments, returns })
    }

    /// The class in which it was looked up.
    pub(in crate::jdbc) fn class(&self) -> &JObject<'static> {
        self.class.as_obj()
    }

    /// Its id, for a call on an object with that number of arguments and that return type; panics if
    /// they do not match the signature, which is a bug.
    #[inline]
    pub(super) fn for_object(&self, arguments: usize, returns: &ReturnType) -> JMethodID {
        match self.id {
            Id::OfObject(id) if self.arguments == arguments && self.returns == *returns => id,
            _ => self.misused(),
        }
    }

    /// As [`Method::for_object`], for a call without an object.
    pub(super) fn for_class(&self, arguments: usize, returns: &ReturnType) -> JStaticMethodID {
        match self.id {
            Id::OfClass(id) if self.arguments == arguments && self.returns == *returns => id,
            _ => self.misused(),
        }
    }

    #[cold]
    fn misused(&self) -> ! {
        panic!("{} is called with the wrong signature", self.name)
    }
}

macro_rules! methods {
    ($($(#[$what:meta])* $field:ident: $how:ident $class:literal $name:literal $signature:literal;)*) => {
        /// Every method, by its purpose.
        #[derive(Debug)]
        pub(in crate::jdbc) struct Methods {
            $($(#[$what])* pub(in crate::jdbc) $field: Method,)*
        }

        impl Methods {
            fn look_up(java: &mut Java) -> Result<Methods, Thrown> {
                Ok(Methods {
                    $($field: java.$how($class, $name, $signature)?,)*
                })
            }
        }
    };
}

methods! {
    throwable_message: method "java/lang/Throwable" "getMessage" "()Ljava/lang/String;";
    sql_exception_state: method "java/sql/SQLException" "getSQLState" "()Ljava/lang/String;";
    sql_exception_code: method "java/sql/SQLException" "getErrorCode" "()I";
    sql_exception_next: method "java/sql/SQLException" "getNextException" "()Ljava/sql/SQLException;";

    system_set_property: static_method "java/lang/System" "setProperty" "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;";
    system_clear_property: static_method "java/lang/System" "clearProperty" "(Ljava/lang/String;)Ljava/lang/String;";
    file_new: method "java/io/File" "<init>" "(Ljava/lang/String;)V";
    file_to_uri: method "java/io/File" "toURI" "()Ljava/net/URI;";
    uri_to_url: method "java/net/URI" "toURL" "()Ljava/net/URL;";
    loader_new: method "java/net/URLClassLoader" "<init>" "([Ljava/net/URL;)V";
    loader_class: method "java/lang/ClassLoader" "loadClass" "(Ljava/lang/String;)Ljava/lang/Class;";
    class_new: method "java/lang/Class" "newInstance" "()Ljava/lang/Object;";
    loader_resources: method "java/net/URLClassLoader" "findResources" "(Ljava/lang/String;)Ljava/util/Enumeration;";
    enumeration_more: method "java/util/Enumeration" "hasMoreElements" "()Z";
    enumeration_next: method "java/util/Enumeration" "nextElement" "()Ljava/lang/Object;";
    url_open: method "java/net/URL" "openStream" "()Ljava/io/InputStream;";
    stream_bytes: method "java/io/InputStream" "readAllBytes" "()[B";
    stream_close: method "java/io/InputStream" "close" "()V";
    properties_new: method "java/util/Properties" "<init>" "()V";
    properties_set: method "java/util/Properties" "setProperty" "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/Object;";
    decimal_of: static_method "java/math/BigDecimal" "valueOf" "(JI)Ljava/math/BigDecimal;";
    decimal_scaled: method "java/math/BigDecimal" "setScale" "(I)Ljava/math/BigDecimal;";
    decimal_units: method "java/math/BigDecimal" "unscaledValue" "()Ljava/math/BigInteger;";
    integer_long: method "java/math/BigInteger" "longValueExact" "()J";

    timestamp_new: method "java/sql/Timestamp" "<init>" "(J)V";
    timestamp_set_nanos: method "java/sql/Timestamp" "setNanos" "(I)V";
    timestamp_millis: method "java/sql/Timestamp" "getTime" "()J";
    timestamp_nanos: method "java/sql/Timestamp" "getNanos" "()I";

    driver_accepts: method "java/sql/Driver" "acceptsURL" "(Ljava/lang/String;)Z";
    driver_connect: method "java/sql/Driver" "connect" "(Ljava/lang/String;Ljava/util/Properties;)Ljava/sql/Connection;";
    connection_prepare: method "java/sql/Connection" "prepareStatement" "(Ljava/lang/String;)Ljava/sql/PreparedStatement;";
    connection_statement: method "java/sql/Connection" "createStatement" "()Ljava/sql/Statement;";
    connection_set_autocommit: method "java/sql/Connection" "setAutoCommit" "(Z)V";
    connection_set_isolation: method "java/sql/Connection" "setTransactionIsolation" "(I)V";
    connection_isolation: method "java/sql/Connection" "getTransactionIsolation" "()I";
    connection_set_schema: method "java/sql/Connection" "setSchema" "(Ljava/lang/String;)V";
    connection_set_catalog: method "java/sql/Connection" "setCatalog" "(Ljava/lang/String;)V";
    connection_commit: method "java/sql/Connection" "commit" "()V";
    connection_rollback: method "java/sql/Connection" "rollback" "()V";
    connection_close: method "java/sql/Connection" "close" "()V";
    connection_about: method "java/sql/Connection" "getMetaData" "()Ljava/sql/DatabaseMetaData;";
    connection_valid: method "java/sql/Connection" "isValid" "(I)Z";
    about_schemas: method "java/sql/DatabaseMetaData" "getSchemas" "()Ljava/sql/ResultSet;";
    about_catalogs: method "java/sql/DatabaseMetaData" "getCatalogs" "()Ljava/sql/ResultSet;";
    about_tables: method "java/sql/DatabaseMetaData" "getTables" "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;[Ljava/lang/String;)Ljava/sql/ResultSet;";
    about_product: method "java/sql/DatabaseMetaData" "getDatabaseProductName" "()Ljava/lang/String;";
    about_version: method "java/sql/DatabaseMetaData" "getDatabaseProductVersion" "()Ljava/lang/String;";
    about_driver: method "java/sql/DatabaseMetaData" "getDriverName" "()Ljava/lang/String;";
    about_driver_version: method "java/sql/DatabaseMetaData" "getDriverVersion" "()Ljava/lang/String;";
    statement_execute: method "java/sql/Statement" "execute" "(Ljava/lang/String;)Z";
    statement_query: method "java/sql/Statement" "executeQuery" "(Ljava/lang/String;)Ljava/sql/ResultSet;";
    statement_close: method "java/sql/Statement" "close" "()V";
    prepared_query: method "java/sql/PreparedStatement" "executeQuery" "()Ljava/sql/ResultSet;";
    prepared_update: method "java/sql/PreparedStatement" "executeUpdate" "()I";
    prepared_set_null: method "java/sql/PreparedStatement" "setNull" "(II)V";
    prepared_set_long: method "java/sql/PreparedStatement" "setLong" "(IJ)V";
    prepared_set_double: method "java/sql/PreparedStatement" "setDouble" "(ID)V";
    prepared_set_string: method "java/sql/PreparedStatement" "setString" "(ILjava/lang/String;)V";
    prepared_set_bytes: method "java/sql/PreparedStatement" "setBytes" "(I[B)V";
    prepared_set_decimal: method "java/sql/PreparedStatement" "setBigDecimal" "(ILjava/math/BigDecimal;)V";
    prepared_set_timestamp: method "java/sql/PreparedStatement" "setTimestamp" "(ILjava/sql/Timestamp;)V";
    prepared_add_batch: method "java/sql/PreparedStatement" "addBatch" "()V";
    prepared_run_batch: method "java/sql/Statement" "executeBatch" "()[I";
    result_next: method "java/sql/ResultSet" "next" "()Z";
    result_close: method "java/sql/ResultSet" "close" "()V";
    result_long: method "java/sql/ResultSet" "getLong" "(I)J";
    result_double: method "java/sql/ResultSet" "getDouble" "(I)D";
    result_string: method "java/sql/ResultSet" "getString" "(I)Ljava/lang/String;";
    result_bytes: method "java/sql/ResultSet" "getBytes" "(I)[B";
    result_decimal: method "java/sql/ResultSet" "getBigDecimal" "(I)Ljava/math/BigDecimal;";
    result_timestamp: method "java/sql/ResultSet" "getTimestamp" "(I)Ljava/sql/Timestamp;";
    result_was_null: method "java/sql/ResultSet" "wasNull" "()Z";
}

static METHODS: OnceLock<Methods> = OnceLock::new();

/// The table, looked up at its first use.
pub(in crate::jdbc) fn methods(java: &mut Java) -> Result<&'static Methods, Thrown> {
    if let Some(methods) = METHODS.get() {
        return Ok(methods);
    }
    let methods = Methods::look_up(java)?;
    Ok(METHODS.get_or_init(|| methods))
}

/// The table, if it was looked up already.
pub(super) fn known() -> Option<&'static Methods> {
    METHODS.get()
}
