//! The names of a JVM's compiled code, which is in memory without a file.
//!
//! `Compiler.perfmap`, available in JVMs from 17 on, writes `/tmp/perf-PID.map`: one line per piece of code,
//! `START SIZE NAME`, with hexadecimal numbers. The name of a compiled method is in Java's form, `int
//! a.b.Class.method(int)`; other pieces, with descriptive names, are the interpreter, adapters and
//! runtime routines.
//!
//! Callers are found through Java's frames only in a JVM with `-XX:+PreserveFramePointer`. An inlined method
//! is not distinguished from the method that contains it, and every interpreted method is named as the
//! interpreter.

use crate::jvm::AttachSocket;
use std::fs;
use syncline_profile::{Frame, Name, Space};

/// The code of a JVM at the time of the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerfMap {
    /// By address; pieces do not overlap.
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    start: u64,
    bytes: u64,
    class: String,
    function: String,
}

impl PerfMap {
    /// Requests the map from a JVM. The error says why it is not available.
    pub(crate) fn of(pid: u32) -> Result<PerfMap, String> {
        let machine = AttachSocket::to(pid)?;
        let reply = machine.command("Compiler.perfmap")?;
        let map = machine.perf_map();
        let text = fs::read(&map).map_err(|error| {
            let (map, reply) = (map.display(), reply.trim());
            format!("the JVM did not write {map}: {error} {reply}")
        })?;
        fs::remove_file(&map)
            .map_err(|error| format!("{} cannot be removed: {error}", map.display()))?;
        Ok(PerfMap::parse(&String::from_utf8_lossy(&text)))
    }

    /// Parses a map; invalid lines are ignored.
    fn parse(text: &str) -> PerfMap {
        let mut pieces: Vec<Piece> = text.lines().filter_map(piece).collect();
        pieces.sort_by_key(|piece| piece.start);
        PerfMap { pieces }
    }

    /// The frame at an address, if it is in the JVM's code.
    pub(crate) fn frame(&self, address: u64) -> Option<Frame> {
        let after = self.pieces.partition_point(|piece| piece.start <= address);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        (address - piece.start < piece.bytes).then(|| Frame {
            space: Space::Java,
            object: piece.class.clone(),
            name: Name::Function(piece.function.clone()),
            offset: 0,
            inlined: false,
        })
    }
}

fn piece(line: &str) -> Option<Piece> {
    let (start, rest) = line.split_once(' ')?;
    let (bytes, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16);
    let (class, function) = method(name).unwrap_or(("", name));
    Some(Piece {
        start: number(start).ok()?,
        bytes: number(bytes).ok()?,
        class: class.to_owned(),
        function: function.to_owned(),
    })
}

/// Class and method of `int a.b.Class.method(int)`; none for other names.
fn method(name: &str) -> Option<(&str, &str)> {
    let (head, _) = name.split_once('(')?;
    let qualified = head.rsplit_once(' ').map_or(head, |(_, name)| name);
    let (class, method) = qualified.rsplit_once('.')?;
    // The name of a hidden class ends in an address that is specific to the process.
    let class = class
        .split_once("$$Lambda")
        .map_or(class, |(outer, _)| &class[..outer.len() + "$$Lambda".len()]);
    let class = class.split_once("+0x").map_or(class, |(class, _)| class);
    let class = class.split_once("/0x").map_or(class, |(class, _)| class);
    (!class.is_empty() && !method.is_empty()).then_some((class, method))
}

#[cfg(test)]
mod tests {
    use super::PerfMap;
    use syncline_profile::{Name, Space};

    const MAP: &str = "\
0x00007f0000002000 0x0000000000000100 int org.apache.derby.impl.store.raw.log.LogToFile.flush(long, int)
0x00007f0000001000 0x0000000000000800 Interpreter
7f0000003000 40 void a.Known$$Lambda$3+0x00007facb8001000.run()
0x00007f0000004000 0x0000000000000010 StubRoutines (1)
0x00007f0000005000 0x0000000000000010 void <init>()
nonsense
0xzz 0x10 x
";

    #[test]
    fn addresses_of_compiled_methods_and_runtime_routines_are_named() {
        let code = PerfMap::parse(MAP);
        let at = |address: u64| {
            let frame = code.frame(address)?;
            assert_eq!(frame.space, Space::Java);
            let Name::Function(function) = frame.name else {
                panic!("{frame:?}");
            };
            Some(format!("{}|{function}", frame.object))
        };
        let log = "org.apache.derby.impl.store.raw.log.LogToFile|flush";
        assert_eq!(at(0x7f00_0000_20ff).as_deref(), Some(log));
        assert_eq!(at(0x7f00_0000_2100), None);
        assert_eq!(at(0x7f00_0000_1000).as_deref(), Some("|Interpreter"));
        assert_eq!(at(0x7f00_0000_3001).as_deref(), Some("a.Known$$Lambda|run"));
        assert_eq!(at(0x7f00_0000_4001).as_deref(), Some("|StubRoutines (1)"));
        assert_eq!(at(0x7f00_0000_5001).as_deref(), Some("|void <init>()"));
        assert_eq!(at(0), None);
    }

    #[test]
    fn a_process_that_is_not_a_jvm_has_no_map() {
        assert!(PerfMap::of(std::process::id()).is_err());
    }
}
