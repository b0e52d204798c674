//! One sentence for each property of the device that changes the meaning of the figures.

use super::block_device::DeviceStack;
use super::environment::Environment;
use super::mounts::Mount;
use crate::SyncBehavior;

/// The sentences for a directory on that mount.
pub(crate) fn sentences(
    mount: &Mount,
    chain: &DeviceStack,
    environment: &Environment,
) -> Vec<String> {
    let mut sentences: Vec<String> = by_file_system(mount).into_iter().collect();
    for layer in &chain.layers {
        let sentence = match &layer.standing {
            SyncBehavior::Breaks { evidence, .. } => Some(format!("{}.", capital(evidence))),
            SyncBehavior::NotKnown(reason) => Some(format!("{}.", capital(reason))),
            SyncBehavior::PassesOn if layer.kind == "loop" => Some(format!(
                "{} is a file shown as a disk, so every sync is also a sync of that file.",
                layer.name
            )),
            SyncBehavior::PassesOn => None,
        };
        // The file system's own sentence already covers it.
        let repeated = layer.depth == 0 && !sentences.is_empty();
        sentences.extend(sentence.filter(|_| !repeated));
    }
    sentences.extend(by_environment(chain, environment));
    sentences
}

fn by_file_system(mount: &Mount) -> Option<String> {
    let point = mount.point.display();
    Some(match mount.file_system.as_str() {
        "tmpfs" | "ramfs" => format!(
            "{point} is {}: its files are in memory and lost at power loss, so its rates do not describe a disk.",
            mount.file_system
        ),
        "overlay" if mount.has_option("volatile") || mount.has_option("fsync=volatile") => {
            format!("{point} is an overlay mounted volatile: it drops every sync.")
        }
        "overlay" => format!(
            "{point} is an overlay, usually a container's own layer: the first write to a file copies \
             it, and data that must be kept belongs on a volume."
        ),
        "nfs" | "nfs4" => format!(
            "{point} is NFS from {}: a sync waits for the server, which answers before its disk has \
             the data if it exports with async; this cannot be checked from here.",
            mount.source
        ),
        "9p" | "virtiofs" => format!(
            "{point} is {}: files of the host, which decides what a sync does; this cannot be checked from \
             here.",
            mount.file_system
        ),
        "ecryptfs" => format!(
            "{point} is eCryptfs over other files, so rates are those of the encryption and of the file \
             system below together."
        ),
        _ => return None,
    })
}

fn by_environment(chain: &DeviceStack, environment: &Environment) -> Vec<String> {
    let mut sentences = Vec::new();
    let virtio = chain.disks.iter().any(|disk| disk.is_virtio);
    let machine = environment.virtual_machine.as_deref();
    if let Some(machine) = machine.or(virtio.then_some("unnamed hypervisor")) {
        sentences.push(format!(
            "This is a virtual machine ({machine}): whether the host's own cache survives a power cut \
             is unknown inside this machine."
        ));
    }
    if let Some(container) = &environment.container {
        sentences.push(format!(
            "This is a container ({container}): limits on its I/O lower the rates, and other containers \
             share the disk."
        ));
    }
    sentences
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let starts_with_a_name = text
        .split(' ')
        .next()
        .is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()) || word.contains('/'));
    match letters.next() {
        Some(first) if !starts_with_a_name => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}
