//! The JVM of this process: a process can start only one, and cannot restart it, so it runs until the
//! process ends.

use super::libjvm;
use jni::objects::JValue;
use jni::{InitArgsBuilder, JNIEnv, JNIVersion, JavaVM};
use std::sync::OnceLock;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// `-Xrs` leaves Ctrl-C and the other signals to the program; the JVM needs no shutdown of its own. UTC
/// has no ambiguous times, so that a timestamp is read back as it was written.
const OPTIONS: [&str; 3] = ["-Xrs", "-Djava.awt.headless=true", "-Duser.timezone=UTC"];

/// Attaches this thread to the JVM, which is started if needed. The thread stays attached until it
/// ends.
pub(super) fn attach() -> TargetResult<JNIEnv<'static>> {
    static MACHINE: OnceLock<Result<JavaVM, String>> = OnceLock::new();
    let machine = MACHINE.get_or_init(start).as_ref();
    let machine = machine.map_err(|why| Failure::new(FailureKind::Limit, why.clone()))?;
    let attached = machine.attach_current_thread_permanently();
    let mut env = attached.map_err(|error| {
        let what = format!("the JVM does not accept another thread: {error}");
        Failure::new(FailureKind::Limit, what)
    })?;
    if named(&mut env).is_err() {
        // The name is optional; a pending exception must not affect the next call.
        drop(env.exception_clear());
    }
    Ok(env)
}

/// Gives the thread the same name in the JVM as outside, so that tools on both sides show one thread.
fn named(env: &mut JNIEnv<'_>) -> jni::errors::Result<()> {
    let thread = std::thread::current();
    let Some(name) = thread.name() else {
        return Ok(());
    };
    env.with_local_frame(4, |env| {
        let class = "java/lang/Thread";
        let own = env.call_static_method(class, "currentThread", "()Ljava/lang/Thread;", &[])?;
        let name = env.new_string(name)?;
        let set = "(Ljava/lang/String;)V";
        env.call_method(own.l()?, "setName", set, &[JValue::Object(&name)])?;
        Ok(())
    })
}

fn start() -> Result<JavaVM, String> {
    let library = libjvm::find()?;
    let options =
        OPTIONS.iter().fold(InitArgsBuilder::new().version(JNIVersion::V8), |builder, option| {
            builder.option(*option)
        });
    let options = options.build().map_err(|error| error.to_string())?;
    let started = JavaVM::with_libjvm(options, || Ok(library.clone()));
    started
        .map_err(|error| format!("the JVM of {} could not be started: {error}", library.display()))
}
