//! The environment that libpq reads, for the commands of tools that connect with libpq.
//!
//! A variable is used, refused by name, or ignored with a warning; a value on the command line takes
//! precedence. The target itself reads the password's variables, so that no URL contains a password.

use std::path::Path;
use syncline_console::CannotRun;
use syncline_stores::libpq::{ENVIRONMENT, Effect, PARAMETERS};

/// Parameters that the target reads itself, so that no URL contains a password.
const READ_THERE: [&str; 3] = ["password", "passfile", "service"];

/// Variables that set a session parameter, with the server's name for it.
const OF_SESSION: [(&str, &str); 3] =
    [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

/// The environment outside the command line.
pub(super) struct LibpqEnvironment<V, E> {
    /// Looks up an environment variable.
    pub(super) variable: V,
    /// True if a file exists.
    pub(super) exists: E,
}

/// The last value of a parameter.
pub(super) fn last<'p>(pairs: &'p [(String, String)], wanted: &str) -> Option<&'p str> {
    let found = pairs.iter().rev().find(|(name, _)| name == wanted);
    found.map(|(_, value)| value.as_str())
}

/// Warnings for the variables of libpq that a URL of --on overrides.
pub(super) fn unread(url: &str, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if !url.starts_with("postgres") || url.starts_with("postgres:private") {
        return Vec::new();
    }
    let unread = PARAMETERS.iter().filter(|one| !READ_THERE[..2].contains(&one.name));
    let unread = unread.filter_map(|one| one.variable);
    let unread = unread.chain(OF_SESSION.iter().map(|(name, _)| *name));
    let set = unread.filter(|name| variable(name).is_some_and(|value| !value.is_empty()));
    set.map(|name| format!("{name} is ignored because --on is given: set it in the URL")).collect()
}

/// Adds the parameters that only the environment sets. Warns about or refuses the others, by the variable's
/// name.
pub(super) fn environment(
    pairs: &mut Vec<(String, String)>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, CannotRun> {
    let mut warnings = Vec::new();
    let parameters = PARAMETERS.iter().filter(|one| !READ_THERE.contains(&one.name));
    let parameters = parameters.filter_map(|one| Some((one.variable?, Some(one.name), one.effect)));
    let others = ENVIRONMENT.iter().map(|one| (one.name, None, one.effect));
    for (name, parameter, effect) in parameters.chain(others) {
        let already_set = parameter.and_then(|parameter| last(pairs, parameter));
        let Some(value) = variable(name).filter(|_| already_set.is_none()) else {
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
                warnings.push(format!("{name} has no effect here: {why}"));
            }
        }
    }
    Ok(warnings)
}

/// Puts the session parameters of the environment before the user's own options.
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

/// The root certificates in the user's home, with which libpq verifies servers if the file exists.
pub(super) fn roots<V, E>(
    pairs: &[(String, String)],
    outside: &LibpqEnvironment<V, E>,
) -> Option<String>
where
    V: Fn(&str) -> Option<String>,
    E: Fn(&Path) -> bool,
{
    let verifies = matches!(last(pairs, "sslmode"), Some("require" | "verify-ca" | "verify-full"));
    if !verifies || last(pairs, "sslrootcert").is_some() {
        return None;
    }
    let file = Path::new(&(outside.variable)("HOME")?).join(".postgresql/root.crt");
    (outside.exists)(&file).then(|| file.display().to_string())
}
