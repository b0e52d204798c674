//! Names of functions in the form in which maps and tables compare them.

/// Suffixes that compilers append to split parts of a function, and the separator of symbol versions.
const PARTS: [&str; 7] = [".part.", ".constprop.", ".isra.", ".cold", ".lto_priv.", ".llvm.", "@@"];

/// A symbol without the suffixes of a compiler or a version script.
pub(super) fn whole(name: &str) -> &str {
    let ends = PARTS.iter().filter_map(|part| name.find(part));
    &name[..ends.min().unwrap_or(name.len())]
}

/// The scope and name of a C++ function, without result, parameters and template arguments: `void
/// a::b<int>::c(long) const` is `a::b::c`. Names of C and Rust are unchanged.
pub(super) fn bare(name: &str) -> String {
    let (mut depth, mut bare, mut previous) = (0_u32, String::new(), ' ');
    let name = name.replace("(anonymous namespace)", "{anonymous}");
    let name = name.split_once("operator").map_or(&*name, |(scope, _)| {
        if scope.is_empty() || scope.ends_with([':', ' ']) { scope } else { &name }
    });
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' if previous != '-' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            ' ' | '*' | '&' if depth == 0 => bare.clear(),
            _ if depth == 0 => bare.push(letter),
            _ => {}
        }
        previous = letter;
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::{bare, whole};

    #[test]
    fn split_parts_of_a_function_have_its_name() {
        assert_eq!(whole("heap_insert.part.0"), "heap_insert");
        assert_eq!(whole("XLogFlush.constprop.1.cold"), "XLogFlush");
        assert_eq!(whole("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(whole("heap_insert"), "heap_insert");
    }

    #[test]
    fn a_method_is_reduced_to_its_scope_and_name() {
        let cases = [
            ("handler::ha_write_row(unsigned char const*)", "handler::ha_write_row"),
            (
                "void std::vector<int, std::allocator<int> >::push<long>(long&&) const",
                "std::vector::push",
            ),
            ("dberr_t* (anonymous namespace)::find(int)", "{anonymous}::find"),
            ("trx_commit", "trx_commit"),
            ("Item::operator new(unsigned long)", "Item::"),
            ("my_operator_of(int)", "my_operator_of"),
        ];
        for (name, expected) in cases {
            assert_eq!(bare(name), expected, "{name}");
        }
    }
}
