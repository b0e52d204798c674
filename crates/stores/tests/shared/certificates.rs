//! A root certificate and a certificate for 127.0.0.1 signed by it, created for each test.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files in a directory that a server of another user may enter.
pub(crate) struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    pub(crate) fn new() -> Certificates {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
        let root = root.expect("a root");
        let key = KeyPair::generate().expect("a key");
        let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        let server = server.signed_by(&key, &root).expect("a certificate");
        for (name, text) in [
            ("root.pem", root.pem()),
            ("server.pem", server.pem()),
            ("server.key", key.serialize_pem()),
        ] {
            write(&folder.path().join(name), &text);
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        Certificates { folder }
    }

    /// The root certificate.
    pub(crate) fn root(&self) -> PathBuf {
        self.at("root.pem")
    }

    /// The server's certificate.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.at("server.pem")
    }

    /// The server's key.
    pub(crate) fn key(&self) -> PathBuf {
        self.at("server.key")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).expect("a file");
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("a mode");
}
