//! Unwinds a stack from a copy of its top, with the unwind tables of the programs.
//!
//! The tables describe where a caller's frame is, with or without frame pointers. Without a table, the frame
//! pointer is used. For any copy and registers:
//!
//! 1. nothing outside the copy is read;
//! 2. each step leads to a higher stack pointer, so that unwinding ends;
//! 3. each address is in mapped code, so that an invalid one ends it.

use super::registers::Registers;
use crate::symbols::{AddressSpace, Code, Image, Symbols};
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module,
    UnwindRegsNative, Unwinder, UnwinderNative,
};
use std::fmt;
use std::sync::Arc;

/// The range of valid stack pointers; within it, adding the length of a frame does not overflow.
const STACKS: std::ops::Range<u64> = 4096..1 << 62;
/// The maximum number of return addresses in a copy.
const DEEPEST: usize = 256;

/// The unwind tables of a process.
#[derive(Clone)]
pub(crate) struct Tables(UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>);

/// Unwinds stacks, with a cache of unwind rules.
pub(crate) struct StackUnwinder(CacheNative<MayAllocateDuringUnwind>);

/// An unwound stack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnwoundStack {
    /// The instruction, then the return addresses.
    pub addresses: Vec<u64>,
    /// True if the last one is the outermost.
    pub ended: bool,
    /// The frame pointer at the last address.
    pub frame: u64,
}

impl Tables {
    /// Reads the tables of every file that a process has mapped.
    pub(crate) fn of(space: &AddressSpace, symbols: &Symbols) -> Tables {
        let mut unwinder = UnwinderNative::new();
        for code in space.code() {
            let image = symbols.image(&code.place, space.pid());
            if let Some(module) = image.and_then(|image| module(&code, &image)) {
                unwinder.add_module(module);
            }
        }
        Tables(unwinder)
    }
}

fn module(code: &Code, image: &Image) -> Option<Module<Arc<[u8]>>> {
    let stated = image.stated(code.place.offset()?)?;
    // The tables hold 32-bit offsets from here, and stated addresses start at zero or are small.
    let base = code.range.start.checked_sub(stated)?;
    let range = |section: &Option<crate::symbols::Section>| {
        section.as_ref().map(|section| section.range.clone())
    };
    let bytes = |section: &Option<crate::symbols::Section>| {
        section.as_ref().map(|section| Arc::clone(&section.bytes))
    };
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: image.text.clone(),
        got_svma: image.got.clone(),
        eh_frame_svma: range(&image.eh_frame),
        eh_frame: bytes(&image.eh_frame),
        eh_frame_hdr_svma: range(&image.eh_frame_hdr),
        eh_frame_hdr: bytes(&image.eh_frame_hdr),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Module::new(String::new(), code.range.clone(), base, sections))
}

impl StackUnwinder {
    pub(crate) fn new() -> StackUnwinder {
        StackUnwinder(CacheNative::new())
    }

    /// Unwinds until the copy of the stack or the tables end.
    pub(crate) fn unwind(
        &mut self,
        tables: &Tables,
        space: &AddressSpace,
        from: Registers,
        copy: &[u8],
    ) -> UnwoundStack {
        let mut unwound =
            UnwoundStack { addresses: vec![from.instruction], ended: false, frame: from.frame };
        if !STACKS.contains(&from.stack) {
            return unwound;
        }
        let copy = Copy { begin: from.stack, bytes: copy };
        let mut registers = native(from);
        let mut address = FrameAddress::from_instruction_pointer(from.instruction);
        let mut stack = from.stack;
        while unwound.addresses.len() < DEEPEST {
            let mut read = |address| copy.read(address).ok_or(());
            let step = tables.0.unwind_frame(address, &mut registers, &mut self.0, &mut read);
            let caller = match step {
                Ok(Some(caller)) => caller,
                Ok(None) => {
                    unwound.ended = true;
                    break;
                }
                Err(_) => break,
            };
            let next = registers.sp();
            let is_first = unwound.addresses.len() == 1;
            let rises = next > stack || (is_first && next == stack && LINKED);
            let Some(known) = FrameAddress::from_return_address(caller) else {
                unwound.ended = true;
                break;
            };
            if !rises || !STACKS.contains(&next) || !space.holds(known.address_for_lookup()) {
                break;
            }
            (address, stack) = (known, next);
            unwound.addresses.push(caller);
            unwound.frame = frame(&registers);
        }
        unwound
    }
}

/// A copy of the top of a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy<'a> {
    /// The address of its first byte.
    pub begin: u64,
    pub bytes: &'a [u8],
}

impl Copy<'_> {
    /// The eight bytes at an address; none if they are outside the copy.
    pub(crate) fn read(&self, address: u64) -> Option<u64> {
        let begin = usize::try_from(address.checked_sub(self.begin)?).ok()?;
        let bytes = self.bytes.get(begin..begin.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(target_arch = "x86_64")]
const LINKED: bool = false;
/// True on architectures where a function that calls no other may leave the stack pointer unchanged.
#[cfg(target_arch = "aarch64")]
const LINKED: bool = true;

#[cfg(target_arch = "x86_64")]
fn native(from: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(from.instruction, from.stack, from.frame)
}

#[cfg(target_arch = "aarch64")]
fn native(from: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(from.link, from.stack, from.frame)
}

#[cfg(target_arch = "x86_64")]
fn frame(registers: &UnwindRegsNative) -> u64 {
    registers.bp()
}

#[cfg(target_arch = "aarch64")]
fn frame(registers: &UnwindRegsNative) -> u64 {
    registers.fp()
}

impl fmt::Debug for Tables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tables").finish_non_exhaustive()
    }
}

impl fmt::Debug for StackUnwinder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StackUnwinder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Registers, StackUnwinder, Tables};
    use crate::symbols::{AddressSpace, Symbols};

    /// Random addresses in code, in the stack and elsewhere, from a seed.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn word(&mut self, code: &[std::ops::Range<u64>], stack: u64) -> u64 {
            let kind = self.next() % 16;
            let random = self.next();
            match kind {
                0..10 => {
                    let range = &code[random as usize % code.len()];
                    range.start + (random >> 8) % (range.end - range.start)
                }
                10..13 => stack.wrapping_add((random % 1024) & !7),
                13 => random % 16,
                14 => u64::MAX - random % 64,
                _ => random,
            }
        }
    }

    #[test]
    fn unwinding_ends_for_any_stack_and_registers() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let tables = Tables::of(&space, &Symbols::new());
        let code: Vec<_> = space.code().map(|code| code.range).collect();
        let mut unwinder = StackUnwinder::new();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let (mut deepest, mut with_callers) = (0, 0);
        for round in 0..60_000_u64 {
            let stack = match round % 8 {
                0 => random.next(),
                1 => random.next() % 8192,
                _ => 0x7ffc_0000_0000 + random.next() % 4096 * 8,
            };
            let copy: Vec<u8> =
                (0..round % 129).flat_map(|_| random.word(&code, stack).to_le_bytes()).collect();
            let from = Registers {
                instruction: random.word(&code, stack),
                stack,
                frame: random.word(&code, stack),
                link: random.word(&code, stack),
            };
            let unwound = unwinder.unwind(&tables, &space, from, &copy);
            assert_eq!(unwound.addresses[0], from.instruction);
            let callers = &unwound.addresses[1..];
            assert!(callers.iter().all(|caller| space.holds(caller - 1)));
            assert!(callers.len() <= copy.len() / 8 + 1);
            deepest = deepest.max(callers.len());
            with_callers += usize::from(!callers.is_empty());
        }
        // Otherwise the test would have exercised nothing.
        assert!(
            deepest > 5 && with_callers > 5_000,
            "{with_callers} stacks with callers, at most {deepest} deep"
        );
    }
}
