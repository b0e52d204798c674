//! Why the kernel refuses BPF programs, and how to permit them, as a sentence.

use std::error::Error;
use std::io;
use std::path::Path;
use syncline_host::read_line;

const DISABLED: &str = "/proc/sys/kernel/unprivileged_bpf_disabled";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// The cause of an error, as a sentence.
pub(super) fn refusal(error: &(dyn Error + 'static)) -> String {
    let machine = Machine {
        unprivileged_disabled: read_line(Path::new(DISABLED)),
        lockdown: read_line(Path::new(LOCKDOWN)),
        program: std::env::current_exe()
            .map_or_else(|_| "syncline".to_owned(), |path| path.display().to_string()),
    };
    sentence(error, &machine)
}

/// The machine's restrictions.
struct Machine {
    unprivileged_disabled: Option<String>,
    lockdown: Option<String>,
    program: String,
}

fn sentence(error: &(dyn Error + 'static), machine: &Machine) -> String {
    let number = system_error(error).and_then(io::Error::raw_os_error);
    let errno = number.map(rustix::io::Errno::from_raw_os_error);
    if let Some(lockdown) = &machine.lockdown
        && lockdown.contains("[confidentiality]")
    {
        return "the kernel is locked down to confidentiality and lets no BPF program read its \
                memory: start it with lockdown=integrity, or without"
            .to_owned();
    }
    match errno {
        Some(rustix::io::Errno::PERM) => {
            let disabled = machine.unprivileged_disabled.as_deref();
            let disabled = disabled.map_or_else(String::new, |value| {
                format!(" (kernel.unprivileged_bpf_disabled is {value})")
            });
            format!(
                "the kernel does not let this user run BPF programs{disabled}: run as root, or as \
                 root: setcap cap_bpf,cap_perfmon,cap_dac_read_search+ep {}",
                machine.program
            )
        }
        Some(rustix::io::Errno::NOSYS) => "this kernel was built without BPF programs: use one \
                                           with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS"
            .to_owned(),
        // The second is the verifier's answer to a program that it does not understand.
        Some(rustix::io::Errno::INVAL | rustix::io::Errno::ACCESS) => format!(
            "this kernel refuses the profiler's BPF programs, which require Linux 5.8 or later with \
             CONFIG_BPF_EVENTS: {}",
            chain(error)
        ),
        _ => format!("the profiler's BPF programs do not work here: {}", chain(error)),
    }
}

/// The system call's error at the end of the chain of causes.
fn system_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<io::Error>() {
            return Some(found);
        }
        at = error.source();
    }
    None
}

/// How much of a long message is kept at its begin and end.
const HEAD: usize = 150;
const TAIL: usize = 350;

/// An error with its causes, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut at = error.source();
    while let Some(cause) = at {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        at = cause.source();
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let line = lines.join("; ");
    let length = line.chars().count();
    if length <= HEAD + TAIL {
        return line;
    }
    // The verifier's message ends with the error.
    let head: String = line.chars().take(HEAD).collect();
    let tail: String = line.chars().skip(length - TAIL).collect();
    format!("{head} ... {tail}")
}

#[cfg(test)]
mod tests {
    use super::{Machine, sentence};
    use rustix::io::Errno;
    use std::io;

    fn sentence_of(errno: Errno, lockdown: Option<&str>) -> String {
        let machine = Machine {
            unprivileged_disabled: Some("2".to_owned()),
            lockdown: lockdown.map(str::to_owned),
            program: "syncline".to_owned(),
        };
        let error = io::Error::from_raw_os_error(errno.raw_os_error());
        sentence(&error, &machine)
    }

    #[test]
    fn each_refusal_says_how_to_permit_it() {
        let permission = sentence_of(Errno::PERM, Some("[none] integrity confidentiality"));
        assert!(permission.contains("unprivileged_bpf_disabled is 2"), "{permission}");
        assert!(permission.contains("setcap cap_bpf,cap_perfmon"), "{permission}");
        let locked = sentence_of(Errno::PERM, Some("none integrity [confidentiality]"));
        assert!(locked.contains("lockdown=integrity"), "{locked}");
        assert!(sentence_of(Errno::NOSYS, None).contains("CONFIG_BPF_SYSCALL"));
        assert!(sentence_of(Errno::INVAL, None).contains("5.8"));
        assert!(sentence_of(Errno::NOMEM, None).contains("memory"));
    }
}
