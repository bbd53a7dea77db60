//! A private Kubernetes for one suite: etcd, the API server and, on request, the controller manager.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::iter;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ports::Ports;
use super::process::{Process, Watchdog};
use crate::Error;
use crate::error::io_error;

/// How often other ports are tried when somebody else was faster.
const ATTEMPTS: u32 = 5;
/// How long one component may take; 3 s is usual, the rest is for a machine that is busy with other suites.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often a component is asked whether it is ready.
const PAUSE: Duration = Duration::from_millis(100);
/// The service network that OpenShift uses by default, so that its releases fit.
const SERVICE_NETWORK: &str = "172.30.0.0/16";
/// Every request once, without bodies, when its answer is complete; for a watch also when it starts.
const AUDIT_POLICY: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";

/// The program of the API server.
const API_SERVER: &str = "kube-apiserver";

/// What a [`Server`] has besides etcd and the API server.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Also run the controller manager: service accounts, garbage collection, workload controllers (there are no nodes).
    pub controller_manager: bool,
    /// Also write one JSON line per request, see [`Server::audit_log`].
    pub audit_log: bool,
    /// More administrators, each with a kubeconfig of its own: an audit log tells them apart. See
    /// [`Server::kubeconfig_of`].
    pub users: Vec<String>,
    /// More users with a kubeconfig of their own, who may do nothing unless a role says so.
    pub plain_users: Vec<String>,
    /// More flags for the API server, such as `--runtime-config=api/all=true`.
    pub api_server_flags: Vec<String>,
    /// More flags for the controller manager, such as `--controllers=*,-job-controller`.
    pub controller_manager_flags: Vec<String>,
}

/// A running private Kubernetes; dropping it ends its processes and removes its folder.
///
/// In a `static` it is never dropped; then it ends when the test process does, however that happens.
pub struct Server {
    // NB: fields are dropped in this order. The watchdog first, or it would kill pids that are already reaped.
    watchdog: Watchdog,
    // What talks to another goes before what it talks to.
    processes: Vec<Process>,
    assets: PathBuf,
    audit_log: Option<PathBuf>,
    kubeconfig: PathBuf,
    /// How the API server was started, and where it listens.
    api: (Vec<String>, u16),
    folder: Folder,
}

/// A temporary folder that goes away with its owner.
pub(crate) struct Folder(pub(crate) PathBuf);

// === impl Server ===

impl Server {
    /// Starts a private Kubernetes and waits until it answers `/readyz`.
    pub fn start(options: &ServerOptions) -> Result<Self, Error> {
        let assets = super::assets()?;
        let mut ports = Ports::of_this_machine();
        let mut attempt = 1;
        loop {
            match Self::start_once(&assets, options, &mut ports) {
                Err(error) if error.is_port_taken() && attempt < ATTEMPTS => attempt += 1,
                Err(Error::Component { name, what, log }) if attempt > 1 => {
                    let what = format!("{what} at attempt {attempt}, each with other ports");
                    return Err(Error::Component { name, what, log });
                }
                result => return result,
            }
        }
    }

    /// The credentials of a cluster administrator, as a kubeconfig file.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The credentials of one of [`ServerOptions::users`], as a kubeconfig file.
    pub fn kubeconfig_of(&self, user: &str) -> PathBuf {
        self.folder().join(format!("kubeconfig-{user}"))
    }

    /// The audit log, when [`ServerOptions::audit_log`] asked for one: a JSON event per line.
    pub fn audit_log(&self) -> Option<&Path> {
        self.audit_log.as_deref()
    }

    /// The process ids of the components, for tests about their end.
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(Process::pid).collect()
    }

    /// The process id of a component, such as `etcd`.
    pub fn pid_of(&self, name: &str) -> Option<u32> {
        self.processes.iter().find(|process| process.name == name).map(Process::pid)
    }

    /// Kills the API server, waits for as long as it shall be away, and starts it again with the same data and address.
    pub fn restart_api_server(&mut self, away: Duration) -> Result<(), Error> {
        if let Some(place) = self.processes.iter().position(|process| process.name == API_SERVER) {
            let process = self.processes.remove(place);
            let pid = process.pid();
            drop(process);
            self.watchdog.forget(pid)?;
        }
        thread::sleep(away);
        self.launch_api_server()
    }

    /// The folder of this instance, with data, certificates and one `NAME.log` per component.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// A `kubectl` command as the administrator; its discovery cache is in the folder of this instance.
    pub fn kubectl<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(self.assets.join("kubectl"));
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig).env("HOME", self.folder());
        command
    }

    /// Runs `kubectl` with these bytes as its input, whatever its exit status.
    pub fn kubectl_stdin<S: AsRef<OsStr>>(&self, arguments: &[S], input: &[u8]) -> Result<Output, Error> {
        let mut child = self
            .kubectl(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io_error("starting `kubectl`"))?;
        let pipe = child.stdin.take();
        thread::scope(|scope| {
            // Beside the reading: a large answer to a large input would block both ends.
            scope.spawn(move || {
                // A `kubectl` that does not read to the end says why in its own words.
                pipe.map(|mut pipe| pipe.write_all(input))
            });
            child.wait_with_output()
        })
        .map_err(io_error("running `kubectl`"))
    }

    /// The answer to a GET of an absolute path of the API.
    pub fn raw(&self, path: &str) -> Result<String, Error> {
        let output = self
            .kubectl(&["get", "--raw", path])
            .output()
            .map_err(io_error("running `kubectl get --raw`"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(Error::Command {
                command: format!("kubectl get --raw {path}"),
                log: String::from_utf8_lossy(&output.stderr).into_owned(),
            })
        }
    }

    /// One attempt: etcd, the API server, then what was asked for.
    fn start_once(assets: &Path, options: &ServerOptions, ports: &mut Ports) -> Result<Self, Error> {
        let folder = Folder::create("kube")?;
        let watchdog = Watchdog::start(&folder.0)?;
        let mut server = Self {
            watchdog,
            processes: Vec::new(),
            assets: assets.to_owned(),
            audit_log: options.audit_log.then(|| folder.0.join("audit.log")),
            kubeconfig: folder.0.join("kubeconfig"),
            api: (Vec::new(), 0),
            folder,
        };
        let (client_port, peer_port, secure_port) = (ports.free()?, ports.free()?, ports.free()?);

        let key = server.folder().join("etcd/fixtures/peer/key.pem");
        server.launch("etcd", &etcd_flags(client_port, peer_port))?;
        server.wait_until("did not open its port", |_| {
            is_complete_key(&fs::read_to_string(&key).unwrap_or_default()) && accepts(client_port)
        })?;

        server.write_credentials(secure_port, options)?;
        server.api = (server.api_server_flags(options, &key, client_port, secure_port)?, secure_port);
        server.launch_api_server()?;

        if options.controller_manager {
            let flags = server.controller_manager_flags(options, &key);
            server.launch("kube-controller-manager", &flags)?;
            server.wait_until("did not create the default service account", |server| {
                server.raw("/api/v1/namespaces/default/serviceaccounts/default").is_ok()
            })?;
        }
        Ok(server)
    }

    fn launch_api_server(&mut self) -> Result<(), Error> {
        let (flags, port) = self.api.clone();
        self.launch(API_SERVER, &flags)?;
        self.wait_until("did not become ready", |server| accepts(port) && server.raw("/readyz").is_ok())
    }

    fn launch(&mut self, name: &'static str, flags: &[String]) -> Result<(), Error> {
        let process = Process::start(name, &self.assets, flags, &self.folder.0, &mut self.watchdog)?;
        self.processes.insert(0, process);
        Ok(())
    }

    /// Waits for the component that was launched last; fails when any of them ends.
    fn wait_until(&mut self, otherwise: &str, ready: impl Fn(&Self) -> bool) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            for process in &mut self.processes {
                process.check()?;
            }
            if ready(self) {
                return Ok(());
            }
            if let Some(last) = self.processes.first()
                && start.elapsed() > PATIENCE
            {
                return Err(last.failed(&format!("{otherwise} within {} s", PATIENCE.as_secs())));
            }
            thread::sleep(PAUSE);
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let file = self.folder().join(name);
        fs::write(&file, text).map_err(io_error(format!("writing `{}`", file.display())))
    }

    /// Tokens of this instance alone, so that another one on a port of ours is never taken for it.
    fn write_credentials(&self, port: u16, options: &ServerOptions) -> Result<(), Error> {
        const MASTERS: &str = ",\"system:masters\"";
        let mut tokens = String::new();
        let masters = options.users.iter().map(|user| (user.as_str(), self.kubeconfig_of(user), MASTERS));
        let plain = options.plain_users.iter().map(|user| (user.as_str(), self.kubeconfig_of(user), ""));
        let admin = ("admin", self.kubeconfig.clone(), MASTERS);
        for (user, file, groups) in iter::once(admin).chain(masters).chain(plain) {
            let token = random_name();
            tokens.extend([&token, ",", user, ",", user, groups, "\n"]);
            let text = format!("{:#}\n", self.credentials(port, user, &token));
            fs::write(&file, text).map_err(io_error(format!("writing `{}`", file.display())))?;
        }
        self.write("tokens.csv", &tokens)
    }

    /// A kubeconfig.
    fn credentials(&self, port: u16, user: &str, token: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "private",
            "contexts": [{"name": "private", "context": {"cluster": "private", "user": user}}],
            "clusters": [{"name": "private", "cluster": {
                "server": format!("https://127.0.0.1:{port}"),
                "certificate-authority": self.folder().join("certificates/apiserver.crt"),
            }}],
            "users": [{"name": user, "user": {"token": token}}],
        })
    }

    fn api_server_flags(
        &self,
        options: &ServerOptions,
        key: &Path,
        etcd: u16,
        port: u16,
    ) -> Result<Vec<String>, Error> {
        let key = key.display();
        let mut flags = vec![
            format!("--etcd-servers=http://127.0.0.1:{etcd}"),
            // If somebody else's etcd got our port, its data stays untouched until the attempt is given up.
            format!("--etcd-prefix=/{}", random_name()),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".into(),
            "--cert-dir=certificates".into(),
            format!("--service-account-key-file={key}"),
            format!("--service-account-signing-key-file={key}"),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            "--token-auth-file=tokens.csv".into(),
            "--authorization-mode=RBAC".into(),
            format!("--service-cluster-ip-range={SERVICE_NETWORK}"),
            // As on every cluster that runs a network plugin; without it such pod templates are refused.
            "--allow-privileged=true".into(),
        ];
        if let Some(log) = self.audit_log() {
            self.write("audit-policy.yaml", AUDIT_POLICY)?;
            flags.push("--audit-policy-file=audit-policy.yaml".into());
            flags.push(format!("--audit-log-path={}", log.display()));
            // In megabytes, never reached: a rotated log would lose requests for its reader.
            flags.push("--audit-log-maxsize=100000".into());
        }
        flags.extend(options.api_server_flags.iter().cloned());
        Ok(flags)
    }

    fn controller_manager_flags(&self, options: &ServerOptions, key: &Path) -> Vec<String> {
        let mut flags = vec![
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--service-account-private-key-file={}", key.display()),
            "--root-ca-file=certificates/apiserver.crt".into(),
            "--leader-elect=false".into(),
            // No port at all: nobody asks it anything.
            "--secure-port=0".into(),
        ];
        flags.extend(options.controller_manager_flags.iter().cloned());
        flags
    }
}

fn etcd_flags(client: u16, peer: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client}");
    let peer = format!("https://127.0.0.1:{peer}");
    vec![
        "--data-dir=etcd".into(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // There are no peers. The key that it makes for them signs service account tokens, which saves a tool for keys.
        "--peer-auto-tls".into(),
        // The data need not survive a power cut.
        "--unsafe-no-fsync".into(),
    ]
}

/// Whether a key file is written to its end.
fn is_complete_key(text: &str) -> bool {
    text.trim_end().ends_with("PRIVATE KEY-----") && text.contains("-----END ")
}

fn accepts(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

/// 128 bits of the standard library's randomness as hex digits.
fn random_name() -> String {
    let part = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", part(), part())
}

// === impl Folder ===

impl Folder {
    /// A folder of its own for `what`.
    pub(crate) fn create(what: &str) -> Result<Self, Error> {
        let name = format!("lockstep-{what}-{}-{}", std::process::id(), random_name());
        let path = std::env::temp_dir().join(name);
        // It holds credentials.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(io_error(format!("creating `{}`", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                drop(writeln!(io::stderr(), "removing `{}`: {error}", self.0.display()));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_counts_only_when_its_last_line_is_there() {
        let whole = "-----BEGIN EC PRIVATE KEY-----\nMIH=\n-----END EC PRIVATE KEY-----\n";
        assert!(is_complete_key(whole));
        assert!(!is_complete_key(&whole[..whole.len() - 5]));
        assert!(!is_complete_key("-----BEGIN EC PRIVATE KEY-----"));
        assert!(!is_complete_key(""));
    }

    #[test]
    fn two_random_names_differ() {
        assert_ne!(random_name(), random_name());
        assert_eq!(random_name().len(), 32);
    }

    #[test]
    fn a_dropped_folder_is_gone() {
        let folder = Folder::create("kube").unwrap();
        let path = folder.0.clone();
        fs::write(path.join("file"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
