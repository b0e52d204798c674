//! Tests with generated recordings, valid and broken.

use super::JfrFrame;
use super::chunk::chunks;

/// Writes whole numbers as recordings encode them.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn whole(&mut self, mut value: u64) -> &mut Writer {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
        self
    }

    fn wholes(&mut self, values: &[u64]) -> &mut Writer {
        for value in values {
            self.whole(*value);
        }
        self
    }

    fn text(&mut self, text: &str) -> &mut Writer {
        self.bytes.push(3);
        self.whole(text.len() as u64);
        self.bytes.extend(text.bytes());
        self
    }

    /// Writes an event after its size in four bytes, as the JVM does.
    fn event(&mut self, body: &[u8]) {
        let size = body.len() as u32 + 4;
        for place in 0..3 {
            self.bytes.push((size >> (7 * place)) as u8 & 0x7f | 0x80);
        }
        self.bytes.push((size >> 21) as u8);
        self.bytes.extend(body);
    }
}

const LONG: u64 = 10;
const TEXT: u64 = 11;
const SYMBOL: u64 = 12;
const CLASS: u64 = 13;
const METHOD: u64 = 14;
const KIND: u64 = 15;
const FRAME: u64 = 16;
const STACK: u64 = 17;
const SAMPLE: u64 = 18;

/// A type: number, name, and for each field its name, type and attribute.
type Definition<'a> = (u64, &'a str, &'a [(&'a str, u64, &'a str)]);

const TYPES: &[Definition<'_>] = &[
    (LONG, "long", &[]),
    (TEXT, "java.lang.String", &[]),
    (SYMBOL, "jdk.types.Symbol", &[("string", TEXT, "")]),
    (CLASS, "java.lang.Class", &[("name", SYMBOL, "constantPool")]),
    (
        METHOD,
        "jdk.types.Method",
        &[("type", CLASS, "constantPool"), ("name", SYMBOL, "constantPool")],
    ),
    (KIND, "jdk.types.FrameType", &[("description", TEXT, "")]),
    (
        FRAME,
        "jdk.types.StackFrame",
        &[("method", METHOD, "constantPool"), ("type", KIND, "constantPool")],
    ),
    (STACK, "jdk.types.StackTrace", &[("frames", FRAME, "dimension")]),
    (
        SAMPLE,
        "test.Sample",
        &[
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("note", TEXT, ""),
            ("stackTrace", STACK, "constantPool"),
        ],
    ),
];

fn metadata(types: &[Definition<'_>]) -> Vec<u8> {
    let mut texts: Vec<String> = Vec::new();
    let mut tree = Writer::default();
    let mut text = |text: &str| {
        let known = texts.iter().position(|other| other == text);
        known.unwrap_or_else(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        }) as u64
    };
    let head = [text("root"), 0, 1, text("metadata"), 0, types.len() as u64];
    tree.wholes(&head);
    for (id, name, fields) in types {
        tree.wholes(&[text("class"), 2, text("id"), text(&id.to_string())]);
        tree.wholes(&[text("name"), text(name), fields.len() as u64]);
        for (name, class, special) in *fields {
            let count = 2 + u64::from(!special.is_empty());
            tree.wholes(&[text("field"), count, text("name"), text(name)]);
            tree.wholes(&[text("class"), text(&class.to_string())]);
            match *special {
                "" => {}
                "dimension" => {
                    tree.wholes(&[text("dimension"), text("1")]);
                }
                special => {
                    tree.wholes(&[text(special), text("true")]);
                }
            }
            tree.whole(0);
        }
    }
    let mut event = Writer::default();
    event.wholes(&[0, 1, 2, 3, texts.len() as u64]);
    for text in &texts {
        event.text(text);
    }
    event.bytes.extend(tree.bytes);
    event.bytes
}

fn constants() -> Vec<u8> {
    let mut event = Writer::default();
    event.wholes(&[1, 5, 0, 0, 1, 5]);
    event.wholes(&[SYMBOL, 2, 1]).text("a/B").whole(2).text("run");
    event.wholes(&[CLASS, 1, 7, 1]);
    event.wholes(&[METHOD, 1, 8, 7, 2]);
    event.wholes(&[KIND, 1, 1]).text("JIT compiled");
    // The second frame's method is missing.
    event.wholes(&[STACK, 1, 9, 2, 8, 1, 99, 1]);
    event.bytes
}

fn sample(duration: u64, stack: u64) -> Vec<u8> {
    let mut event = Writer::default();
    event.wholes(&[SAMPLE, 1_000, duration]);
    event.text("noted").whole(stack);
    event.bytes
}

/// A chunk of these events, the first of which is its metadata; 1,000 ticks per second.
fn chunk(events: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Writer::default();
    for event in events {
        body.event(event);
    }
    let mut bytes = b"FLR\0\0\x02\0\0".to_vec();
    let (start_ns, start_ticks) = (5_000_000_000, 400);
    let size = 68 + body.bytes.len() as u64;
    for number in [size, 0, 68, start_ns, 0, start_ticks, 1_000] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(1_u32.to_be_bytes());
    bytes.extend(body.bytes);
    bytes
}

fn whole() -> Vec<u8> {
    // An event of an unknown type is ignored.
    let unknown = vec![77, 1, 2, 3];
    let events = [metadata(TYPES), sample(20, 9), unknown, sample(30, 98), constants()];
    [chunk(&events), chunk(&events[..2])].concat()
}

/// Reads everything from arbitrary bytes.
fn read(bytes: &[u8]) -> usize {
    let mut events = 0;
    for chunk in chunks(bytes).unwrap_or_default() {
        for event in chunk.events("test.Sample").flatten() {
            events += 1 + event.stack().len();
            assert!(event.text(&["note"]).is_none_or(|note| note.len() <= bytes.len()));
        }
    }
    events
}

#[test]
fn events_are_read_with_their_stacks() {
    let bytes = whole();
    let found = chunks(&bytes).unwrap();
    assert_eq!(found.len(), 2);
    let events: Vec<_> = found[0].events("test.Sample").map(Result::unwrap).collect();
    let spans: Vec<_> = events.iter().map(|event| event.span_ns("duration")).collect();
    assert_eq!(spans, [Some(20_000_000), Some(30_000_000)]);
    // 600 ticks after the chunk's begin at 5 s, with a length of 20 ticks.
    assert_eq!(events[0].ended_ns(), Some(5_620_000_000));
    assert_eq!(events[0].text(&["note"]), Some("noted"));
    assert_eq!(events[0].stack_number(), Some(9));
    let run = JfrFrame { class: "a/B", method: "run", kind: "JIT compiled" };
    let nowhere = JfrFrame { class: "", method: "", ..run };
    assert_eq!(events[0].stack(), [run, nowhere]);
    assert_eq!((events[1].stack(), events[1].whole("missing")), (vec![], None));
    // The second chunk has no constants, so its event has no stack.
    let without_constants = found[1].events("test.Sample").next().unwrap().unwrap();
    assert_eq!(without_constants.stack(), []);
    assert!(found[0].knows("test.Sample") && !found[0].knows("test.Other"));
    assert_eq!(found[0].events("test.Other").count(), 0);
}

#[test]
fn a_truncated_recording_is_an_error() {
    let bytes = whole();
    let (mut refused, mut accepted) = (0, 0);
    for length in 0..bytes.len() {
        match chunks(&bytes[..length]) {
            Err(why) => {
                assert!(why.contains("chunk"), "{why}");
                refused += 1;
            }
            Ok(chunks) => accepted += chunks.len(),
        }
    }
    // No bytes are a recording without chunks, and the first chunk is a valid recording.
    assert_eq!((refused, accepted), (bytes.len() - 2, 1));
}

#[test]
fn reading_arbitrary_bytes_ends() {
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let bytes = whole();
    let mut survived = 0;
    for _ in 0..20_000 {
        let mut broken = bytes.clone();
        for _ in 0..=next(4) {
            let place = next(broken.len());
            broken[place] = [0, 1, 0x7f, 0x80, 0xff, next(256) as u8][next(6)];
        }
        survived += usize::from(read(&broken) > 0);
    }
    assert!(survived > 100, "{survived} of the broken recordings held an event");
    for length in 0..2_000 {
        let noise: Vec<u8> = (0..length % 200).map(|_| next(256) as u8).collect();
        assert_eq!(read(&noise), 0);
        let mut behind_header = bytes[..68].to_vec();
        behind_header.extend(noise);
        let size = behind_header.len() as u64;
        behind_header[8..16].copy_from_slice(&size.to_be_bytes());
        read(&behind_header);
    }
}

#[test]
fn types_that_contain_themselves_are_refused() {
    let itself: &[Definition<'_>] = &[(SAMPLE, "test.Sample", &[("again", SAMPLE, "")])];
    let bytes = chunk(&[metadata(itself), vec![SAMPLE as u8, 1, 2, 3]]);
    let found = chunks(&bytes).unwrap();
    let why = found[0].events("test.Sample").next().unwrap().unwrap_err();
    assert!(why.contains("nested"), "{why}");
    // Nine types, each containing nine of the next, and the last one empty: no byte would be consumed.
    let names = ["a"; 9].map(|name| [(name, 20, ""); 9]);
    let mut tower: Vec<Definition<'_>> = vec![(SAMPLE, "test.Sample", &names[0])];
    let levels: Vec<Vec<(&str, u64, &str)>> =
        (0..9).map(|at| vec![("a", 21 + at, ""); 9]).collect();
    for (at, level) in levels.iter().enumerate() {
        tower.push((20 + at as u64, "level", level));
    }
    tower.push((29, "nothing", &[]));
    let bytes = chunk(&[metadata(&tower), vec![SAMPLE as u8, 1, 2, 3]]);
    let found = chunks(&bytes).unwrap();
    let why = found[0].events("test.Sample").next().unwrap().unwrap_err();
    assert!(why.contains("no fields"), "{why}");
}
