//! The location of the database: in a managed directory, in memory, or on a server, where only a managed
//! schema is used.

use super::product::{Embedded, Product};
use super::settings::{LISTING, Settings};
use crate::directory::Directory;
use crate::error::Error;
use crate::server::{Address, AddressForm, Host, SchemaName};
use crate::url::Url;
use syncline_contract::{Durability, LogLocation};

/// The location of the database, and the URL with which the driver connects.
#[derive(Debug)]
pub(super) enum DatabaseLocation {
    /// Embedded, on disk.
    Directory {
        directory: Directory,
        embedded: &'static Embedded,
        durability: Durability,
        url: String,
    },
    /// Embedded, in memory.
    Memory { url: String },
    /// On a server.
    Server { address: Address, schema: SchemaName, url: String },
}

/// Attributes that an embedded database may not have: they would leave files that are never removed.
const ELSEWHERE: [&str; 3] = ["logdevice", "createfrom", "restorefrom"];

impl DatabaseLocation {
    /// From a URL; changes nothing.
    pub(super) fn of(
        url: &Url,
        product: &'static Product,
        settings: &Settings,
    ) -> Result<DatabaseLocation, Error> {
        let rest = url.path.as_deref().unwrap_or_default();
        let rest = rest.split_once(':').map_or("", |(_, rest)| rest);
        let (place, attributes) = match rest.find(';') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        match &product.embedded {
            Some(embedded) if !is_server(place) => {
                if place.starts_with("mem:") || place.starts_with("memory:") {
                    return in_memory(product, settings, place, attributes);
                }
                let known = embedded.elsewhere.iter().find(|word| place.starts_with(**word));
                if let Some(word) = known {
                    return Err(refused(format!("{word} of {}", product.name)));
                }
                in_directory(url, embedded, product, settings, place, attributes)
            }
            _ => on_server(url, product, settings, rest),
        }
    }

    /// The URL for the driver. It may contain secrets of the user: it is never shown.
    pub(super) fn url(&self) -> &str {
        match self {
            DatabaseLocation::Directory { url, .. }
            | DatabaseLocation::Memory { url }
            | DatabaseLocation::Server { url, .. } => url,
        }
    }

    /// The log's location, for a database in this process.
    pub(super) fn log_location(&self) -> Option<LogLocation> {
        match self {
            DatabaseLocation::Directory { directory, .. } => Some(directory.log_location()),
            DatabaseLocation::Memory { .. } => {
                Some(LogLocation::Nowhere("it has no log".to_owned()))
            }
            DatabaseLocation::Server { .. } => None,
        }
    }
}

fn is_server(place: &str) -> bool {
    place.contains("//")
}

fn refused(what: String) -> Error {
    let target = LISTING.name;
    Error::NotHonoured { target, what }
}

fn in_memory(
    product: &'static Product,
    settings: &Settings,
    place: &str,
    attributes: &str,
) -> Result<DatabaseLocation, Error> {
    match settings.durability {
        None | Some(Durability::None) => {
            let url = format!("jdbc:{}:{place}{attributes}", product.word);
            Ok(DatabaseLocation::Memory { url })
        }
        Some(word) => {
            Err(refused(format!("durability={}: the database is in memory", word.word())))
        }
    }
}

fn in_directory(
    url: &Url,
    embedded: &'static Embedded,
    product: &'static Product,
    settings: &Settings,
    place: &str,
    attributes: &str,
) -> Result<DatabaseLocation, Error> {
    let durability = settings.durability.unwrap_or(embedded.default);
    if !embedded.durabilities.contains(&durability) {
        let supported: Vec<_> = embedded.durabilities.iter().map(|word| word.word()).collect();
        return Err(refused(format!(
            "durability={}: an embedded {} supports {}",
            durability.word(),
            product.name,
            supported.join(" and ")
        )));
    }
    let mut own = String::new();
    for attribute in attributes.split(';').filter(|text| !text.is_empty()) {
        let name = attribute.split('=').next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        if ELSEWHERE.contains(&name.as_str()) {
            return Err(refused(format!("{name}, which would leave files elsewhere")));
        }
        // The database is created in any case.
        if name != "create" {
            own.push(';');
            own.push_str(attribute);
        }
    }
    let path = place.strip_prefix("file:").unwrap_or(place);
    let of = Url { path: Some(path.to_owned()).filter(|path| !path.is_empty()), ..url.clone() };
    let directory = Directory::of(&of, LISTING, embedded.files, product.word)?;
    let url = (embedded.url)(directory.path(), durability) + &own;
    Ok(DatabaseLocation::Directory { directory, embedded, durability, url })
}

fn on_server(
    url: &Url,
    product: &'static Product,
    settings: &Settings,
    rest: &str,
) -> Result<DatabaseLocation, Error> {
    let word = url.path.as_deref().unwrap_or_default();
    let word = word.split(':').next().unwrap_or_default();
    let malformed = |why| Error::Malformed { url: url.text.clone(), why, form: LISTING.form };
    if word.is_empty() {
        return Err(malformed("it does not name a product"));
    }
    // The part before the two slashes belongs to the driver; the rest is parsed like every server's
    // address, so that user and password are found, hidden and passed separately.
    let raw = url.raw_path.as_deref().unwrap_or_default();
    let (before, after) = raw.split_once("//").unwrap_or((raw, ""));
    let end = after.find(['/', ';', ',']).unwrap_or(after.len());
    let (authority, behind) = after.split_at(end);
    let bare = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let of = Url { raw_path: Some(format!("//{authority}")), ..url.clone() };
    let form = AddressForm {
        form: LISTING.form,
        port: product.port,
        password_variable: "SYNCLINE_PASSWORD",
        socket_file: |_| String::new(),
    };
    let mut address = Address::of(&of, &form)?;
    address.scheme = format!("jdbc:{word}");
    address.user = settings.user.clone().or(address.user);
    if let Host::Socket(_) = address.host {
        return Err(malformed("JDBC cannot connect through a Unix socket"));
    }
    let url = if raw.contains("//") {
        format!("jdbc:{before}//{bare}{behind}")
    } else {
        format!("jdbc:{word}:{rest}")
    };
    Ok(DatabaseLocation::Server { address, schema: SchemaName::fresh(), url })
}
