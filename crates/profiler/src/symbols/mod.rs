//! What addresses and threads are called.
//!
//! [`AddressSpace`] knows which file a process has mapped where, [`Symbols`] reads the symbol tables of
//! those files (each once) and the kernel's, and [`ThreadNames`] remembers what threads called themselves.
//! A frame is named in two steps, so that the second can wait until the load is over, or the process
//! has ended: an address of a process becomes a [`CodeLocation`], a place becomes frames: the function that
//! stands there, and those that the compiler put into it, where a file's debug information says so.
//!
//! 1. A function with a symbol that covers the address is that function; its name is demangled, without
//!    parameters, hashes and the compiler's suffixes for parts and clones.
//! 2. Any other address in a file stands between its two nearest symbols, and its offset is the begin
//!    of its function by the unwind table, if that knows it. What C++ puts into every file that uses it
//!    (weak symbols) is no neighbour: it does not tell which file it stands in.
//! 3. Offsets are addresses as the file states them, as `nm` and `objdump` show them.
//! 4. A return address may stand one past the end of the function that called: whoever asks for the
//!    name of a caller asks for the address before the return address.
//! 5. An inlined function is named by debug information alone, and has the offset of the one that it was
//!    put into. That one has its symbol's name; only where it has none does debug information name it.
//! 6. Only regular files are opened, and the vDSO is read from this process, which has the same.

mod address_space;
mod debug_files;
mod demangle;
mod elf_image;
mod inlined_functions;
mod kernel_symbols;
mod perf_map;
mod proc_maps;
mod process_titles;
mod source_paths;
#[allow(clippy::module_inception, reason = "the one type that the room is named for")]
mod symbols;
#[cfg(test)]
mod test_library;
mod thread_names;

pub(crate) use address_space::{AddressSpace, Code, CodeLocation};
pub(crate) use elf_image::{Image, Section};
pub(crate) use perf_map::PerfMap;
pub(crate) use symbols::Symbols;
pub(crate) use thread_names::ThreadNames;
