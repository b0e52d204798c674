//! The environment that libpq reads, for the doors of tools that connect by it.
//!
//! A variable is used, refused by its name, or warned of; what is said otherwise outweighs it. The password's
//! variables are read by the target, so that no password is in a URL.

use std::path::Path;
use syncline_console::CannotRun;
use syncline_stores::libpq::{ENVIRONMENT, Effect, PARAMETERS};

/// Those that the target reads itself, so that no password stands in a URL.
const READ_THERE: [&str; 3] = ["password", "passfile", "service"];

/// Variables that set something of a session, and the server's name of it.
const OF_SESSION: [(&str, &str); 3] =
    [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

/// What stands outside the command line.
pub(super) struct LibpqEnvironment<V, E> {
    /// A variable of the environment.
    pub(super) variable: V,
    /// Whether a file is there.
    pub(super) exists: E,
}

/// The last value of a parameter.
pub(super) fn last<'p>(pairs: &'p [(String, String)], wanted: &str) -> Option<&'p str> {
    let found = pairs.iter().rev().find(|(name, _)| name == wanted);
    found.map(|(_, value)| value.as_str())
}

/// What of libpq's environment a URL of --on leaves aside, in sentences.
pub(super) fn unread(url: &str, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if !url.starts_with("postgres") || url.starts_with("postgres:private") {
        return Vec::new();
    }
    let unread = PARAMETERS.iter().filter(|one| !READ_THERE[..2].contains(&one.name));
    let unread = unread.filter_map(|one| one.variable);
    let unread = unread.chain(OF_SESSION.iter().map(|(name, _)| *name));
    let set = unread.filter(|name| variable(name).is_some_and(|value| !value.is_empty()));
    set.map(|name| format!("{name} is not read beside --on: say it in the URL")).collect()
}

/// Adds what the environment says and nothing else does. Warns of, or refuses, by the variable's name.
pub(super) fn environment(
    pairs: &mut Vec<(String, String)>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, CannotRun> {
    let mut warnings = Vec::new();
    let parameters = PARAMETERS.iter().filter(|one| !READ_THERE.contains(&one.name));
    let parameters = parameters.filter_map(|one| Some((one.variable?, Some(one.name), one.effect)));
    let others = ENVIRONMENT.iter().map(|one| (one.name, None, one.effect));
    for (name, parameter, effect) in parameters.chain(others) {
        let said = parameter.and_then(|parameter| last(pairs, parameter));
        let Some(value) = variable(name).filter(|_| said.is_none()) else {
            continue;
        };
        match (effect, parameter) {
            (Effect::Used(_), Some(parameter)) => pairs.push((parameter.to_owned(), value)),
            (Effect::Used(_), None) => {}
            (Effect::Only(values, why), _) => {
                if !values.iter().any(|taken| taken.eq_ignore_ascii_case(&value)) {
                    return Err(CannotRun(format!("{name}={value}: {why}")));
                }
            }
            (Effect::Refused(why), _) => {
                return Err(CannotRun(format!("{name} is set, and {why}: unset it")));
            }
            (Effect::Ignored(why), _) => {
                warnings.push(format!("{name} means nothing here: {why}"));
            }
        }
    }
    Ok(warnings)
}

/// What the environment sets of a session goes before what the user sets by options.
pub(super) fn of_session(
    pairs: &mut Vec<(String, String)>,
    variable: &impl Fn(&str) -> Option<String>,
) {
    let set = OF_SESSION.iter().filter_map(|(name, setting)| {
        let value = variable(name)?;
        let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
        Some(format!("-c {setting}={value}"))
    });
    let mut options: Vec<String> = set.collect();
    if !options.is_empty() {
        options.extend(last(pairs, "options").map(str::to_owned));
        pairs.retain(|(name, _)| name != "options");
        pairs.push(("options".to_owned(), options.join(" ")));
    }
}

/// The roots in the user's home, to which libpq holds certificates where they are there.
pub(super) fn roots<V, E>(
    pairs: &[(String, String)],
    outside: &LibpqEnvironment<V, E>,
) -> Option<String>
where
    V: Fn(&str) -> Option<String>,
    E: Fn(&Path) -> bool,
{
    let asks = matches!(last(pairs, "sslmode"), Some("require" | "verify-ca" | "verify-full"));
    if !asks || last(pairs, "sslrootcert").is_some() {
        return None;
    }
    let file = Path::new(&(outside.variable)("HOME")?).join(".postgresql/root.crt");
    (outside.exists)(&file).then(|| file.display().to_string())
}
