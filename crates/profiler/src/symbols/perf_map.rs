//! What a JVM has made of Java methods: names of the machine code in memory without a file.
//!
//! `Compiler.perfmap`, which JVMs from 17 on know, writes `/tmp/perf-PID.map`: a line for each piece of
//! code, `START SIZE NAME`, numbers in hexadecimal. The name of a compiled method is written as in Java,
//! `int a.b.Class.method(int)`; other pieces are the interpreter, adapters and stubs, in words.
//!
//! Callers are found through Java's frames only in a JVM that was started with
//! `-XX:+PreserveFramePointer`. A method that was inlined is not told from the one it was inlined into,
//! and every interpreted method is the interpreter.

use crate::jvm::AttachSocket;
use std::fs;
use syncline_profile::{Frame, Name, Space};

/// The code of a JVM, as it was when asked for.
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
    /// Asks a JVM. The error says why it does not tell.
    pub(crate) fn of(pid: u32) -> Result<PerfMap, String> {
        let machine = AttachSocket::to(pid)?;
        let said = machine.command("Compiler.perfmap")?;
        let map = machine.perf_map();
        let text = fs::read(&map).map_err(|error| {
            let (map, said) = (map.display(), said.trim());
            format!("the JVM did not write {map}: {error} {said}")
        })?;
        fs::remove_file(&map)
            .map_err(|error| format!("{} cannot be removed: {error}", map.display()))?;
        Ok(PerfMap::parse(&String::from_utf8_lossy(&text)))
    }

    /// Lines that are none of a map are left out.
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

/// Class and method of `int a.b.Class.method(int)`; none of what is no method.
fn method(name: &str) -> Option<(&str, &str)> {
    let (head, _) = name.split_once('(')?;
    let qualified = head.rsplit_once(' ').map_or(head, |(_, name)| name);
    let (class, method) = qualified.rsplit_once('.')?;
    // A hidden class ends in an address that tells it apart in this process only.
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
    fn addresses_of_compiled_methods_and_stubs_are_named() {
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
    fn a_process_that_is_no_jvm_has_none() {
        assert!(PerfMap::of(std::process::id()).is_err());
    }
}
