//! Connections of network stores to echo servers: polled and blocking, plain and encrypted, lost,
//! silent and absent.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use syncline_contract::conformance::block_on;
use syncline_contract::{Failure, FailureKind, Worker};
use syncline_stores::wire::{Endpoint, Poller, Stream, Tls, TlsMode};

const LIMIT: Duration = Duration::from_secs(20);

/// The behaviour of a server on a connection.
type Serve = fn(&mut dyn ReadWrite);

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// Echoes all bytes.
fn echo(socket: &mut dyn ReadWrite) {
    let mut bytes = vec![0; 32 * 1024];
    while let Ok(length @ 1..) = socket.read(&mut bytes) {
        if socket.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
}

/// A server on a free port; its threads end with their connections.
fn tcp_server(serve: Serve) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket: TcpStream = socket.unwrap();
            thread::spawn(move || serve(&mut socket));
        }
    });
    Endpoint::Tcp { host: "127.0.0.1".to_owned(), port }
}

fn unix_server(path: &Path, serve: Serve) -> Endpoint {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket: UnixStream = socket.unwrap();
            thread::spawn(move || serve(&mut socket));
        }
    });
    Endpoint::Unix(path.to_owned())
}

/// Sends that many bytes in requests of that length and reads them back.
async fn exchange(stream: &mut Stream, questions: usize, length: usize) -> Result<(), Failure> {
    for number in 0..questions {
        let byte = number as u8;
        stream.queue().extend(std::iter::repeat_n(byte, length));
        stream.flush().await?;
        let mut left = length;
        while left > 0 {
            if stream.received().is_empty() {
                stream.fill().await?;
            }
            let got = stream.received().len();
            assert!(stream.received().iter().all(|other| *other == byte));
            assert!(got <= left, "an answer is as long as its request");
            stream.consume(got);
            left -= got;
        }
    }
    Ok(())
}

async fn exchanges_data(endpoint: &Endpoint, poller: Option<&Poller>) {
    let mut stream = Stream::connect(endpoint, poller, LIMIT).await.unwrap();
    stream.limit(None);
    exchange(&mut stream, 50, 1).await.unwrap();
    exchange(&mut stream, 20, 20_000).await.unwrap();
    // More than any socket buffers: the answers must be read while the request is still being sent.
    exchange(&mut stream, 2, 8 << 20).await.unwrap();
}

#[test]
fn data_is_echoed_by_tcp_and_unix_polled_and_blocking() {
    let folder = tempfile::tempdir().unwrap();
    let poller = Poller::new().unwrap();
    let endpoints = [tcp_server(echo), unix_server(&folder.path().join("socket"), echo)];
    for endpoint in &endpoints {
        block_on(&poller, exchanges_data(endpoint, Some(&poller)));
        // Without a poller no future is ever pending, so none needs an executor. Data beyond the socket
        // buffers must then be read by the server.
        let mut stream = blocking(Stream::connect(endpoint, None, LIMIT)).unwrap();
        blocking(exchange(&mut stream, 50, 20_000)).unwrap();
    }
}

/// The output of a future that must not be pending.
fn blocking<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a stream without a poller is pending"),
    }
}

#[test]
fn many_streams_share_one_thread() {
    let endpoint = tcp_server(echo);
    let poller = Poller::new().unwrap();
    block_on(&poller, async {
        let mut streams = Vec::new();
        for _ in 0..64 {
            let stream = Stream::connect(&endpoint, Some(&poller), LIMIT).await;
            streams.push(stream.unwrap());
        }
        let mut under_way: Vec<_> =
            streams.iter_mut().map(|stream| Box::pin(exchange(stream, 20, 3_000))).collect();
        std::future::poll_fn(|context| {
            under_way.retain_mut(|one| match one.as_mut().poll(context) {
                Poll::Ready(done) => {
                    done.unwrap();
                    false
                }
                Poll::Pending => true,
            });
            if under_way.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    });
}

/// Counts its wakes.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_peer_that_reads_a_request_wakes_no_task_before_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let poller = Poller::new().unwrap();
    let endpoint = Endpoint::Unix(path);
    let connected = Stream::connect(&endpoint, Some(&poller), LIMIT);
    let mut stream = block_on(&poller, connected).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    stream.queue().extend_from_slice(b"question");
    block_on(&poller, stream.flush()).unwrap();
    poller.wait(Some(Duration::ZERO));
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    let mut filled = Box::pin(stream.fill());
    assert!(filled.as_mut().poll(&mut context).is_pending());
    let mut taken = [0; 8];
    peer.read_exact(&mut taken).unwrap();
    poller.wait(Some(Duration::ZERO));
    assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "there is no answer yet");
    peer.write_all(b"answer").unwrap();
    poller.wait(Some(LIMIT));
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(filled.as_mut().poll(&mut context).is_ready());
    drop(filled);
    assert_eq!(stream.received(), b"answer");
}

#[test]
fn a_wake_from_another_thread_ends_the_wait_for_sockets() {
    use syncline_contract::Worker;
    let poller = Poller::new().unwrap();
    let waker = poller.waker();
    let other = thread::spawn(move || waker.wake());
    poller.wait(None);
    other.join().unwrap();
    // The wake was consumed; a bounded wait ends by its timer, far more precisely than a millisecond.
    let began = syncline_instrument::clock::now();
    for _ in 0..20 {
        poller.wait(Some(Duration::from_micros(200)));
    }
    let each = (syncline_instrument::clock::now() - began) / 20;
    assert!((150_000..5_000_000).contains(&each), "{each} ns a wait");
}

#[test]
fn a_connection_that_the_server_closes_is_lost_and_names_the_server() {
    let endpoint = tcp_server(|socket| {
        let mut byte = [0];
        assert!(socket.read(&mut byte).is_ok());
    });
    let poller = Poller::new().unwrap();
    for poller in [None, Some(&poller)] {
        let worker = Poller::new().unwrap();
        let failure = block_on(poller.unwrap_or(&worker), async {
            let mut stream = Stream::connect(&endpoint, poller, LIMIT).await.unwrap();
            stream.queue().push(1);
            stream.flush().await.unwrap();
            stream.fill().await.unwrap_err()
        });
        assert_eq!(failure.kind, FailureKind::Connection);
        let message = format!("the connection to {endpoint} was lost: the server closed it");
        assert_eq!(failure.what, message);
    }
}

#[test]
fn a_close_that_arrives_with_the_last_bytes_is_seen_after_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = "127.0.0.1".to_owned();
    let endpoint = Endpoint::Tcp { host, port };
    let poller = Poller::new().unwrap();
    let failure = block_on(&poller, async {
        let mut stream = Stream::connect(&endpoint, Some(&poller), LIMIT).await.unwrap();
        // The last bytes and the close have both arrived before the first poll.
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"last words").unwrap();
        drop(socket);
        stream.limit(Some(Duration::from_secs(5)));
        stream.fill().await.unwrap();
        assert_eq!(stream.received(), b"last words");
        stream.fill().await.unwrap_err()
    });
    assert!(failure.what.ends_with("the server closed it"), "{failure}");
}

#[test]
fn a_server_that_does_not_answer_in_time_is_lost() {
    let endpoint = tcp_server(|socket| {
        // Sends nothing while the other side keeps the connection open.
        assert!(socket.read(&mut [0; 8]).is_ok());
    });
    let poller = Poller::new().unwrap();
    for poller in [None, Some(&poller)] {
        let worker = Poller::new().unwrap();
        let failure = block_on(poller.unwrap_or(&worker), async {
            let limit = Duration::from_millis(50);
            let mut stream = Stream::connect(&endpoint, poller, limit).await.unwrap();
            stream.fill().await.unwrap_err()
        });
        assert_eq!(failure.kind, FailureKind::Connection);
        assert!(failure.what.contains("in time"), "{}", failure.what);
    }
}

#[test]
fn a_port_without_a_listener_is_reported() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let host = "127.0.0.1".to_owned();
    let endpoints =
        [Endpoint::Tcp { host, port }, Endpoint::Unix(PathBuf::from("/nonexistent/socket"))];
    let poller = Poller::new().unwrap();
    for endpoint in &endpoints {
        for polled in [None, Some(&poller)] {
            let connecting = Stream::connect(endpoint, polled, LIMIT);
            let failure = block_on(&poller, connecting).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Connection);
            let place = format!("{endpoint} cannot be reached: ");
            assert!(failure.what.starts_with(&place), "{}", failure.what);
        }
    }
}

/// A certificate for "localhost" with its own root, and a file with that root.
struct Certified {
    server: Arc<rustls::ServerConfig>,
    roots: PathBuf,
    _folder: tempfile::TempDir,
}

fn certified() -> Certified {
    let folder = tempfile::tempdir().unwrap();
    let root_key = rcgen::KeyPair::generate().unwrap();
    let mut root = rcgen::CertificateParams::new(Vec::new()).unwrap();
    root.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root_certificate = root.self_signed(&root_key).unwrap();
    let issuer = rcgen::Issuer::new(root, root_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let roots = folder.path().join("root.pem");
    std::fs::write(&roots, root_certificate.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    Certified { server: Arc::new(server), roots, _folder: folder }
}

/// An echo behind TLS, for one connection after another.
fn tls_server(config: Arc<rustls::ServerConfig>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, socket.unwrap());
            echo(&mut stream);
        }
    });
    port
}

#[test]
fn an_encrypted_stream_verifies_the_certificate_as_configured() {
    let own = certified();
    let port = tls_server(Arc::clone(&own.server));
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port };
    let poller = Poller::new().unwrap();
    let roots = Some(own.roots.as_path());
    for (mode, roots, host, good) in [
        (TlsMode::Prefer, None, "other.example", true),
        (TlsMode::Require, None, "other.example", true),
        (TlsMode::VerifyCa, roots, "other.example", true),
        (TlsMode::VerifyFull, roots, "localhost", true),
        (TlsMode::VerifyFull, roots, "other.example", false),
    ] {
        let tls = Tls::new(mode, roots).unwrap();
        for poller in [None, Some(&poller)] {
            let worker = Poller::new().unwrap();
            let talked = block_on(poller.unwrap_or(&worker), async {
                let mut stream = Stream::connect(&endpoint, poller, LIMIT).await?;
                stream.start_tls(&tls, host).await?;
                assert!(stream.certificate().is_some_and(|der| !der.is_empty()));
                exchange(&mut stream, 30, 1).await?;
                exchange(&mut stream, 3, 10_000).await
            });
            assert_eq!(talked.is_ok(), good, "{mode:?} {host}: {talked:?}");
        }
    }
    // A root that has not signed the certificate.
    let other = certified();
    let tls = Tls::new(TlsMode::VerifyCa, Some(&other.roots)).unwrap();
    let refused = block_on(&poller, async {
        let mut stream = Stream::connect(&endpoint, Some(&poller), LIMIT).await?;
        stream.start_tls(&tls, "localhost").await
    });
    assert_eq!(refused.unwrap_err().kind, FailureKind::Connection);
}

/// The errors of verifying a server's certificate, blocking and polled.
fn refusals(server: &rcgen::CertificateParams, host: &str, by: Signer) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    let mut root = rcgen::CertificateParams::new(Vec::new()).unwrap();
    root.distinguished_name.push(rcgen::DnType::CommonName, "a root of the test");
    root.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root = rcgen::CertifiedIssuer::self_signed(root, rcgen::KeyPair::generate().unwrap());
    let root = root.unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = match by {
        Signer::Root => server.signed_by(&key, &root),
        Signer::Itself | Signer::ItselfAndTrusted => server.self_signed(&key),
    };
    let certificate = certificate.unwrap();
    let roots = folder.path().join("root.pem");
    let trusted = match by {
        Signer::ItselfAndTrusted => certificate.pem(),
        _ => root.pem(),
    };
    std::fs::write(&roots, trusted).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let endpoint =
        Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: tls_server(Arc::new(config)) };
    let tls = Tls::new(TlsMode::VerifyFull, Some(&roots)).unwrap();
    let worker = Poller::new().unwrap();
    [None, Some(&worker)].map(|poller| {
        let refused = block_on(&worker, async {
            let mut stream = Stream::connect(&endpoint, poller, LIMIT).await?;
            stream.start_tls(&tls, host).await
        });
        refused.unwrap_err().what
    })
}

#[derive(Clone, Copy)]
enum Signer {
    Root,
    Itself,
    ItselfAndTrusted,
}

// B.F16
#[test]
fn a_refused_certificate_is_reported_with_advice() {
    let of = |change: fn(&mut rcgen::CertificateParams)| {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        change(&mut params);
        params
    };
    let good = of(|_| ());
    let authority =
        of(|params| params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained));
    let old = of(|params| params.not_after = rcgen::date_time_ymd(2001, 1, 1));
    let early = of(|params| params.not_before = rcgen::date_time_ymd(2999, 1, 1));
    let client = of(|params| {
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    });
    for (server, host, how, words) in [
        (&good, "localhost", Signer::Itself, ["not signed by a trusted root", "tls=require"]),
        (
            &authority,
            "localhost",
            Signer::ItselfAndTrusted,
            ["its certificate is self-signed", "tls=require"],
        ),
        (&old, "localhost", Signer::Root, ["its certificate expired", "days ago"]),
        (&early, "localhost", Signer::Root, ["is not valid before", "check the clocks"]),
        (
            &good,
            "db.example",
            Signer::Root,
            ["its certificate is for localhost and not for db.example", "tls=verify-ca"],
        ),
        (&client, "localhost", Signer::Root, ["is not for servers", "tls=require"]),
    ] {
        for message in refusals(server, host, how) {
            assert!(message.contains("127.0.0.1"), "{message}");
            for word in words {
                assert!(message.contains(word), "{word}: {message}");
            }
            for inside in ["CaUsed", "Other", "Context", "DnsName", "UnknownIssuer", "was lost"] {
                assert!(!message.contains(inside), "{inside}: {message}");
            }
        }
    }
}

// B.F16
#[test]
fn a_server_without_tls_is_reported() {
    let endpoint = tcp_server(|socket| {
        let mut hello = [0; 16];
        socket.read_exact(&mut hello).unwrap();
        socket.write_all(b"-ERR unknown command\r\n").unwrap();
    });
    let tls = Tls::new(TlsMode::Require, None).unwrap();
    let refused = block_on(&Poller::new().unwrap(), async {
        let mut stream = Stream::connect(&endpoint, None, LIMIT).await?;
        stream.start_tls(&tls, "localhost").await
    });
    let message = refused.unwrap_err().what;
    assert!(message.contains("does not speak TLS; check host and port"), "{message}");
}

#[test]
fn modes_that_verify_need_roots_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (file, why) in [
        (empty, "no root certificates"),
        (folder.path().join("absent.pem"), "root certificates of"),
    ] {
        let refused = Tls::new(TlsMode::VerifyFull, Some(&file)).unwrap_err();
        assert!(refused.what.contains(why), "{}", refused.what);
    }
}

// A.E6
#[test]
fn the_kernel_probes_a_silent_peer() {
    use rustix::net::sockopt;
    let stream = block_on(&(), Stream::connect(&tcp_server(echo), None, LIMIT)).unwrap();
    assert!(sockopt::socket_keepalive(&stream).unwrap());
    let idle = sockopt::tcp_keepidle(&stream).unwrap();
    let every = sockopt::tcp_keepintvl(&stream).unwrap();
    let times = sockopt::tcp_keepcnt(&stream).unwrap();
    assert!(idle + every * times <= Duration::from_mins(2), "{idle:?} {every:?} {times}");
}
