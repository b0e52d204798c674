//! The part of the Protocol Buffers encoding that pprof files need.
//!
//! A message is a sequence of fields. A field is its number and kind in one varint, then a varint (kind 0),
//! or a length and that many bytes (kind 2): a text, a message, or a packed list of varints.

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A number. Zero is the default and is not written.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            varint(&mut self.0, u64::from(field) << 3);
            varint(&mut self.0, value);
        }
    }

    /// A packed list of numbers.
    pub(super) fn numbers(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        let mut packed = Vec::new();
        for value in values {
            varint(&mut packed, value);
        }
        self.bytes(field, &packed);
    }

    /// A nested message.
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// A text or bytes; written even if empty, because its position in a list counts.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        varint(&mut self.0, u64::from(field) << 3 | 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// The encoded bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Seven bits in each byte, lowest first; the eighth bit is set in all bytes but the last.
fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}
