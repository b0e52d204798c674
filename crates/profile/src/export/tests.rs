//! Tests of exports: a reader that knows only the format reads the written files.

use super::{collapsed, pprof};
use crate::{Frame, Map, Metric, Name, Profile, ProfileBuilder, Space, Thread};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;

const MAP: &str = r#"
    product = "Store"
    [[module]]
    name = "logging"
    match = [{ symbol = "log_*" }]
    [[thread]]
    class = "connection"
    name = "server"
"#;

fn profile() -> Profile {
    let mut builder = ProfileBuilder::default();
    let thread = builder.thread(Thread { name: "server".to_owned(), title: None });
    let frame = |function: &str, offset| Frame {
        space: Space::Native,
        object: "store".to_owned(),
        name: Name::Function(function.to_owned()),
        offset,
        inlined: false,
    };
    let logs = builder.stack([frame("log_write", 0x400), frame("main", 0x100)]);
    let other = builder.stack([frame("a;b\n", 0x800), frame("main", 0x100)]);
    let inlined = |function: &str, offset| Frame { inlined: true, ..frame(function, offset) };
    let within = builder.stack([
        inlined("mix", 0x100),
        inlined("log_twice", 0x100),
        frame("main", 0x100),
        inlined("mix", 0x900),
        frame("start", 0x900),
    ]);
    let empty = builder.stack([]);
    builder.add(Metric::CpuUser, thread, logs, 300, 3);
    builder.add(Metric::CpuUser, thread, other, 1 << 40, 1);
    builder.add(Metric::SystemCalls, thread, logs, 2, 2);
    builder.add(Metric::CpuUser, thread, within, 7, 1);
    builder.add(Metric::CpuUser, thread, empty, 5, 1);
    builder.finish(77)
}

#[test]
fn collapsed_stacks_have_one_line_each_from_the_outermost_inwards() {
    let mut bytes = Vec::new();
    collapsed(&profile(), Metric::CpuUser, &mut bytes).unwrap();
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "server 5\nserver;main;a:b  1099511627776\nserver;main;log_write 300\n\
         server;start;mix;main;log_twice;mix 7\n"
    );
}

/// The content of a field.
#[derive(Debug)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
        shift += 7;
    }
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (held, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(held.to_vec())
            }
            kind => panic!("pprof files have no fields of kind {kind}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn numbers(fields: &[(u64, Field)]) -> BTreeMap<u64, u64> {
    fields
        .iter()
        .filter_map(|(number, field)| match field {
            Field::Number(value) => Some((*number, *value)),
            Field::Bytes(_) => None,
        })
        .collect()
}

fn messages(all: &[(u64, Field)], field_number: u64) -> Vec<Vec<(u64, Field)>> {
    raw(all, field_number).iter().map(|bytes| fields(bytes)).collect()
}

fn raw(all: &[(u64, Field)], field_number: u64) -> Vec<Vec<u8>> {
    all.iter()
        .filter_map(|(number, field)| match field {
            Field::Bytes(bytes) if *number == field_number => Some(bytes.clone()),
            _ => None,
        })
        .collect()
}

fn packed(all: &[(u64, Field)], field_number: u64) -> Vec<u64> {
    let bytes = raw(all, field_number).concat();
    let mut rest = bytes.as_slice();
    let mut values = Vec::new();
    while !rest.is_empty() {
        values.push(varint(&mut rest));
    }
    values
}

#[test]
fn pprof_files_hold_every_sample_with_its_frames_values_and_labels() {
    let mut bytes = Vec::new();
    let map = Map::parse(MAP, "store").unwrap();
    pprof(&profile(), &map, &mut bytes).unwrap();
    let mut plain = Vec::new();
    GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
    let file = fields(&plain);
    let texts = raw(&file, 6);
    let texts: Vec<_> = texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect();
    assert_eq!(texts[0], "");
    let text = |number: &u64| texts[*number as usize].clone();
    let types: Vec<_> = messages(&file, 1)
        .iter()
        .map(|it| (text(&numbers(it)[&1]), text(&numbers(it)[&2])))
        .collect();
    let expected = [("cpu_user", "nanoseconds"), ("system_calls", "count")];
    assert_eq!(types, expected.map(|(name, unit)| (name.to_owned(), unit.to_owned())));
    let functions: BTreeMap<u64, String> =
        messages(&file, 5).iter().map(|it| (numbers(it)[&1], text(&numbers(it)[&2]))).collect();
    let locations: BTreeMap<u64, String> = messages(&file, 4)
        .iter()
        .map(|it| {
            let lines = messages(it, 4);
            let lines = lines.iter().map(|line| &*functions[&numbers(line)[&1]]);
            // The last line is the function that contains the address; the others are inlined into it.
            let lines: Vec<&str> = lines.collect();
            (numbers(it)[&1], lines.join(" in "))
        })
        .collect();
    let samples: Vec<_> = messages(&file, 2)
        .iter()
        .map(|it| {
            let frames = packed(it, 1);
            let frames: Vec<_> = frames.iter().map(|it| locations[it].clone()).collect();
            let labels: Vec<_> = messages(it, 3).iter().map(|it| text(&numbers(it)[&2])).collect();
            (frames.join("<"), packed(it, 2), labels.join(" "))
        })
        .collect();
    let expected = [
        ("log_write<main", vec![300, 2], "server connection logging"),
        ("a;b\n<main", vec![1 << 40, 0], "server connection unknown"),
        ("mix in log_twice in main<mix in start", vec![7, 0], "server connection logging"),
        ("", vec![5, 0], "server connection unknown"),
    ];
    let expected =
        expected.map(|(frames, values, labels)| (frames.to_owned(), values, labels.to_owned()));
    assert_eq!(samples, expected);
    assert_eq!(numbers(&file)[&10], 77);
    let mappings: Vec<_> = messages(&file, 3).iter().map(|it| numbers(it)).collect();
    assert_eq!(mappings.len(), 1);
    assert_eq!(mappings[0][&10], 1, "it has inlined functions");
}
