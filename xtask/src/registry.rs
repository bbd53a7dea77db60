//! A private registry for the suites: Debian's `docker-registry`, and `skopeo` as another client of it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;
use crate::debian;
use crate::error::io_error;
use crate::kube::ports::Ports;
use crate::kube::process::{Process, Watchdog};
use crate::kube::server::Folder;

/// The user that a registry with [`Auth::Basic`] knows.
pub const USER: &str = "lockstep";
/// The password of [`USER`].
pub const PASSWORD: &str = "secret";
/// The program of the registry, and the name of its package.
const REGISTRY: &str = "docker-registry";
/// The program of the other client, and the name of its package.
const SKOPEO: &str = "skopeo";
/// [`USER`] and the bcrypt hash of [`PASSWORD`].
const HTPASSWD: &str = "lockstep:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";
/// How often another port is tried when somebody else was faster.
const ATTEMPTS: u32 = 5;
/// How long the registry may take; 0.2 s is usual, the rest is for a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a [`Registry`] asks of its clients.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whom it lets in.
    pub auth: Auth,
    /// Files of certificate and key; without them it speaks plain HTTP.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// Whom a [`Registry`] lets in.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// Everybody.
    #[default]
    Nobody,
    /// [`USER`] with [`PASSWORD`].
    Basic,
    /// Who has a token of this service, signed with the key of the first certificate in the bundle.
    Token {
        /// Address of the token service.
        realm: String,
        /// Name of the registry in tokens.
        service: String,
        /// Name of the token service in tokens.
        issuer: String,
        /// File with the certificates of those who sign.
        bundle: PathBuf,
    },
}

/// A running registry; dropping it ends the process and removes its folder.
pub struct Registry {
    // NB: fields are dropped in this order. The watchdog first, or it would kill a pid that is already reaped.
    _watchdog: Watchdog,
    process: Process,
    address: SocketAddr,
    folder: Folder,
}

// === impl Registry ===

impl Registry {
    /// Starts a registry and waits until it accepts connections.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let binary = debian::find_or_install(REGISTRY, REGISTRY)?;
        let mut ports = Ports::of_this_machine();
        let mut attempt = 1;
        loop {
            match Self::start_once(&binary, options, ports.free()?) {
                Err(error) if error.is_port_taken() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    fn start_once(binary: &Path, options: &Options, port: u16) -> Result<Self, Error> {
        let folder = Folder::create("registry")?;
        let write = |name: &str, text: &str| {
            let path = folder.0.join(name);
            fs::write(&path, text).map_err(io_error(format!("writing `{}`", path.display())))
        };
        write("htpasswd", HTPASSWD)?;
        write("config.json", &config(options, &folder.0, port).to_string())?;
        let mut watchdog = Watchdog::start(&folder.0)?;
        let arguments = ["serve".to_owned(), "config.json".to_owned()];
        let programs = binary.parent().unwrap_or(Path::new("/usr/bin"));
        let process = Process::start(REGISTRY, programs, &arguments, &folder.0, &mut watchdog)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut registry = Self { _watchdog: watchdog, process, address, folder };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            registry.process.check()?;
            if start.elapsed() > PATIENCE {
                return Err(registry.process.failed("did not open its port"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        // Whoever answers is this one only if it still runs.
        registry.process.check()?;
        Ok(registry)
    }

    /// Host and port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The folder that holds its content.
    pub fn storage(&self) -> PathBuf {
        self.folder.0.join("storage")
    }
}

/// A `skopeo` command; its home is a folder without credentials.
pub fn skopeo(home: &Path) -> Result<Command, Error> {
    let mut command = Command::new(debian::find_or_install(SKOPEO, SKOPEO)?);
    // No policy file of the system decides what a suite may copy.
    command
        .arg("--insecure-policy")
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .env_remove("REGISTRY_AUTH_FILE");
    Ok(command)
}

/// The configuration; JSON is YAML.
fn config(options: &Options, folder: &Path, port: u16) -> serde_json::Value {
    let mut config = serde_json::json!({
        "version": "0.1",
        "log": {"level": "warn", "accesslog": {"disabled": true}},
        "storage": {
            "filesystem": {"rootdirectory": folder.join("storage"), "maxthreads": 100},
            "delete": {"enabled": true},
            "maintenance": {"uploadpurging": {"enabled": false}},
        },
        "http": {"addr": format!("127.0.0.1:{port}"), "secret": "lockstep"},
    });
    if let Some((certificate, key)) = &options.tls {
        config["http"]["tls"] = serde_json::json!({"certificate": certificate, "key": key});
    }
    match &options.auth {
        Auth::Nobody => {}
        Auth::Basic => {
            config["auth"] =
                serde_json::json!({"htpasswd": {"realm": "lockstep", "path": folder.join("htpasswd")}});
        }
        Auth::Token { realm, service, issuer, bundle } => {
            config["auth"] = serde_json::json!({"token": {
                "realm": realm, "service": service, "issuer": issuer, "rootcertbundle": bundle,
            }});
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_asks_for_what_the_options_say() {
        let plain = config(&Options::default(), Path::new("/f"), 5000);
        assert!(plain.get("auth").is_none() && plain["http"].get("tls").is_none());
        assert_eq!(plain["http"]["addr"], "127.0.0.1:5000");
        let options = Options { auth: Auth::Basic, tls: Some(("/c".into(), "/k".into())) };
        let guarded = config(&options, Path::new("/f"), 5000);
        assert_eq!(guarded["auth"]["htpasswd"]["path"], "/f/htpasswd");
        assert_eq!(guarded["http"]["tls"]["key"], "/k");
    }
}
