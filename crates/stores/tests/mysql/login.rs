//! Users with each authentication plugin log in, and a password is never shown.

use crate::account_fixture::now;
use crate::server::Server;
use syncline_contract::Target;
use syncline_stores::AnyTarget;

fn connects(server: &Server, login: &str) -> Result<(), String> {
    let url = format!("mysql://{login}@127.0.0.1:{}?tls=disable&live=yes", server.port);
    let target = AnyTarget::open(&url).map_err(|error| error.to_string())?;
    now(target.preflight()).map_err(|failure| failure.what)
}

#[test]
fn users_log_in_by_their_plugins() {
    let server = Server::shared();
    for (user, plugin) in [("nat", "mysql_native_password"), ("edw", "ed25519")] {
        server.query(&format!(
            "CREATE OR REPLACE USER {user}@'%' IDENTIFIED VIA {plugin} USING PASSWORD('s3cr#t'); \
             GRANT ALL ON *.* TO {user}@'%'"
        ));
        assert_eq!(connects(server, &format!("{user}:s3cr%23t")), Ok(()));
        let refused = connects(server, &format!("{user}:wr0ng")).unwrap_err();
        assert!(refused.contains("user and password") && !refused.contains("wr0ng"), "{refused}");
    }
}

// B.Smaller
#[test]
fn a_user_who_must_encrypt_gets_advice() {
    let server = Server::shared();
    server.query("CREATE OR REPLACE USER enc@'%' IDENTIFIED BY 'pw' REQUIRE SSL");
    let refused = connects(server, "enc:pw").unwrap_err();
    assert!(
        refused.contains("1045")
            && refused.contains("the connection was not encrypted")
            && refused.contains("tls=require"),
        "{refused}"
    );
}

#[test]
fn a_server_of_another_product_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let speaks = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let error =
            std::io::Write::write_all(&mut stream, b"220 mail.example ESMTP, good morning\r\n");
        error.unwrap();
        // A packet of that length never ends.
        drop(stream);
    });
    let target = AnyTarget::open(&format!("mysql://root@127.0.0.1:{port}")).unwrap();
    let failure = now(target.preflight()).unwrap_err();
    assert!(failure.what.contains("127.0.0.1"), "{failure}");
    speaks.join().unwrap();
}
