//! The displayed name of a frame.

use crate::stack::{Frame, Name, Space};

impl Frame {
    /// The function; of Java with its class. A function without a name is described by its two neighbours, or
    /// by its offset in its file.
    pub fn label(&self) -> String {
        let unnamed = || match (self.object.is_empty(), self.offset) {
            (true, _) => "unknown".to_owned(),
            (false, 0) => format!("unknown in {}", self.object),
            (false, offset) => format!("{} at {offset:#x}", self.object),
        };
        match (&self.name, self.space) {
            (Name::Function(name), Space::Java) => format!("{}.{name}", self.object),
            (Name::Function(name), _) => name.clone(),
            (Name::Between { before: Some(before), after: Some(after) }, _) => {
                format!("between {before} and {after}")
            }
            (Name::Between { before: Some(before), after: None }, _) => format!("after {before}"),
            (Name::Between { before: None, after: Some(after) }, _) => format!("before {after}"),
            (Name::Between { before: None, after: None } | Name::Unknown, _) => unnamed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Frame, Name, Space};

    #[test]
    fn a_frame_has_the_most_specific_known_name() {
        let name = |space, object: &str, name, offset| {
            let object = object.to_owned();
            let frame = Frame { space, object, name, offset, inlined: false };
            frame.label()
        };
        let between = |before: Option<&str>, after: Option<&str>| Name::Between {
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let cases = [
            (name(Space::Java, "a.B", Name::Function("run".to_owned()), 0), "a.B.run"),
            (name(Space::Native, "s", between(Some("a"), Some("b")), 16), "between a and b"),
            (name(Space::Native, "s", between(None, None), 16), "s at 0x10"),
            (name(Space::Native, "libc.so.6", Name::Unknown, 16), "libc.so.6 at 0x10"),
            (name(Space::Kernel, "", Name::Unknown, 0), "unknown"),
        ];
        for (label, expected) in cases {
            assert_eq!(label, expected);
        }
    }
}
