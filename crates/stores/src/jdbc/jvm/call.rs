//! Calls to Java by method id, conversion of text, and exceptions.
//!
//! Invariants:
//! 1. A [`Java`] belongs to the thread that created it, which stays attached until it ends; neither it
//!    nor a [`Local`] can leave that thread.
//! 2. A local reference is freed once: when its [`Local`] is dropped, or when the thread ends.
//! 3. A method is called on an object of the class in which it was looked up, with arguments of its
//!    signature: a [`Method`] has its signature, and each call is checked against it.
//! 4. After a call that throws, the exception is taken and cleared before anything else is called.

#![allow(
    unsafe_code,
    reason = "calls by method id, which Java does not check, and text without a copy on the heap"
)]

use super::attach;
use super::methods::{self, Method, Methods};
use jni::JNIEnv;
use jni::objects::{
    GlobalRef, JByteArray, JClass, JObject, JObjectArray, JString, JThrowable, JValueOwned,
};
use jni::signature::{Primitive, ReturnType};
use jni::sys::jvalue;
use std::fmt;
use std::ops::Deref;
use syncline_contract::TargetResult;

/// An object that any thread may keep.
pub(in crate::jdbc) type Shared = GlobalRef;

/// An exception from Java.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::jdbc) struct Thrown {
    /// The SQLSTATE; empty if it is not an error of a database.
    pub(in crate::jdbc) state: String,
    /// The product's own error number.
    pub(in crate::jdbc) code: i32,
    /// The message, with the name of its class if it is not an error of a database.
    pub(in crate::jdbc) message: String,
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.message.lines().next().unwrap_or("");
        if self.state.is_empty() {
            return f.write_str(line);
        }
        write!(f, "{line} (SQLSTATE {}, code {})", self.state, self.code)
    }
}

impl From<jni::errors::Error> for Thrown {
    fn from(error: jni::errors::Error) -> Thrown {
        Thrown { message: format!("JNI: {error}"), ..Thrown::default() }
    }
}

/// A local reference to an object, on the thread that got it.
pub(in crate::jdbc) struct Local {
    object: JObject<'static>,
    env: *mut jni::sys::JNIEnv,
}

impl Deref for Local {
    type Target = JObject<'static>;

    fn deref(&self) -> &JObject<'static> {
        &self.object
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: by invariant 1 the pointer belongs to this thread, which is still attached.
        let table = unsafe { *self.env };
        // SAFETY: the JVM's function table is valid as long as the JVM.
        let table = unsafe { *table };
        if let Some(free) = table.DeleteLocalRef {
            // SAFETY: by invariant 2 the reference is this thread's and is freed only here.
            unsafe { free(self.env, self.object.as_raw()) };
        }
    }
}

/// An argument that is an object.
pub(in crate::jdbc) fn given(object: &JObject<'_>) -> jvalue {
    jvalue { l: object.as_raw() }
}

/// A type that a method can return.
pub(in crate::jdbc) trait Answer: Sized {
    /// Its type in a signature.
    const RETURNS: ReturnType;

    /// Converts the returned value.
    fn of(java: &Java, value: JValueOwned<'static>) -> jni::errors::Result<Self>;
}

macro_rules! primitive_answers {
    ($($answer:ty: $primitive:ident $unwrap:ident;)*) => {
        $(impl Answer for $answer {
            const RETURNS: ReturnType = ReturnType::Primitive(Primitive::$primitive);

            #[inline]
            fn of(_java: &Java, value: JValueOwned<'static>) -> jni::errors::Result<$answer> {
                value.$unwrap()
            }
        })*
    };
}

primitive_answers! {
    (): Void v;
    bool: Boolean z;
    i32: Int i;
    i64: Long j;
    f64: Double d;
}

/// An object, or null.
impl Answer for Local {
    const RETURNS: ReturnType = ReturnType::Object;

    #[inline]
    fn of(java: &Java, value: JValueOwned<'static>) -> jni::errors::Result<Local> {
        Ok(java.local(value.l()?))
    }
}

/// This thread's JNI environment.
pub(in crate::jdbc) struct Java {
    env: JNIEnv<'static>,
    /// Buffer for a text's UTF-16 characters, reused.
    characters: Vec<u16>,
}

impl fmt::Debug for Java {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Java").finish_non_exhaustive()
    }
}

impl Java {
    /// Attaches the calling thread.
    pub(in crate::jdbc) fn attach() -> TargetResult<Java> {
        Ok(Java { env: attach::attach()?, characters: Vec::new() })
    }

    /// A class by its name with slashes.
    pub(in crate::jdbc) fn class(&mut self, name: &str) -> Result<Shared, Thrown> {
        let class = self.env.find_class(name);
        let class = self.take_result(class)?;
        let class = self.local(class.into());
        self.share(&class)
    }

    /// A method of a class, or a constructor if `name` is `<init>`.
    pub(super) fn method(
        &mut self,
        class: &'static str,
        name: &'static str,
        signature: &'static str,
    ) -> Result<Method, Thrown> {
        let holder = self.class(class)?;
        let of: &JClass<'_> = holder.as_obj().into();
        let id = self.env.get_method_id(of, name, signature);
        let id = self.take_result(id)?;
        Method::of_object(holder, id, name, signature)
    }

    /// A static method of a class.
    pub(super) fn static_method(
        &mut self,
        class: &'static str,
        name: &'static str,
        signature: &'static str,
    ) -> Result<Method, Thrown> {
        let holder = self.class(class)?;
        let of: &JClass<'_> = holder.as_obj().into();
        let id = self.env.get_static_method_id(of, name, signature);
        let id = self.take_result(id)?;
        Method::of_class(holder, id, name, signature)
    }

    /// Creates a reference to an object for any thread.
    pub(in crate::jdbc) fn share(&mut self, object: &JObject<'_>) -> Result<Shared, Thrown> {
        Ok(self.env.new_global_ref(object)?)
    }

    /// Calls a method that returns an `A`.
    #[inline]
    pub(in crate::jdbc) fn call<A: Answer>(
        &mut self,
        object: &JObject<'_>,
        method: &Method,
        arguments: &[jvalue],
    ) -> Result<A, Thrown> {
        let id = method.for_object(arguments.len(), &A::RETURNS);
        if object.is_null() {
            return Err(Thrown::of_null());
        }
        debug_assert!(self.is_of(object, method), "an object of another class");
        // SAFETY: callers pass objects of the method's class, which debug builds check, and getting the
        // id has checked the call against its signature (invariant 3).
        let called = unsafe {
            let env = &mut self.env;
            env.call_method_unchecked(object, id, A::RETURNS, arguments)
        };
        let answered = self.take_result(called)?;
        Ok(A::of(self, answered)?)
    }

    /// Calls a static method that returns an object, or null.
    pub(in crate::jdbc) fn of_class(
        &mut self,
        method: &Method,
        arguments: &[jvalue],
    ) -> Result<Local, Thrown> {
        let class: &JClass<'_> = method.class().into();
        let id = method.for_class(arguments.len(), &ReturnType::Object);
        // SAFETY: the id was looked up in this class, and getting it has checked the call against its
        // signature (invariant 3).
        let called = unsafe {
            let env = &mut self.env;
            env.call_static_method_unchecked(class, id, ReturnType::Object, arguments)
        };
        let answered = self.take_result(called)?.l()?;
        Ok(self.local(answered))
    }

    /// Creates an object with a constructor.
    pub(in crate::jdbc) fn make(
        &mut self,
        constructor: &Method,
        arguments: &[jvalue],
    ) -> Result<Local, Thrown> {
        let void = ReturnType::Primitive(Primitive::Void);
        let class: &JClass<'_> = constructor.class().into();
        let id = constructor.for_object(arguments.len(), &void);
        // SAFETY: as above.
        let made = unsafe {
            let env = &mut self.env;
            env.new_object_unchecked(class, id, arguments)
        };
        let made = self.take_result(made)?;
        Ok(self.local(made))
    }

    fn is_of(&mut self, object: &JObject<'_>, method: &Method) -> bool {
        let class: &JClass<'_> = method.class().into();
        self.env.is_instance_of(object, class).unwrap_or(false)
    }

    /// Converts a text to Java.
    pub(in crate::jdbc) fn text(&mut self, text: &str) -> Result<Local, Thrown> {
        let made = self.env.new_string(text);
        let made = self.take_result(made)?;
        Ok(self.local(made.into()))
    }

    /// Reads a Java text into reused memory.
    pub(in crate::jdbc) fn read_text(
        &mut self,
        text: &JObject<'_>,
        into: &mut String,
    ) -> Result<(), Thrown> {
        into.clear();
        let env = self.env.get_raw();
        // SAFETY: by invariant 1 the pointer belongs to this thread.
        let table = unsafe { *env };
        // SAFETY: the JVM's function table is valid as long as the JVM.
        let table = unsafe { *table };
        let (Some(length), Some(region)) = (table.GetStringLength, table.GetStringRegion) else {
            return Err(jni::errors::Error::JNIEnvMethodNotFound("GetStringRegion").into());
        };
        // SAFETY: callers pass a Java text.
        let count = unsafe { length(env, text.as_raw()) };
        self.characters.resize(count as usize, 0);
        // SAFETY: the buffer has space for all its characters.
        unsafe { region(env, text.as_raw(), 0, count, self.characters.as_mut_ptr()) };
        let characters = char::decode_utf16(self.characters.iter().copied());
        into.extend(characters.map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER)));
        Ok(())
    }

    /// Converts a Java text to a new string; null is empty.
    pub(in crate::jdbc) fn words(&mut self, text: &JObject<'_>) -> Result<String, Thrown> {
        let mut words = String::new();
        if !text.is_null() {
            self.read_text(text, &mut words)?;
        }
        Ok(words)
    }

    /// Converts bytes to a Java byte array.
    pub(in crate::jdbc) fn bytes(&mut self, bytes: &[u8]) -> Result<Local, Thrown> {
        let made = self.env.byte_array_from_slice(bytes);
        let made = self.take_result(made)?;
        Ok(self.local(made.into()))
    }

    /// Reads a Java byte array into reused memory.
    pub(in crate::jdbc) fn read_bytes(
        &mut self,
        array: &JObject<'_>,
        into: &mut Vec<u8>,
    ) -> Result<(), Thrown> {
        let array: &JByteArray<'_> = array.into();
        let length = self.env.get_array_length(array)?;
        into.clear();
        into.resize(length as usize, 0);
        let start = into.as_mut_ptr().cast::<i8>();
        // SAFETY: `u8` and `i8` have the same layout, and the slice is as long as its memory.
        let signed = unsafe { std::slice::from_raw_parts_mut(start, into.len()) };
        let read = self.env.get_byte_array_region(array, 0, signed);
        self.take_result(read)
    }

    /// A Java array of objects of a class.
    pub(in crate::jdbc) fn array(
        &mut self,
        class: &JObject<'_>,
        objects: &[Local],
    ) -> Result<Local, Thrown> {
        let class: &JClass<'_> = class.into();
        let made = self.env.new_object_array(objects.len() as i32, class, JObject::null());
        let made: JObjectArray<'_> = self.take_result(made)?;
        for (position, object) in objects.iter().enumerate() {
            let set = self.env.set_object_array_element(&made, position as i32, &**object);
            self.take_result(set)?;
        }
        Ok(self.local(made.into()))
    }

    fn local(&self, object: JObject<'static>) -> Local {
        let env = self.env.get_raw();
        Local { object, env }
    }

    /// The result of a call, or the exception that it threw, taken and cleared.
    #[inline]
    fn take_result<T>(&mut self, called: jni::errors::Result<T>) -> Result<T, Thrown> {
        match called {
            Ok(answered) => Ok(answered),
            Err(jni::errors::Error::JavaException) => Err(self.take_exception()),
            Err(error) => Err(error.into()),
        }
    }

    #[cold]
    fn take_exception(&mut self) -> Thrown {
        self.describe_exception().unwrap_or_else(|error| Thrown::from_failed(&error))
    }

    fn describe_exception(&mut self) -> Result<Thrown, jni::errors::Error> {
        let exception: JThrowable<'static> = self.env.exception_occurred()?;
        self.env.exception_clear()?;
        let exception = self.local(exception.into());
        let Some(methods) = methods::known() else {
            return self.named(&exception);
        };
        let sql: &JClass<'_> = methods.sql_exception_state.class().into();
        if !self.env.is_instance_of(&*exception, sql)? {
            return self.named(&exception);
        }
        let thrown_error = self.describe_sql_exception(&exception, methods);
        Ok(thrown_error.unwrap_or_else(|thrown| thrown))
    }

    fn describe_sql_exception(
        &mut self,
        exception: &Local,
        methods: &Methods,
    ) -> Result<Thrown, Thrown> {
        let state = self.call::<Local>(exception, &methods.sql_exception_state, &[])?;
        let message = self.call::<Local>(exception, &methods.throwable_message, &[])?;
        let thrown_error = Thrown {
            state: self.words(&state)?,
            code: self.call::<i32>(exception, &methods.sql_exception_code, &[])?,
            message: self.words(&message)?,
        };
        // The exception of a batch only reports that it failed; the next exception has the reason of
        // the row.
        let next = self.call::<Local>(exception, &methods.sql_exception_next, &[])?;
        if next.is_null() {
            return Ok(thrown_error);
        }
        let below = self.describe_sql_exception(&next, methods)?;
        let says_more = !below.state.is_empty() && below.state != thrown_error.state;
        Ok(if says_more { below } else { thrown_error })
    }

    /// An exception that is not from a database: its class and message, as in its `toString`.
    fn named(&mut self, exception: &Local) -> Result<Thrown, jni::errors::Error> {
        let called = self.env.call_method(&**exception, "toString", "()Ljava/lang/String;", &[]);
        let text = self.local(called?.l()?);
        let text: &JString<'_> = (&*text).into();
        let message = self.env.get_string(text)?.into();
        Ok(Thrown { message, ..Thrown::default() })
    }
}

impl Thrown {
    #[cold]
    fn of_null() -> Thrown {
        Thrown {
            message: "the driver returned null, although its interface promises an object"
                .to_owned(),
            ..Thrown::default()
        }
    }

    fn from_failed(error: &jni::errors::Error) -> Thrown {
        Thrown {
            message: format!("Java threw an exception that could not be read: {error}"),
            ..Thrown::default()
        }
    }
}
