//! Fuzz targets for the decoders of the gateway's answers: head, body in each of its forms, JSON.

use super::gateway::{decoded, number, parsed};
use super::http::{Request, ask};
use crate::wire::Stream;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

/// Decodes an answer as the gateway sends it, on a connection that ends after it.
pub fn etcd_answers(data: &[u8]) {
    json(data);
    let (here, mut there) = UnixStream::pair().expect("a pair of sockets");
    // An input has a few KiB, which a socket buffers without a reader.
    there.write_all(data).expect("the socket takes an input");
    there.shutdown(Shutdown::Write).expect("an open socket");
    let mut stream = Stream::of_socket(here).expect("a socket that blocks");
    let request = Request {
        method: "POST",
        path: "/v3/kv/range",
        host: "localhost",
        authorization: None,
        body: b"{}",
    };
    if let Ok(answer) = ask(&mut stream, &request) {
        assert!((200..600).contains(&answer.status));
        assert!(answer.body.len() <= data.len(), "no more than was received");
        json(&answer.body);
    }
}

fn json(text: &[u8]) {
    let Ok(value) = parsed(text) else {
        return;
    };
    let fields = value.as_object().into_iter().flat_map(|all| all.values());
    for field in fields.chain([&value]) {
        number(field);
        drop(decoded(field));
    }
}

/// Bodies of known length, in chunks, and up to the end of the connection; JSON alone; false lengths.
pub(crate) fn answer_seeds() -> Vec<Vec<u8>> {
    let seeds: [&[u8]; 9] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n{\"count\":\"1\",\"value\":\"YWJj\"}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
          4;x=y\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n{\"header\":{\"revision\":\"7\"}}",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 23\r\n\r\n{\"code\":14,\"error\":\"x\"}",
        b"{\"kvs\":[{\"key\":\"YQ==\",\"lease\":\"9223372036854775807\"}]}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n77359400\r\n",
    ];
    seeds.map(<[u8]>::to_vec).to_vec()
}
