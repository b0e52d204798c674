//! Names of functions as their programmers wrote them.

use cpp_demangle::{DemangleOptions, Symbol};

/// What compilers add to the name of a function of which they made a part or a copy.
const SUFFIXES: [&str; 7] =
    [".cold", ".constprop.", ".isra.", ".llvm.", ".localalias", ".lto_priv.", ".part."];
/// A longer name is left as it is: demangling takes time and memory that grow with it.
const LONGEST: usize = 8192;

/// The name behind a symbol: of Rust without its hash, of C++ without parameters, of C without what
/// the compiler or the linker added.
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

/// Also without the version that follows an `@`.
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
    fn a_monstrous_symbol_is_left_as_it_is() {
        let symbol = format!("_Z{}", "S_".repeat(100_000));
        assert_eq!(demangle(&symbol), symbol);
    }
}
