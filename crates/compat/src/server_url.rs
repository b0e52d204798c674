//! Builds the URL of a server from another tool's options.
//!
//! ```text
//! SCHEME://USER:PASSWORD@HOST:PORT/DB with a socket instead of a host: SCHEME://USER@:PORT/DB?socket=PATH
//! ```

use syncline_stores::server::percent_encoded_path;

/// A server from options; the target chooses the defaults of missing parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Server<'a> {
    pub(super) scheme: &'a str,
    pub(super) user: Option<&'a str>,
    pub(super) password: Option<&'a str>,
    /// A name or an address; a path that begins with a slash is a socket.
    pub(super) host: Option<&'a str>,
    /// The path of a socket, which takes precedence over a host.
    pub(super) socket: Option<&'a str>,
    pub(super) port: Option<&'a str>,
    pub(super) database: Option<&'a str>,
    /// More options of the target: names and values.
    pub(super) options: Vec<(&'static str, &'a str)>,
}

impl Server<'_> {
    /// The URL.
    pub(super) fn url(&self) -> String {
        let filled = |part: Option<&str>, before: &str| {
            let part = part.filter(|part| !part.is_empty());
            part.map_or(String::new(), |part| format!("{before}{}", percent_encoded_path(part)))
        };
        let is_path = |host: &&str| host.starts_with('/');
        let socket = self.socket.filter(|path| !path.is_empty());
        let socket = socket.or(self.host.filter(is_path));
        let host = self.host.filter(|host| socket.is_none() && !is_path(host));
        // A slash would end the login part of the URL.
        let user = filled(self.user, "") + &filled(self.password, ":");
        let user = user.replace('/', "%2F");
        let at = if user.is_empty() { "" } else { "@" };
        let (host, port) = (filled(host, ""), filled(self.port, ":"));
        let options = socket.map(|path| ("socket", path)).into_iter();
        let options = options.chain(self.options.iter().copied());
        let options: Vec<_> = options
            .map(|(name, value)| format!("{name}={}", percent_encoded_path(value)))
            .collect();
        let ask = if options.is_empty() { "" } else { "?" };
        format!(
            "{}://{user}{at}{host}{port}{}{ask}{}",
            self.scheme,
            filled(self.database, "/"),
            options.join("&")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Server;
    use syncline_stores::AnyTarget;

    #[test]
    fn a_server_becomes_a_url_that_its_target_takes() {
        let postgres = Server { scheme: "postgres", ..Server::default() };
        for (server, url) in [
            (postgres.clone(), "postgres://"),
            (
                Server {
                    user: Some("a b"),
                    password: Some("p@:w"),
                    host: Some("db.example"),
                    port: Some("7"),
                    database: Some("x"),
                    options: vec![("tls", "require"), ("schema", "mine")],
                    ..postgres.clone()
                },
                "postgres://a%20b:p%40%3Aw@db.example:7/x?tls=require&schema=mine",
            ),
            (
                Server {
                    user: Some("me"),
                    host: Some("/tmp/pg"),
                    port: Some("7"),
                    ..postgres.clone()
                },
                "postgres://me@:7?socket=/tmp/pg",
            ),
            (
                Server {
                    scheme: "mysql",
                    host: Some("localhost"),
                    socket: Some("/run/my.sock"),
                    database: Some("x"),
                    ..postgres
                },
                "mysql:///x?socket=/run/my.sock",
            ),
        ] {
            assert_eq!(server.url(), url);
            if let Err(why) = AnyTarget::open(url) {
                panic!("{url}: {why}");
            }
        }
    }
}
