//! The lab on a socket: TLS, credentials, kubeconfig.
//!
//! Time here is the time of the machine: sockets know no other.

mod certificates;
mod connections;
mod credentials;
mod kubeconfig;

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::crypto::CryptoProvider;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use connections::Limits;
pub use credentials::User;
pub use kubeconfig::{KubeconfigError, Login};

use certificates::Certificates;
use connections::Acceptor;
use credentials::Gate;

/// How the lab is put on a socket.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address; only loopback addresses are taken. Port 0 picks a free one.
    pub listen: SocketAddr,
    /// The bearer token of the administrator; a random one when it is `None`.
    pub token: Option<String>,
    /// How much clients may take.
    pub limits: Limits,
    /// How long connections get to finish when the server stops.
    pub grace: Duration,
}

/// A lab that listens; dropping it ends all its connections at once.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    token: String,
    certificates: Certificates,
    stop: watch::Sender<bool>,
    /// The one task that accepts; it owns the tasks of the connections.
    tasks: JoinSet<()>,
}

/// Why the lab cannot be put on a socket.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach the address, and the lab has no permissions: whoever gets in may do everything.
    #[error(
        "the lab listens only on this machine, and `{0}` can be reached from others; use 127.0.0.1 or [::1], and \
         `ssh -L` to get there from elsewhere"
    )]
    NotLoopback(SocketAddr),
    /// Somebody else listens there.
    #[error("`{0}` is in use; stop what listens there, or choose another port (0 picks a free one)")]
    Busy(SocketAddr),
    /// The address cannot be listened on.
    #[error("listening on `{0}`")]
    Listen(SocketAddr, #[source] io::Error),
    /// The token cannot be sent in a header.
    #[error("a token is made of visible ASCII characters without spaces, and is not empty")]
    Token,
    /// No certificate could be made.
    #[error("making certificates")]
    Certificates(#[from] rcgen::Error),
    /// The certificates that were made do not work.
    #[error("setting up TLS")]
    Tls(#[from] rustls::Error),
    /// The machine gives no random numbers.
    #[error("getting random numbers for a token")]
    Random,
}

// === impl ServeOptions ===

impl ServeOptions {
    /// Usual limits, a random token.
    pub fn new(listen: SocketAddr) -> Self {
        Self { listen, token: None, limits: Limits::default(), grace: Duration::from_secs(5) }
    }
}

/// Puts a router on a socket: TLS with fresh certificates, HTTP/1.1 and HTTP/2.
///
/// Every request that gets through carries a [`User`] among its extensions.
pub async fn serve(router: Router, options: ServeOptions) -> Result<Serving, ServeError> {
    if !options.listen.ip().is_loopback() {
        return Err(ServeError::NotLoopback(options.listen));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let token = match options.token {
        Some(token) if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => token,
        Some(_) => return Err(ServeError::Token),
        None => random_token(&provider)?,
    };
    let certificates = Certificates::make(options.listen.ip())?;
    let tls = certificates.server_config(&provider)?;
    let gate = Gate::new(&token, certificates.admin_der().clone());

    let listener =
        TcpListener::bind(options.listen).await.map_err(|error| listen_error(options.listen, error))?;
    let address = listener.local_addr().map_err(|error| listen_error(options.listen, error))?;
    let (stop, stopped) = watch::channel(false);
    let acceptor =
        Acceptor { listener, tls, gate, router, limits: options.limits, grace: options.grace, stopped };
    let mut tasks = JoinSet::new();
    tasks.spawn(acceptor.run());
    Ok(Serving { address, token, certificates, stop, tasks })
}

fn listen_error(address: SocketAddr, error: io::Error) -> ServeError {
    match error.kind() {
        io::ErrorKind::AddrInUse => ServeError::Busy(address),
        _ => ServeError::Listen(address, error),
    }
}

/// 256 bits as hex digits.
fn random_token(provider: &CryptoProvider) -> Result<String, ServeError> {
    let mut bytes = [0; 32];
    provider.secure_random.fill(&mut bytes).map_err(|_| ServeError::Random)?;
    let mut token = String::with_capacity(64);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

// === impl Serving ===

impl Serving {
    /// Where the lab listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The bearer token of the administrator.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A kubeconfig for the administrator with everything inside, as YAML.
    pub fn kubeconfig(&self, login: Login) -> String {
        kubeconfig::text(&self.url(), &self.token, &self.certificates, login)
    }

    /// Writes the kubeconfig, readable for the owner alone, unless the file belongs to something else.
    ///
    /// That of another lab is replaced; then the address of that lab is returned, so that this can be said.
    pub fn write_kubeconfig(&self, path: &Path, login: Login) -> Result<Option<String>, KubeconfigError> {
        kubeconfig::write(path, &self.kubeconfig(login))
    }

    /// Removes the kubeconfig, if it still is the one of this lab; says whether it did.
    pub fn remove_kubeconfig(&self, path: &Path) -> Result<bool, KubeconfigError> {
        kubeconfig::remove(path, &self.url())
    }

    /// Ends watches, lets other requests finish within the grace period, and returns when nothing runs any more.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

// === impl KubeconfigError ===

impl KubeconfigError {
    /// The file.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Foreign(path) | Self::Read(path, _) | Self::Write(path, _) | Self::Remove(path, _) => path,
        }
    }
}

#[cfg(test)]
mod tests;
