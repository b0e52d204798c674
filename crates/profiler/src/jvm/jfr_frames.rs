//! Converts the frames and threads of a flight recording to those of a profile.

use super::jfr::{Event, JfrFrame};
use syncline_profile::{Frame, Name, Space, Thread};

/// The writer of a recording, which determines the meaning of a native frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// async-profiler: a function of a library.
    AsyncProfiler,
    /// The JVM itself: a native method of a Java class.
    Jvm,
}

/// The frames of an event's stack, from the innermost outwards, and the address of the interrupted
/// instruction, if recorded.
pub(super) fn stack(event: &Event<'_>, writer: Writer) -> (Option<u64>, Vec<Frame>) {
    let raw = event.stack();
    let address = raw.first().and_then(address);
    let frames = &raw[usize::from(address.is_some())..];
    let end = frames.iter().position(is_interrupted_handler);
    // The frames below such a handler are not recorded.
    let frames = end.map_or(frames, |_| &[]);
    (address, frames.iter().map(|raw| frame(raw, writer)).collect())
}

/// The thread of an event, with its Java name, or its name in the kernel.
pub(super) fn thread(event: &Event<'_>) -> Thread {
    let field = ["sampledThread", "eventThread"];
    let name = |field: &str| {
        let text = |part| event.text(&[field, part]).filter(|name| !name.is_empty());
        text("javaName").or_else(|| text("osName")).map(str::to_owned)
    };
    Thread { name: field.into_iter().find_map(name).unwrap_or_default(), title: None }
}

/// The address in a frame that is not a function: `0x7f...`, without a class.
fn address(raw: &JfrFrame<'_>) -> Option<u64> {
    let digits = raw.method.strip_prefix("0x")?;
    let plain = raw.class.is_empty() && raw.kind == "Native";
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}

/// True for the profiler's handler of the other timer's signal: if both signals arrive together, the second
/// one interrupts the begin of the first one's handler.
fn is_interrupted_handler(raw: &JfrFrame<'_>) -> bool {
    raw.class == "libasyncProfiler.so" && raw.method.ends_with("::signalHandler")
}

fn frame(raw: &JfrFrame<'_>, writer: Writer) -> Frame {
    let function = |name: &str| Name::Function(name.to_owned());
    let native = matches!(raw.kind, "Native" | "C++") && writer == Writer::AsyncProfiler;
    let (space, object, name) = if raw.kind == "Kernel" {
        (Space::Kernel, "kernel".to_owned(), function(raw.method))
    } else if native {
        let unnamed = matches!(raw.method, "" | "unknown") || raw.method.starts_with('[');
        let name = if unnamed { Name::Unknown } else { function(raw.method) };
        (Space::Native, raw.class.to_owned(), name)
    } else {
        (Space::Java, class(raw.class), function(raw.method))
    };
    Frame { space, object, name, offset: 0, inlined: false }
}

/// A class name with dots, without the process-specific address of hidden classes, and without the number of
/// a lambda, which depends on the order of first use.
pub(super) fn class(raw: &str) -> String {
    let dotted = raw.replace('/', ".");
    if let Some((outer, _)) = dotted.split_once("$$Lambda") {
        return format!("{outer}$$Lambda");
    }
    let hidden = [".0x", "+0x"].into_iter().find_map(|mark| dotted.find(mark));
    hidden.map_or(dotted.clone(), |end| dotted[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::{JfrFrame, Writer, address, class, frame};
    use syncline_profile::{Name, Space};

    fn raw<'a>(class: &'a str, method: &'a str, kind: &'a str) -> JfrFrame<'a> {
        JfrFrame { class, method, kind }
    }

    #[test]
    fn classes_have_dots_and_no_addresses() {
        for (raw, expected) in [
            ("org/apache/derby/impl/drda/DDMReader", "org.apache.derby.impl.drda.DDMReader"),
            ("Known$$Lambda$1.0x00007facb8000a08", "Known$$Lambda"),
            ("a/B$$Lambda$7+0x00007f/12", "a.B$$Lambda"),
            ("a/Hidden/0x00007f", "a.Hidden"),
            ("", ""),
        ] {
            assert_eq!(class(raw), expected);
        }
    }

    #[test]
    fn kinds_of_frames_determine_the_code_space() {
        let by_profiler = |raw| frame(&raw, Writer::AsyncProfiler);
        let send = by_profiler(raw("libc.so.6", "__send", "Native"));
        assert_eq!((send.space, send.object.as_str()), (Space::Native, "libc.so.6"));
        assert_eq!(by_profiler(raw("libz.so", "[libz.so]", "Native")).name, Name::Unknown);
        let compiled = by_profiler(raw("java/lang/Thread", "run", "Inlined"));
        assert_eq!(compiled.space, Space::Java);
        assert_eq!(compiled.name, Name::Function("run".to_owned()));
        assert_eq!(by_profiler(raw("", "tcp_sendmsg", "Kernel")).object, "kernel");
        let native = frame(&raw("java/net/Net", "poll", "Native"), Writer::Jvm);
        assert_eq!((native.space, native.object.as_str()), (Space::Java, "java.net.Net"));
    }

    #[test]
    fn an_address_is_distinguished_from_a_function() {
        assert_eq!(address(&raw("", "0x7f01", "Native")), Some(0x7f01));
        assert_eq!(address(&raw("", "0x7f01", "Inlined")), None);
        assert_eq!(address(&raw("libc.so.6", "0x7f01", "Native")), None);
        assert_eq!(address(&raw("", "memcpy", "Native")), None);
    }
}
