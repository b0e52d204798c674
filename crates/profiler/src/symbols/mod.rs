//! Names addresses and threads.
//!
//! [`AddressSpace`] knows which file a process has mapped where, [`Symbols`] reads the symbol tables of those
//! files (each once) and of the kernel, and [`ThreadNames`] remembers the names of threads. Naming takes two
//! steps, so that the second can wait until the load is over or the process has ended: an address of a
//! process becomes a [`CodeLocation`], and a location becomes frames: the function there, and those that the
//! compiler inlined into it, if the file's debug information contains them.
//!
//! 1. A function with a symbol that covers the address is named by it; the name is demangled, without
//!    parameters, hashes and compiler suffixes for parts and clones.
//! 2. Any other address in a file is between its two nearest symbols, and its offset is the begin of its
//!    function, if the unwind table contains it. Weak C++ symbols are not used as neighbours: they occur in
//!    every file that uses them, so they do not identify a source file.
//! 3. Offsets are addresses as the file states them, as `nm` and `objdump` show them.
//! 4. A return address may be one past the end of the calling function: to name a caller, look up the address
//!    before the return address.
//! 5. Only debug information names an inlined function, which has the offset of the function that contains
//!    it. That function has its symbol's name; only without a symbol does debug information name it.
//! 6. Only regular files are opened. The vDSO is read from this process, which has the same one.
//!
//! | file | what it holds |
//! |---|---|
//! | `symbols.rs` | the symbol tables that were read, and the frames of addresses |
//! | `address_space.rs`, `proc_maps.rs` | the mapping of a process's addresses to files |
//! | `elf_image.rs`, `debug_files.rs`, `kernel_symbols.rs`, `perf_map.rs` | the sources of names: ELF files, separate debug files, the kernel, a JVM's map |
//! | `inlined_functions.rs`, `demangle.rs`, `source_paths.rs` | inlined functions; demangled names; the source file of a function |
//! | `thread_names.rs`, `process_titles.rs` | names of threads; titles of processes |
//! | `test_library.rs` | a small C++ library for tests |

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
#[allow(clippy::module_inception, reason = "the type that the module is named after")]
mod symbols;
#[cfg(test)]
mod test_library;
mod thread_names;

pub(crate) use address_space::{AddressSpace, Code, CodeLocation};
pub(crate) use elf_image::{Image, Section};
pub(crate) use perf_map::PerfMap;
pub(crate) use symbols::Symbols;
pub(crate) use thread_names::ThreadNames;
