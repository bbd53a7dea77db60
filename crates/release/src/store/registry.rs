//! Repositories of registries.
//!
//! ```text
//! Registries ─ Repository ─ place (manifests, tags) ─┐
//!                         ├ download, upload (blobs) ─┴─ host (tries, tokens, redirects) ─ gate (how many at a time)
//!                         └ mirrors (where else)
//! ```

mod answer;
mod auth;
mod credentials;
mod download;
mod failure;
mod gate;
mod helper;
mod host;
mod identity;
mod mirrors;
mod patience;
mod place;
mod redirect;
mod upload;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::{Certificate, NoProxy, Proxy, redirect::Policy};

use self::credentials::Credentials;
use self::host::Host;
use self::mirrors::Mirrors;
use self::place::{Place, authority};
use super::{Access, Blob, BlobSource, ClusterAccess, StoreError, Which};
use crate::digest::Digest;
use crate::image::{Descriptor, RawManifest};
use crate::reference::PullSpec;

/// How long a connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(15);

/// All registries, reached in one way; connections, credentials and tokens are shared.
#[derive(Debug, Clone)]
pub struct Registries {
    shared: Arc<Shared>,
}

/// One repository of a registry; cheap to clone.
#[derive(Debug, Clone)]
pub struct Repository {
    own: Place,
    /// Where content is looked for by digest: mirrors, and the repository itself unless it must not be asked.
    places: Arc<[Place]>,
}

#[derive(Debug)]
struct Shared {
    access: Access,
    authorities: Vec<Certificate>,
    credentials: Arc<Credentials>,
    mirrors: Mirrors,
    /// Made when it is needed: a command that stays on the disk needs none.
    client: OnceLock<reqwest::Client>,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
}

/// A way through several places.
#[derive(Debug, Default)]
struct Search {
    failed: Option<StoreError>,
}

// === impl Registries ===

impl Registries {
    /// Reads credentials and certificates; nothing is connected yet.
    pub fn new(access: Access) -> Result<Self, StoreError> {
        let credentials = match &access.cluster {
            Some(cluster) => Credentials::of_pull_secret(cluster.pull_secret.as_deref())?,
            None => Credentials::load(access.registry_config.as_deref(), &|name| std::env::var_os(name))?,
        };
        let authorities = match (&access.certificate_authority, &access.cluster) {
            (Some(path), _) if !access.insecure => {
                let name = path.display().to_string();
                let bytes = std::fs::read(path).map_err(|error| bad_bundle(&name, &error.to_string()))?;
                authorities(&bytes, &name)?
            }
            (None, Some(ClusterAccess { certificates: Some(bytes), .. })) => {
                authorities(bytes, "the trusted certificates of the cluster")?
            }
            _ => Vec::new(),
        };
        let mirrors = match (&access.mirror_sets, &access.cluster) {
            (Some(path), _) => Mirrors::load(path)?,
            (None, Some(cluster)) => Mirrors::of_objects(&cluster.mirror_sets)?,
            (None, None) => Mirrors::default(),
        };
        let shared = Shared {
            access,
            authorities,
            credentials: Arc::new(credentials),
            mirrors,
            client: OnceLock::new(),
            hosts: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A repository to read from: it or its mirrors.
    pub fn repository(&self, spec: &PullSpec) -> Result<Repository, StoreError> {
        let own = self.place(spec)?;
        let places = self.shared.mirrors.places(&spec.bare());
        let places: Result<Vec<Place>, StoreError> = places.iter().map(|spec| self.place(spec)).collect();
        Ok(Repository { own, places: places?.into() })
    }

    /// A repository to write to: what its mirrors have is not there.
    pub fn own_repository(&self, spec: &PullSpec) -> Result<Repository, StoreError> {
        let own = self.place(spec)?;
        Ok(Repository { places: Arc::new([own.clone()]), own })
    }

    fn place(&self, spec: &PullSpec) -> Result<Place, StoreError> {
        if spec.repository.is_empty() {
            return Err(StoreError::Refused(format!("{spec}: the repository is missing")));
        }
        let authority = authority(spec);
        let client = self.shared.client()?;
        let mut hosts = self.shared.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let host = hosts.entry(authority.clone()).or_insert_with(|| {
            let credentials = Arc::clone(&self.shared.credentials);
            Arc::new(Host::new(authority, client, credentials, &self.shared.access))
        });
        Ok(Place { spec: spec.bare(), host: Arc::clone(host) })
    }
}

// === impl Shared ===

impl Shared {
    fn client(&self) -> Result<reqwest::Client, StoreError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let proxies = self.access.cluster.as_ref().map(proxies).transpose()?;
        let builder = || {
            let builder = reqwest::Client::builder()
                .user_agent(concat!("lockstep/", env!("CARGO_PKG_VERSION")))
                .redirect(Policy::none())
                .connect_timeout(CONNECT_PATIENCE)
                .tls_danger_accept_invalid_certs(self.access.insecure);
            match proxies.clone() {
                None => builder,
                Some(proxies) => proxies.into_iter().fold(builder.no_proxy(), reqwest::ClientBuilder::proxy),
            }
        };
        let built = builder().tls_certs_merge(self.authorities.clone()).build();
        // A machine without any certificate can still speak plain HTTP.
        let built = built.or_else(|_| builder().tls_certs_only(self.authorities.clone()).build());
        let client = built.map_err(|error| StoreError::Refused(failure::chain(&error)))?;
        Ok(self.client.get_or_init(|| client).clone())
    }
}

/// The certificates of a bundle.
fn authorities(bytes: &[u8], name: &str) -> Result<Vec<Certificate>, StoreError> {
    let found = Certificate::from_pem_bundle(bytes).map_err(|error| bad_bundle(name, &error.to_string()))?;
    if found.is_empty() {
        return Err(bad_bundle(name, "there is no certificate in it"));
    }
    Ok(found)
}

fn bad_bundle(name: &str, why: &str) -> StoreError {
    StoreError::Refused(format!("failed to read registry ca bundle: {name}: {why}"))
}

/// The proxies of a cluster.
fn proxies(cluster: &ClusterAccess) -> Result<Vec<Proxy>, StoreError> {
    let except = || cluster.no_proxy.as_deref().and_then(NoProxy::from_string);
    let wrong = |scheme: &str| {
        StoreError::Refused(format!("the {scheme} proxy of the cluster is no address of a proxy"))
    };
    let mut found = Vec::new();
    if let Some(url) = &cluster.http_proxy {
        found.push(Proxy::http(url).map_err(|_| wrong("http"))?.no_proxy(except()));
    }
    if let Some(url) = &cluster.https_proxy {
        found.push(Proxy::https(url).map_err(|_| wrong("https"))?.no_proxy(except()));
    }
    Ok(found)
}

// === impl Repository ===

impl Repository {
    /// What to call it in messages.
    pub fn name(&self) -> String {
        self.own.to_string()
    }

    /// Tells whoever wants to know of content that broke off so many times in a row.
    pub(super) fn tell_retry(&self, breaks: u32, error: &StoreError, pause: Duration) {
        self.own.host.patience.tell(breaks, error, pause);
    }

    /// Where to look: a tag is known only to the repository itself, unless it is made of a digest.
    fn places_for(&self, which: &Which) -> &[Place] {
        match which {
            Which::Tag(tag) if !is_about_digest(tag) => std::slice::from_ref(&self.own),
            Which::Tag(_) | Which::Digest(_) => &self.places,
        }
    }

    pub(super) async fn manifest(&self, which: &Which) -> Result<RawManifest, StoreError> {
        let mut search = Search::default();
        for place in self.places_for(which) {
            if let Some(found) = search.hears(place.manifest(which).await.map(Some)) {
                return Ok(found);
            }
        }
        search.end()?;
        Err(StoreError::NotFound { what: which.to_string(), store: self.name() })
    }

    pub(super) async fn find(&self, which: &Which) -> Result<Option<Digest>, StoreError> {
        let mut search = Search::default();
        for place in self.places_for(which) {
            if let Some(found) = search.hears(place.find(which).await) {
                return Ok(Some(found));
            }
        }
        search.end().map(|()| None)
    }

    pub(super) async fn tags(&self) -> Result<Vec<String>, StoreError> {
        self.own.tags().await
    }

    pub(super) async fn blob_size(&self, digest: &Digest) -> Result<Option<u64>, StoreError> {
        let mut search = Search::default();
        for place in self.places.iter() {
            if let Some(found) = search.hears(place.blob_size(digest).await) {
                return Ok(Some(found));
            }
        }
        search.end().map(|()| None)
    }

    pub(super) async fn read_blob(&self, blob: &Descriptor, from: u64) -> Result<Blob, StoreError> {
        let mut search = Search::default();
        for place in self.places.iter() {
            if let Some(found) = search.hears(download::read(place, blob, from).await.map(Some)) {
                return Ok(found);
            }
        }
        search.end()?;
        Err(StoreError::NotFound { what: format!("the blob {}", blob.digest), store: self.name() })
    }

    pub(super) async fn write_blob(
        &self,
        blob: &Descriptor,
        source: &BlobSource,
    ) -> Result<bool, StoreError> {
        upload::write(&self.own, blob, source).await
    }

    pub(super) async fn write_manifest(
        &self,
        tag: Option<&str>,
        manifest: &RawManifest,
    ) -> Result<(), StoreError> {
        self.own.write_manifest(tag, manifest).await
    }
}

/// Whether a tag says of which image it tells something, as `sha256-….sig` does: it goes where that image goes.
fn is_about_digest(tag: &str) -> bool {
    let digest = tag.split_once('.').map(|(digest, _)| digest.replacen('-', ":", 1));
    digest.is_some_and(|digest| Digest::parse(&digest).is_ok())
}

// === impl Search ===

impl Search {
    /// What a place has; why it has nothing is kept.
    fn hears<T>(&mut self, outcome: Result<Option<T>, StoreError>) -> Option<T> {
        match outcome {
            Ok(found) => return found,
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
        None
    }

    /// When no place had it: the first error, if it was more than "not here".
    fn end(self) -> Result<(), StoreError> {
        self.failed.map_or(Ok(()), Err)
    }
}
