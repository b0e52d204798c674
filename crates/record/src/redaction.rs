//! Removes hosts, paths, serial numbers and user names from a record, so that it can be published.
//!
//! 1. The fields that hold them are emptied.
//! 2. The former contents of these fields are removed from every other text too, and so is any text in the
//!    form of a path (except the kernel's own under /dev, /proc and /sys), of `host:/path`, or of the address
//!    in a URL.
//! 3. Figures, models, versions, settings and kernel names of disks stay: they are the result.

use super::any_record::Record;
use serde_json::Value;

/// The text that replaces anything removed.
pub const REMOVED: &str = "(removed)";

/// The record without anything that identifies a machine, a place or a person.
#[must_use]
pub fn share(record: &Record) -> Record {
    let mut record = record.clone();
    let secrets = take_secrets(&mut record);
    let mut value = record.to_value();
    clean(&mut value, &secrets);
    let same_type = "strings were replaced by strings, so all types are unchanged";
    match record {
        Record::Run(_) => Record::Run(serde_json::from_value(value).expect(same_type)),
        Record::Probe(_) => Record::Probe(serde_json::from_value(value).expect(same_type)),
        Record::Observation(_) => {
            Record::Observation(serde_json::from_value(value).expect(same_type))
        }
        Record::Verification(_) => {
            Record::Verification(serde_json::from_value(value).expect(same_type))
        }
    }
}

/// Empties the identifying fields and returns what they held.
fn take_secrets(record: &mut Record) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut take = |field: &mut Option<String>, replacement: Option<&str>| {
        secrets.extend(field.take());
        *field = replacement.map(str::to_owned);
    };
    match record {
        Record::Run(run) => {
            run.identity.command = None;
            take(&mut run.head.machine.host, None);
            if let Some(url) = &mut run.head.target.url {
                *url = shared_url(url);
            }
            take(&mut run.head.target.log_directory, Some(REMOVED));
            take(&mut run.end.sync_line.directory, Some(REMOVED));
            for space in &mut run.head.target.disk_space {
                let mut directory = Some(std::mem::take(&mut space.directory));
                take(&mut directory, Some(REMOVED));
                space.directory.extend(directory);
            }
            let files = run.head.workload.options.get(FILES).cloned();
            secrets.extend(files.iter().flat_map(|files| paths(files)));
            // Stacks are not shared: names of functions and threads may reveal more than figures do.
            if let Some(cost) = &mut run.end.cost {
                cost.stacks = None;
            }
        }
        Record::Observation(observation) => {
            observation.identity.command = None;
            take(&mut observation.body.machine.host, None);
            if let Some(url) = &mut observation.body.target.url {
                *url = shared_url(url);
            }
            take(&mut observation.body.target.log_directory, Some(REMOVED));
            take(&mut observation.body.sync_line.directory, Some(REMOVED));
        }
        Record::Verification(verification) => {
            verification.identity.command = None;
            take(&mut verification.body.machine.host, None);
            let subject = &mut verification.body.subject;
            if subject.contains('/') {
                let shared = shared_url(subject);
                let whole = std::mem::replace(subject, shared);
                secrets.push(whole);
            }
        }
        Record::Probe(probe) => {
            probe.identity.command = None;
            take(&mut probe.body.machine.host, None);
            take(&mut probe.body.sync_line.directory, Some(REMOVED));
            let directory = std::mem::replace(&mut probe.body.directory, REMOVED.to_owned());
            let device = &mut probe.body.device;
            let layers = device.layers.iter_mut().flat_map(|layer| &mut layer.facts);
            for fact in device.mount.iter_mut().chain(&mut device.environment).chain(layers) {
                if fact.private && fact.value.is_some() {
                    take(&mut fact.value, Some(REMOVED));
                }
            }
            secrets.push(directory);
        }
    }
    // Longest first, so that no part of a longer one is left; a word of one or two letters would match
    // everywhere.
    secrets.retain(|secret| secret.len() > 2 && secret != REMOVED);
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// The option of a workload that names files: `PATH,PATH@WEIGHT`.
const FILES: &str = "file";
/// The value of that option without files.
const NO_FILES: &str = "none";

/// The paths in that option, and the parts of each: other texts may hold a relative path or a part of it,
/// which the general rules for paths do not recognize.
fn paths(files: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.split(',').filter(|file| *file != NO_FILES) {
        let path = file.rsplit_once('@').map_or(file, |(path, weight)| {
            let is_weight = weight.bytes().all(|byte| byte.is_ascii_digit());
            if is_weight { path } else { file }
        });
        found.push(path.to_owned());
        let parts = path.split('/').filter(|part| path.contains('/') && part.len() > 2);
        found.extend(parts.map(str::to_owned));
    }
    found
}

/// Scheme and options stay: `sqlite:(removed)?durability=data`.
fn shared_url(url: &str) -> String {
    let (address, options) = url.split_once('?').unwrap_or((url, ""));
    let scheme = address.rsplit_once(':').map_or(address, |(scheme, _)| scheme);
    // Of jdbc:derby://host/db the scheme is jdbc:derby; of user:password@ nothing may stay.
    let scheme = scheme.split("//").next().unwrap_or_default().trim_end_matches(':');
    match (address.contains(':'), options.is_empty()) {
        (false, _) => url.to_owned(),
        (true, true) => format!("{scheme}:{REMOVED}"),
        (true, false) => format!("{scheme}:{REMOVED}?{options}"),
    }
}

fn clean(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = cleaned(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean(field, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cleaned(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = replace_word(&text, secret);
    }
    let ends = |character: char| character.is_whitespace() || "\"'(),;=<>".contains(character);
    let mut result = String::with_capacity(text.len());
    for piece in text.split_inclusive(ends) {
        let (word, end) = match piece.char_indices().next_back() {
            Some((at, last)) if ends(last) => piece.split_at(at),
            _ => (piece, ""),
        };
        result.push_str(&cleaned_word(word));
        result.push_str(end);
    }
    result
}

/// Replaces whole words only, so that a host called "vm" does not empty every "vmstat".
fn replace_word(text: &str, secret: &str) -> String {
    let part_of_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        let (before, found) = rest.split_at(at);
        let after = &found[secret.len()..];
        result.push_str(before);
        let inside = part_of_word(before.chars().next_back()) || part_of_word(after.chars().next());
        result.push_str(if inside { secret } else { REMOVED });
        rest = after;
    }
    result + rest
}

fn cleaned_word(word: &str) -> String {
    let kernel = ["/dev/", "/proc", "/sys"].iter().any(|root| word.starts_with(root));
    let is_path = word.len() > 1
        && (word.starts_with('/') || word.starts_with("./") || word.starts_with("~/"));
    if let Some((scheme, _)) = word.split_once("://") {
        format!("{scheme}://{REMOVED}")
    } else if let Some((scheme, rest)) = word.split_once(":/") {
        // All of NFS's host:/path identifies a host; of sqlite:/path the scheme stays.
        let known = ["sqlite", "engine", "lmdb", "rocksdb", "redb", "fjall", "file"];
        let options = rest.split_once('?').map_or_else(String::new, |(_, text)| format!("?{text}"));
        if known.contains(&scheme) {
            format!("{scheme}:{REMOVED}{options}")
        } else {
            REMOVED.into()
        }
    } else if is_path && !kernel {
        REMOVED.to_owned()
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{cleaned, paths, shared_url};

    #[test]
    fn urls_keep_scheme_and_options() {
        assert_eq!(
            shared_url("sqlite:/home/ann/x.db?durability=os"),
            "sqlite:(removed)?durability=os"
        );
        assert_eq!(shared_url("postgres://ann:secret@db.example:5432/x"), "postgres:(removed)");
        assert_eq!(shared_url("jdbc:derby://host/db?a=b"), "jdbc:derby:(removed)?a=b");
        assert_eq!(shared_url("engine"), "engine");
    }

    // A.E9
    #[test]
    fn every_path_of_an_option_is_found_also_a_relative_one() {
        assert_eq!(paths("a.sql"), ["a.sql"]);
        assert_eq!(paths("none"), Vec::<String>::new());
        assert_eq!(
            paths("joe/secret.sql@3,b@x.sql"),
            ["joe/secret.sql", "joe", "secret.sql", "b@x.sql"]
        );
    }

    #[test]
    fn paths_hosts_and_secrets_leave_texts_and_the_rest_stays() {
        let secrets = ["WD-1234".to_owned(), "vmx".to_owned()];
        let clean = |text: &str| cleaned(text, &secrets);
        assert_eq!(clean("the log in /home/ann/db, on vmx"), "the log in (removed), on (removed)");
        assert_eq!(clean("vmxnet and 12k/s of \"/srv/x\""), "vmxnet and 12k/s of \"(removed)\"");
        assert_eq!(clean("serial WD-1234."), "serial (removed).");
        assert_eq!(clean("nas.example:/export type nfs"), "(removed) type nfs");
        assert_eq!(clean("see /sys/block/vda/queue"), "see /sys/block/vda/queue");
        assert_eq!(clean("fio --filename=./x --bs=4k"), "fio --filename=(removed) --bs=4k");
        assert_eq!(clean("sqlite:/var/x?durability=os"), "sqlite:(removed)?durability=os");
        assert_eq!(clean("user/kernel time"), "user/kernel time");
    }
}
