//! Percent encoding in the URLs of targets: `%26` and the like encode the character of that code.

/// Encodes a path or a value for a URL: percent codes replace the characters that separate parts of a URL.
pub fn encoded(value: &str) -> String {
    value.replace('%', "%25").replace('&', "%26").replace('?', "%3F")
}

/// With every `%XX` replaced by its character; none if one is broken or the result is not UTF-8.
pub fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let code = str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
