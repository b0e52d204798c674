//! Demangles names of functions to the names in the source.

use cpp_demangle::{DemangleOptions, Symbol};

/// Suffixes that compilers add to the name of a part or a copy of a function.
const SUFFIXES: [&str; 7] =
    [".cold", ".constprop.", ".isra.", ".llvm.", ".localalias", ".lto_priv.", ".part."];
/// Longer names are left unchanged, since demangling takes time and memory in proportion.
const LONGEST: usize = 8192;

/// The demangled name of a symbol: in Rust without its hash, in C++ without parameters, in C without the
/// suffixes of compiler and linker.
pub(super) fn demangle(symbol: &str) -> String {
    let symbol = without_suffixes(symbol);
    if symbol.len() > LONGEST {
        return symbol.to_owned();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return format!("{rust:#}");
    }
    if symbol.starts_with("_Z")
        && let Ok(parsed) = Symbol::new(symbol)
    {
        let options = DemangleOptions::new().no_params().no_return_type();
        if let Ok(name) = parsed.demangle_with_options(&options) {
            return name;
        }
    }
    symbol.to_owned()
}

/// The symbol without suffixes, and without the version after an `@`.
fn without_suffixes(symbol: &str) -> &str {
    let unversioned = symbol.split('@').next().unwrap_or(symbol);
    let suffixes = SUFFIXES.iter();
    let cuts = suffixes.filter_map(|suffix| unversioned.find(suffix));
    match cuts.min() {
        None | Some(0) => unversioned,
        Some(cut) => &unversioned[..cut],
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_are_those_of_the_source() {
        let names = [
            ("XLogFlush", "XLogFlush"),
            ("heap_hot_search.constprop.0.isra.3", "heap_hot_search"),
            ("fsync@@GLIBC_2.2.5", "fsync"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN11ha_innobase10index_readEPhPKhj16ha_rkey_function", "ha_innobase::index_read"),
            ("_Z3fooi.cold", "foo"),
            ("_Z", "_Z"),
            (".part.", ".part."),
            ("", ""),
        ];
        for (symbol, name) in names {
            assert_eq!(demangle(symbol), name);
        }
    }

    #[test]
    fn a_very_long_symbol_is_left_unchanged() {
        let symbol = format!("_Z{}", "S_".repeat(100_000));
        assert_eq!(demangle(&symbol), symbol);
    }
}
