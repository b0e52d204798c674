//! A driver: its jar files on a class loader of their own, its object created directly.
//!
//! `DriverManager` finds no driver from a thread that Java did not start, so the driver is called
//! directly. A driver is loaded once in a process and stays loaded, so that a second run finds its code
//! compiled; other jar files, for example of another version, get a class loader of their own.

use super::jvm::{Java, Local, Shared, Thrown, given, methods};
use jni::objects::JObject;
use parking_lot::Mutex;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// A loaded driver. Any thread may use it to connect.
#[derive(Debug)]
pub(super) struct Driver {
    jars: Vec<PathBuf>,
    class: Option<String>,
    object: Shared,
}

/// The drivers loaded in this process.
static LOADED: Mutex<Vec<Arc<Driver>>> = Mutex::new(Vec::new());

impl Driver {
    /// The driver of a URL from jar files: the class of that name, or the first driver that the jars
    /// list and that accepts the URL.
    pub(super) fn of(
        jars: &[PathBuf],
        class: Option<&str>,
        url: &str,
    ) -> TargetResult<Arc<Driver>> {
        let mut loaded = LOADED.lock();
        let known = loaded.iter().find(|driver| {
            // Jars without a class may contain a driver for another URL.
            driver.jars == jars && driver.class.as_deref() == class && driver.accepts(url)
        });
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let driver = Arc::new(Driver::load(jars, class, url)?);
        loaded.push(Arc::clone(&driver));
        Ok(driver)
    }

    fn load(jars: &[PathBuf], class: Option<&str>, url: &str) -> TargetResult<Driver> {
        if let Some(absent) = jars.iter().find(|jar| !jar.is_file()) {
            let what = format!(
                "the driver jar {} does not exist; name the file in driver=JAR:JAR (this program does not fetch drivers)",
                absent.display()
            );
            return Err(Failure::new(FailureKind::Limit, what));
        }
        let mut java = Java::attach()?;
        let loader = loader(&mut java, jars).map_err(|thrown| not_loaded(&thrown))?;
        let driver = match class {
            Some(class) => by_name(&mut java, &loader, class)
                .map_err(|thrown| not_loaded(&format!("class {class}: {thrown}")))?,
            None => by_service(&mut java, &loader, url)
                .map_err(|thrown| not_loaded(&thrown))?
                .ok_or_else(|| {
                    not_loaded(
                        &"no driver in those jars accepts this URL; name its class with class=",
                    )
                })?,
        };
        let driver = java.share(&driver);
        Ok(Driver {
            jars: jars.to_vec(),
            class: class.map(str::to_owned),
            object: driver.map_err(|thrown| not_loaded(&thrown))?,
        })
    }

    /// True if it accepts that URL; an exception counts as a refusal.
    fn accepts(&self, url: &str) -> bool {
        Java::attach().is_ok_and(|mut java| takes(&mut java, &self.object, url).unwrap_or(false))
    }

    /// Connects; null if the driver does not accept that URL.
    pub(super) fn connect(
        &self,
        java: &mut Java,
        url: &str,
        properties: &[(String, String)],
    ) -> Result<Local, Thrown> {
        let methods = methods(java)?;
        let url = java.text(url)?;
        let named = java.make(&methods.properties_new, &[])?;
        for (name, value) in properties {
            let (name, value) = (java.text(name)?, java.text(value)?);
            let pair = [given(&name), given(&value)];
            java.call::<Local>(&named, &methods.properties_set, &pair)?;
        }
        let connect = &methods.driver_connect;
        java.call::<Local>(&self.object, connect, &[given(&url), given(&named)])
    }
}

fn not_loaded(why: &impl Display) -> Failure {
    let what = format!("the JDBC driver could not be loaded: {why}");
    Failure::new(FailureKind::Limit, what)
}

fn loader(java: &mut Java, jars: &[PathBuf]) -> Result<Local, Thrown> {
    let methods = methods(java)?;
    let mut urls = Vec::with_capacity(jars.len());
    for jar in jars {
        let path = java.text(&jar.to_string_lossy())?;
        let file = java.make(&methods.file_new, &[given(&path)])?;
        let uri = java.call::<Local>(&file, &methods.file_to_uri, &[])?;
        urls.push(java.call::<Local>(&uri, &methods.uri_to_url, &[])?);
    }
    let url = java.class("java/net/URL")?;
    let urls = java.array(&url, &urls)?;
    java.make(&methods.loader_new, &[given(&urls)])
}

fn by_name(java: &mut Java, loader: &Local, class: &str) -> Result<Local, Thrown> {
    let methods = methods(java)?;
    let name = java.text(class)?;
    let class = java.call::<Local>(loader, &methods.loader_class, &[given(&name)])?;
    java.call::<Local>(&class, &methods.class_new, &[])
}

/// The file in which a jar lists its drivers, one class in a line.
const SERVICES: &str = "META-INF/services/java.sql.Driver";

/// The first driver that the jars list and that accepts the URL. Java's own `ServiceLoader` cannot be
/// called from here: it requires a caller that is a Java class.
fn by_service(java: &mut Java, loader: &Local, url: &str) -> Result<Option<Local>, Thrown> {
    let methods = methods(java)?;
    let name = java.text(SERVICES)?;
    let lists = java.call::<Local>(loader, &methods.loader_resources, &[given(&name)])?;
    let mut bytes = Vec::new();
    while java.call::<bool>(&lists, &methods.enumeration_more, &[])? {
        let list = java.call::<Local>(&lists, &methods.enumeration_next, &[])?;
        let stream = java.call::<Local>(&list, &methods.url_open, &[])?;
        let read = java.call::<Local>(&stream, &methods.stream_bytes, &[])?;
        java.read_bytes(&read, &mut bytes)?;
        java.call::<()>(&stream, &methods.stream_close, &[])?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| line.split('#').next());
        let classes = lines.flatten().map(str::trim);
        for class in classes.filter(|class| !class.is_empty()) {
            let driver = by_name(java, loader, class)?;
            if takes(java, &driver, url).unwrap_or(false) {
                return Ok(Some(driver));
            }
        }
    }
    Ok(None)
}

fn takes(java: &mut Java, driver: &JObject<'_>, url: &str) -> Result<bool, Thrown> {
    let methods = methods(java)?;
    let url = java.text(url)?;
    java.call::<bool>(driver, &methods.driver_accepts, &[given(&url)])
}
