//! Service files: sections `[name]` of `parameter=value` lines; the user's file takes precedence over
//! the system-wide one.

use super::parameters::parameter;
use crate::error::Error;
use std::path::PathBuf;

/// The directories of the system-wide file unless `PGSYSCONFDIR` is set: PostgreSQL's default, and
/// Debian's.
const FOR_ALL: [&str; 2] = ["/etc/postgresql-common", "/etc/sysconfig/pgsql"];

/// The parameters of a service; `variable` reads the environment.
pub fn service(
    name: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, Error> {
    let files = files(&variable);
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        if let Some(pairs) = section(&text, name) {
            let pairs = pairs
                .map_err(|why| Error::Conninfo { why: format!("{}: {why}", file.display()) })?;
            return Ok(pairs);
        }
    }
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    Err(Error::Conninfo {
        why: format!("the service \"{name}\" was not found in {}", files.join(", ")),
    })
}

fn files(variable: &impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let own = variable("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".pg_service.conf")));
    let for_all = match variable("PGSYSCONFDIR") {
        Some(directory) => vec![directory],
        None => FOR_ALL.map(str::to_owned).to_vec(),
    };
    let for_all = for_all.iter().map(|directory| PathBuf::from(directory).join("pg_service.conf"));
    own.into_iter().chain(for_all).collect()
}

/// The parameters in a section; `None` if the section does not exist.
fn section(text: &str, name: &str) -> Option<Result<Vec<(String, String)>, String>> {
    let mut lines = text.lines().zip(1..);
    lines.find(|(line, _)| {
        let line = line.trim();
        line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) == Some(name)
    })?;
    let of_section = lines.take_while(|(line, _)| !line.trim_start().starts_with('['));
    let filled = of_section.filter(|(line, _)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let pairs = filled.map(|(line, number)| {
        let pair = line.trim().split_once('=');
        let (name, value) = pair.ok_or_else(|| format!("line {number} has no ="))?;
        let (name, value) = (name.trim(), value.trim());
        // A service that names a service could name itself.
        if parameter(name).is_none() || name == "service" {
            return Err(format!("line {number}: \"{name}\" is not a parameter of a service"));
        }
        Ok((name.to_owned(), value.to_owned()))
    });
    Some(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::{section, service};

    const TEXT: &str =
        "# all\n[other]\nhost=no\n\n[mine]\n host = db \n# port=1\nport=7\n[last]\nhost\n";

    #[test]
    fn a_service_has_only_the_parameters_of_its_section() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let found = section(TEXT, "mine").unwrap().unwrap();
        assert_eq!(found, [pair("host", "db"), pair("port", "7")]);
        assert!(section(TEXT, "none").is_none());
        assert_eq!(section(TEXT, "last"), Some(Err("line 10 has no =".to_owned())));
        let itself = section("[a]\nservice=a", "a").unwrap().unwrap_err();
        assert!(itself.contains("not a parameter of a service"), "{itself}");
    }

    #[test]
    fn an_unknown_service_is_refused_with_the_files_that_were_read() {
        let variable = |name: &str| match name {
            "PGSERVICEFILE" => Some("/nowhere/services".to_owned()),
            "PGSYSCONFDIR" => Some("/nowhere/at/all".to_owned()),
            _ => None,
        };
        let why = service("shop", variable).unwrap_err().to_string();
        assert!(why.contains("/nowhere/services, /nowhere/at/all/pg_service.conf"), "{why}");
    }
}
