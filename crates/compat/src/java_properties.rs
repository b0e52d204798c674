//! The format of Java's property files: one key and value per line.
//!
//! ```text
//! # or ! begins a comment
//! key=value      key: value      key value
//! a backslash at the end continues \
//!     on the next line, without its leading space
//! \t \n \r \f \uXXXX and \ before any other character are escapes
//! ```

/// The pairs of a text, in order; a key may occur twice.
pub(super) fn pairs(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = line.to_owned();
        while is_continued(&whole) {
            whole.pop();
            let Some(next) = lines.next() else { break };
            whole.push_str(next.trim_start());
        }
        pairs.push(pair(&whole));
    }
    pairs
}

/// True if a line ends in an odd number of backslashes.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Splits at the first `=`, `:` or space that no backslash escapes.
fn pair(line: &str) -> (String, String) {
    let mut escaped = false;
    let end = line.find(|sign: char| {
        let ends = !escaped && (sign == '=' || sign == ':' || sign.is_whitespace());
        escaped = !escaped && sign == '\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (unescaped(key), unescaped(rest.trim()))
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            plain.push(sign);
            continue;
        }
        match signs.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => {
                let digits: String = signs.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                plain.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn a_file_reads_as_java_reads_it() {
        let text = "# comment\n! another\n\n  a=1\nb : 2\nc 3\nd=\ne=x=y\nlong=one,\\\n   two\n\
                    esc\\=aped=t\\u0041\\:b\nend\\\\=z  \n";
        let read = pairs(text);
        let read: Vec<_> = read.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(
            read,
            [
                ("a", "1"),
                ("b", "2"),
                ("c", "3"),
                ("d", ""),
                ("e", "x=y"),
                ("long", "one,two"),
                ("esc=aped", "tA:b"),
                ("end\\", "z"),
            ]
        );
    }
}
