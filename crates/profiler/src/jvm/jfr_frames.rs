//! Frames and threads as a flight recording tells them, as the profile has them.

use super::jfr::{Event, JfrFrame};
use syncline_profile::{Frame, Name, Space, Thread};

/// Who wrote a recording: they mean different things by a native frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// async-profiler: a function of a library.
    AsyncProfiler,
    /// The JVM itself: a native method of a Java class.
    Jvm,
}

/// The frames of an event's stack, from the innermost outwards, and the address at which the thread
/// stood, if that is told.
pub(super) fn stack(event: &Event<'_>, writer: Writer) -> (Option<u64>, Vec<Frame>) {
    let told = event.stack();
    let address = told.first().and_then(address);
    let frames = &told[usize::from(address.is_some())..];
    let end = frames.iter().position(is_interrupted_handler);
    // What such a handler interrupted is not told.
    let frames = end.map_or(frames, |_| &[]);
    (address, frames.iter().map(|told| frame(told, writer)).collect())
}

/// The thread of an event, by the name that Java or else the kernel has for it.
pub(super) fn thread(event: &Event<'_>) -> Thread {
    let field = ["sampledThread", "eventThread"];
    let name = |field: &str| {
        let text = |part| event.text(&[field, part]).filter(|name| !name.is_empty());
        text("javaName").or_else(|| text("osName")).map(str::to_owned)
    };
    Thread { name: field.into_iter().find_map(name).unwrap_or_default(), title: None }
}

/// A frame that is no function but the address in it: `0x7f...`, without class.
fn address(told: &JfrFrame<'_>) -> Option<u64> {
    let digits = told.method.strip_prefix("0x")?;
    let plain = told.class.is_empty() && told.kind == "Native";
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}

/// The profiler's own handler of the other timer's signal, if both came at once: the one that comes
/// second finds the thread at the first one's beginning.
fn is_interrupted_handler(told: &JfrFrame<'_>) -> bool {
    told.class == "libasyncProfiler.so" && told.method.ends_with("::signalHandler")
}

fn frame(told: &JfrFrame<'_>, writer: Writer) -> Frame {
    let function = |name: &str| Name::Function(name.to_owned());
    let native = matches!(told.kind, "Native" | "C++") && writer == Writer::AsyncProfiler;
    let (space, object, name) = if told.kind == "Kernel" {
        (Space::Kernel, "kernel".to_owned(), function(told.method))
    } else if native {
        let unnamed = matches!(told.method, "" | "unknown") || told.method.starts_with('[');
        let name = if unnamed { Name::Unknown } else { function(told.method) };
        (Space::Native, told.class.to_owned(), name)
    } else {
        (Space::Java, class(told.class), function(told.method))
    };
    Frame { space, object, name, offset: 0, inlined: false }
}

/// A class with dots, without the address that tells hidden classes apart in one process only, and
/// without the number of a lambda, which depends on the order in which they were first met.
pub(super) fn class(told: &str) -> String {
    let dotted = told.replace('/', ".");
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

    fn told<'a>(class: &'a str, method: &'a str, kind: &'a str) -> JfrFrame<'a> {
        JfrFrame { class, method, kind }
    }

    #[test]
    fn classes_have_dots_and_no_addresses() {
        for (told, expected) in [
            ("org/apache/derby/impl/drda/DDMReader", "org.apache.derby.impl.drda.DDMReader"),
            ("Known$$Lambda$1.0x00007facb8000a08", "Known$$Lambda"),
            ("a/B$$Lambda$7+0x00007f/12", "a.B$$Lambda"),
            ("a/Hidden/0x00007f", "a.Hidden"),
            ("", ""),
        ] {
            assert_eq!(class(told), expected);
        }
    }

    #[test]
    fn kinds_of_frames_say_whose_code_it_is() {
        let ours = |told| frame(&told, Writer::AsyncProfiler);
        let send = ours(told("libc.so.6", "__send", "Native"));
        assert_eq!((send.space, send.object.as_str()), (Space::Native, "libc.so.6"));
        assert_eq!(ours(told("libz.so", "[libz.so]", "Native")).name, Name::Unknown);
        let compiled = ours(told("java/lang/Thread", "run", "Inlined"));
        assert_eq!(compiled.space, Space::Java);
        assert_eq!(compiled.name, Name::Function("run".to_owned()));
        assert_eq!(ours(told("", "tcp_sendmsg", "Kernel")).object, "kernel");
        let native = frame(&told("java/net/Net", "poll", "Native"), Writer::Jvm);
        assert_eq!((native.space, native.object.as_str()), (Space::Java, "java.net.Net"));
    }

    #[test]
    fn an_address_is_told_from_a_function() {
        assert_eq!(address(&told("", "0x7f01", "Native")), Some(0x7f01));
        assert_eq!(address(&told("", "0x7f01", "Inlined")), None);
        assert_eq!(address(&told("libc.so.6", "0x7f01", "Native")), None);
        assert_eq!(address(&told("", "memcpy", "Native")), None);
    }
}
