//! UUIDs.

use std::fmt;
use std::str::FromStr;

/// A UUID: sixteen bytes, ordered byte by byte. Any version; nothing in it is interpreted.
///
/// ```
/// use syncline_engine::Uuid;
///
/// let id: Uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8".parse().expect("a UUID");
/// assert_eq!(id.0[..2], [0x67, 0xe5]);
/// assert_eq!(id.to_string(), "67e55044-10b1-426f-9247-bb680e5fe0c8");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

/// A text that is not a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a UUID is 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12")]
pub struct NoUuid;

/// Where hyphens are in the text.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let hyphen = if [4, 6, 8, 10].contains(&at) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = NoUuid;

    fn from_str(text: &str) -> Result<Uuid, NoUuid> {
        let text = text.as_bytes();
        if text.len() != 36 || HYPHENS.iter().any(|at| text[*at] != b'-') {
            return Err(NoUuid);
        }
        let digits = text.iter().enumerate().filter(|(at, _)| !HYPHENS.contains(at));
        let mut uuid = Uuid::default();
        for (number, (_, digit)) in digits.enumerate() {
            let digit = char::from(*digit).to_digit(16).ok_or(NoUuid)?;
            uuid.0[number / 2] = uuid.0[number / 2] << 4 | digit as u8;
        }
        Ok(uuid)
    }
}

impl From<u128> for Uuid {
    fn from(number: u128) -> Uuid {
        Uuid(number.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;

    #[test]
    fn text_and_bytes_agree_and_other_text_is_refused() {
        for number in [0, 1, u128::MAX, 0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8] {
            let uuid = Uuid::from(number);
            assert_eq!(uuid.to_string().parse(), Ok(uuid));
            assert_eq!(uuid.to_string().to_uppercase().parse(), Ok(uuid));
        }
        for text in [
            "",
            "67e5504410b1426f9247bb680e5fe0c8",
            "67e55044-10b1-426f-9247-bb680e5fe0c",
            "67e55044-10b1-426f-9247-bb680e5fe0cg",
            "67e5504-410b1-426f-9247-bb680e5fe0c8",
        ] {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
    }
}
