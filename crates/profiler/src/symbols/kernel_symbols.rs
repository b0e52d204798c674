//! The kernel's functions, from `/proc/kallsyms`.
//!
//! A line is `ADDRESS TYPE NAME`, and for a kernel module its name in brackets. For users who may not see
//! addresses they are all zero, and then no function is known.

use super::demangle::demangle;
use std::fs;
use syncline_profile::{Frame, Name, Space};

/// The object name of frames in the kernel itself.
const KERNEL: &str = "kernel";
/// The prefix of the padding before a function, which is not a function.
const PADDING: &str = "__pfx_";

/// The kernel's functions by address.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    functions: Vec<(u64, Box<str>, Option<Box<str>>)>,
}

impl Kernel {
    pub(super) fn read() -> Kernel {
        let text = fs::read("/proc/kallsyms").unwrap_or_default();
        Kernel::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Kernel {
        let mut functions: Vec<_> = text.lines().filter_map(function).collect();
        functions.sort_by(|one, other| {
            let plainness = |name: &str| (name.starts_with('_'), name.len());
            let order = one.0.cmp(&other.0);
            order.then_with(|| plainness(&one.1).cmp(&plainness(&other.1)))
        });
        functions.dedup_by_key(|function| function.0);
        Kernel { functions }
    }

    pub(super) fn frame(&self, address: u64) -> Frame {
        let after = self.functions.partition_point(|function| function.0 <= address);
        let function = after.checked_sub(1).and_then(|at| self.functions.get(at));
        let (name, module) = match function {
            Some((_, name, module)) => (Name::Function(demangle(name)), module.as_deref()),
            None => (Name::Unknown, None),
        };
        Frame {
            space: Space::Kernel,
            object: module.unwrap_or(KERNEL).to_owned(),
            name,
            offset: 0,
            inlined: false,
        }
    }
}

fn function(line: &str) -> Option<(u64, Box<str>, Option<Box<str>>)> {
    let mut fields = line.split_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok()?;
    let is_text = matches!(fields.next()?, "t" | "T" | "w" | "W");
    let name = fields.next()?;
    if !is_text || address == 0 || name.starts_with(PADDING) {
        return None;
    }
    let module = fields.next();
    let module = module.map(|module| module.trim_matches(['[', ']']).into());
    Some((address, name.into(), module))
}

#[cfg(test)]
mod tests {
    use super::Kernel;
    use syncline_profile::{Name, Space};

    #[test]
    fn functions_of_the_kernel_and_its_modules_are_named() {
        let kernel = Kernel::parse(
            "ffffffff81000010 T do_syscall_64\nffffffff81000010 t __do_syscall\n\
             ffffffff81000000 T __pfx_do_syscall_64\nffffffff81000090 d data\n\
             ffffffffc0000000 t ext4_sync.isra.0\t[ext4]\n",
        );
        let named = |address| {
            let frame = kernel.frame(address);
            assert_eq!(frame.space, Space::Kernel);
            (frame.object, frame.name)
        };
        let function = |name: &str| Name::Function(name.to_owned());
        let syscall = ("kernel".to_owned(), function("do_syscall_64"));
        assert_eq!(named(0xffff_ffff_8100_0099), syscall);
        let sync = ("ext4".to_owned(), function("ext4_sync"));
        assert_eq!(named(0xffff_ffff_c000_0001), sync);
        assert_eq!(named(1), ("kernel".to_owned(), Name::Unknown));
    }

    #[test]
    fn hidden_addresses_give_no_names() {
        let kernel = Kernel::parse("0000000000000000 T do_syscall_64\n");
        assert_eq!(kernel.frame(0xffff_ffff_8100_0099).name, Name::Unknown);
    }
}
