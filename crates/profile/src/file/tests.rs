//! Tests of the stacks file.

use crate::{
    Account, Frame, Histogram, Metric, Name, Precision, Profile, ProfileBuilder, Space, Thread,
    Total,
};

fn random(generator: &mut fastrand::Rng) -> Profile {
    let mut builder = ProfileBuilder::default();
    let text = |generator: &mut fastrand::Rng| -> String {
        let letters = ['a', 'b', '"', '\\', '\n', ' ', 'é', '\u{0}'];
        (0..generator.usize(0..4)).map(|_| letters[generator.usize(0..letters.len())]).collect()
    };
    for _ in 0..generator.usize(0..30) {
        let frames: Vec<Frame> = (0..generator.usize(0..6))
            .map(|_| Frame {
                space: [Space::Kernel, Space::Native, Space::Java, Space::Tag]
                    [generator.usize(0..4)],
                object: text(generator),
                name: match generator.u8(0..3) {
                    0 => Name::Unknown,
                    1 => Name::Between {
                        before: generator.bool().then(|| text(generator)),
                        after: generator.bool().then(|| text(generator)),
                    },
                    _ => Name::Function(text(generator)),
                },
                offset: generator.u64(0..3),
                inlined: generator.bool(),
            })
            .collect();
        let title = generator.bool().then(|| text(generator));
        let name = text(generator);
        let thread = builder.thread(Thread { name, title });
        let stack = builder.stack(frames);
        let metric = Metric::ALL[generator.usize(0..Metric::ALL.len())];
        builder.add(metric, thread, stack, generator.u64(0..1 << 50), 1);
    }
    for _ in 0..generator.usize(0..3) {
        builder.account(Account {
            metric: Metric::ALL[generator.usize(0..Metric::ALL.len())],
            collector: text(generator),
            how: match generator.u8(0..3) {
                0 => Precision::Exact,
                1 => Precision::Sampled(text(generator)),
                _ => Precision::NotAttributable(text(generator)),
            },
            lost: generator.u64(..),
            total: generator
                .bool()
                .then(|| Total { amount: generator.u64(..), source: text(generator) }),
        });
    }
    if generator.bool() {
        let counts = (0..generator.usize(0..64)).map(|_| generator.u64(0..1 << 50));
        builder.histogram(Histogram::new(Metric::OffCpu, counts.collect()));
    }
    builder.finish(generator.u64(..))
}

fn bytes_of(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    bytes
}

fn message_of(bytes: &[u8]) -> String {
    Profile::read(&mut &*bytes).unwrap_err().to_string()
}

#[test]
fn a_written_profile_is_read_back() {
    let mut generator = fastrand::Rng::with_seed(1);
    for _ in 0..300 {
        let profile = random(&mut generator);
        assert_eq!(Profile::read(&mut &*bytes_of(&profile)).unwrap(), profile);
    }
}

#[test]
fn a_file_truncated_anywhere_is_refused() {
    let mut generator = fastrand::Rng::with_seed(2);
    for _ in 0..2 {
        let bytes = bytes_of(&random(&mut generator));
        for length in 0..bytes.len() {
            message_of(&bytes[..length]);
        }
    }
}

#[test]
fn no_bytes_make_reading_panic() {
    let mut generator = fastrand::Rng::with_seed(3);
    for _ in 0..3_000 {
        let mut bytes = bytes_of(&random(&mut generator));
        for _ in 0..generator.usize(1..4) {
            let place = generator.usize(0..bytes.len());
            match generator.u8(0..3) {
                0 => bytes[place] = generator.u8(..),
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, b"0123456789{}[],:\"\n"[generator.usize(0..18)]),
            }
        }
        if let Ok(profile) = Profile::read(&mut &*bytes) {
            assert_eq!(Profile::read(&mut &*bytes_of(&profile)).unwrap(), profile);
        }
    }
}

#[test]
fn errors_name_the_line() {
    let head = r#"{"head":{"format":"syncline-stacks","version":1,"window_ns":5}}"#;
    let cases: &[(&str, &str)] = &[
        ("", "line 1: the file is empty"),
        ("{}\n", "line 1: this is not a stacks file"),
        (
            r#"{"head":{"format":"syncline-stacks","version":2,"window_ns":5}}"#,
            "line 1: the file has version 2 of the format",
        ),
        ("HEAD\n", "line 2: the file is truncated"),
        ("HEAD\n{\"stack\":[0]}\n", "line 2: frame 0 is not defined above"),
        ("HEAD\n{\"stack\":[]}\n{\"stack\":[]}\n", "line 3: this stack is defined twice"),
        ("HEAD\n{\"sample\":[\"wall\",0,0,1,1]}\n", "line 2: thread 0 is not defined above"),
        (
            "HEAD\n{\"sample\":[\"warmth\",0,0,1,1]}\n",
            "line 2: this is not a line of a stacks file",
        ),
        ("HEAD\n{\"end\":7}\n", "the file was written with 7 lines before its end line and has 1"),
        ("HEAD\n{\"end\":1}\n\n", "line 3: there is data after"),
        (
            "HEAD\n{\"stack\":[]}\n{\"thread\":{\"name\":\"\",\"title\":null}}\n\
             {\"sample\":[\"wall\",0,0,18446744073709551615,1]}\n{\"sample\":[\"off_cpu\",0,0,1,1]}\n",
            "line 5: the sum of the weights exceeds 64 bits",
        ),
    ];
    for (text, expected) in cases {
        let error = message_of(text.replace("HEAD", head).as_bytes());
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_file_from_before_inlined_functions_is_read() {
    let earlier = concat!(
        r#"{"head":{"format":"syncline-stacks","version":1,"window_ns":5}}"#,
        "\n",
        r#"{"frame":{"space":"native","object":"store","name":{"function":"main"},"offset":16}}"#,
        "\n",
        r#"{"end":2}"#,
        "\n",
    );
    let profile = Profile::read(&mut earlier.as_bytes()).unwrap();
    assert!(!profile.frames[0].inlined);
    // Frames that are not inlined are still written that way.
    assert_eq!(bytes_of(&profile), earlier.as_bytes());
}
