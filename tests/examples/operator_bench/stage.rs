//! A fresh cluster with nothing but its ClusterVersion, and the replicas that are let loose on it.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;
use lockstep_api::names::namespace;
use lockstep_tests::audit::AuditLog;
use lockstep_tests::clients::Call;
use lockstep_tests::objects;
use lockstep_tests::operator::{FIRST_IMAGE, Launch, Replica, bring_version};
use lockstep_tests::real::{Chosen, Real};
use lockstep_tests::releases::{aggregated_kinds, load};
use tempfile::TempDir;
use xtask::kube::ServerOptions;

use crate::record::{Entry, Moment};

/// The users that the audit log tells apart; each is one replica at a time.
pub(crate) const FIRST: &str = "first";
pub(crate) const SECOND: &str = "second";
/// How long the Lease is good for; see [`Launch::new`].
pub(crate) const LEASE_SECONDS: u32 = 5;
/// How long nothing may be asked until a replica counts as settled.
const SILENCE: Duration = Duration::from_secs(3);
/// When something is given up that is waited for.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often the log is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// The release that is installed.
pub(crate) struct Subject {
    folder: PathBuf,
    pub(crate) version: String,
    chosen: Chosen,
    /// The addresses of its objects.
    pub(crate) members: BTreeSet<String>,
}

/// A cluster, and what it was asked so far.
pub(crate) struct Stage<'a> {
    subject: &'a Subject,
    log: AuditLog,
    entries: Vec<Entry>,
    folder: TempDir,
    pub(crate) real: Real,
}

// === impl Subject ===

impl Subject {
    pub(crate) fn load(folder: &Path) -> Self {
        let objects = objects::of_release(folder);
        Self {
            folder: folder.to_owned(),
            version: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            chosen: load(folder),
            members: objects.iter().map(objects::ReleaseObject::path).collect(),
        }
    }
}

// === impl Stage ===

impl<'a> Stage<'a> {
    pub(crate) async fn new(subject: &'a Subject) -> Result<Self, Box<dyn Error>> {
        let users = [FIRST, SECOND].map(str::to_owned).to_vec();
        let options = ServerOptions { controller_manager: true, users, ..ServerOptions::default() };
        let real = Real::start_with(options, &[&subject.chosen]).await;
        bring_version(&real.client).await;
        warm(&real.client).await?;
        let log = AuditLog::new(real.kube.audit_log().ok_or("a server without an audit log")?);
        let folder = tempfile::tempdir()?;
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        fs::write(folder.path().join("tls.crt"), own.cert.pem())?;
        fs::write(folder.path().join("tls.key"), own.signing_key.serialize_pem())?;
        Ok(Self { subject, log, entries: Vec::new(), folder, real })
    }

    /// Starts a replica as it runs in a cluster: also with its site for metrics and probes.
    pub(crate) fn launch(&self, user: &str) -> Replica {
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let launch = Launch::new(
            &self.real.kube.kubeconfig_of(user),
            FIRST_IMAGE,
            &self.subject.folder,
            self.folder.path(),
            user,
        );
        let flags = [
            "--listen=127.0.0.1:0".to_owned(),
            format!("--serving-cert-file={}", file("tls.crt")),
            format!("--serving-key-file={}", file("tls.key")),
        ];
        launch.with(&flags.each_ref().map(String::as_str)).start()
    }

    /// Where the log is now, for [`Stage::since`].
    pub(crate) fn mark(&mut self) -> Result<usize, Box<dyn Error>> {
        for request in self.log.read()? {
            self.entries.push(Entry::new(request)?);
        }
        Ok(self.entries.len())
    }

    /// What a user asked for since a mark, as far as it is read.
    pub(crate) fn since(&self, mark: usize, user: &str) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries[mark..].iter().filter(move |entry| entry.request.user == user)
    }

    /// The first request of a user since a mark that is as wanted.
    pub(crate) async fn until(
        &mut self,
        user: &str,
        mark: usize,
        is_wanted: impl Fn(&Self, &Entry) -> bool,
    ) -> Result<Entry, Box<dyn Error>> {
        let start = Instant::now();
        loop {
            self.mark()?;
            if let Some(entry) = self.since(mark, user).find(|entry| is_wanted(self, entry)) {
                return Ok(entry.clone());
            }
            if start.elapsed() > PATIENCE {
                return Err(
                    format!("the replica `{user}` does not what it should\n{}", self.words(user)).into()
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// When a user first wrote an object of the release.
    pub(crate) async fn first_apply(&mut self, user: &str) -> Result<Moment, Box<dyn Error>> {
        Ok(self.until(user, 0, Self::is_apply).await?.received)
    }

    /// Whether it writes an object of the release. The Namespace of the Lease comes before anything is applied.
    pub(crate) fn is_apply(&self, entry: &Entry) -> bool {
        let is_for_lease = entry.request.verb == "create" && entry.request.name == namespace::CLUSTER_VERSION;
        entry.request.is_write() && !is_for_lease && self.subject.members.contains(&entry.address())
    }

    /// When the last of such requests of a user since a mark was answered, known after a while without another.
    pub(crate) async fn settle(
        &mut self,
        user: &str,
        mark: usize,
        counts: impl Fn(&Entry) -> bool,
    ) -> Result<Option<Moment>, Box<dyn Error>> {
        let start = Instant::now();
        let (mut count, mut changed) = (0, start);
        while changed.elapsed() < SILENCE {
            tokio::time::sleep(PAUSE).await;
            self.mark()?;
            let new = self.since(mark, user).filter(|entry| counts(entry)).count();
            if new != count {
                (count, changed) = (new, Instant::now());
            }
            if start.elapsed() > PATIENCE {
                let words = self.words(user);
                return Err(format!("the replica `{user}` does not come to rest\n{words}").into());
            }
        }
        Ok(self.since(mark, user).filter(|entry| counts(entry)).map(|entry| entry.answered).max())
    }

    fn words(&self, user: &str) -> String {
        fs::read_to_string(self.folder.path().join(format!("{user}.log"))).unwrap_or_default()
    }
}

/// Waits until the stubs of aggregated kinds can be watched. Whoever is the first to watch a kind that is just defined is told
/// to come again in a second; a cluster without the stubs has nothing to wait for.
async fn warm(client: &Client) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    for definition in aggregated_kinds() {
        let [group, plural] = ["/spec/group", "/spec/names/plural"].map(|pointer| {
            definition.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default()
        });
        let call = Call::new("GET", format!("/apis/{group}/v1/{plural}?watch=true&timeoutSeconds=1"));
        while call.send(client).await.is_none_or(|answer| answer.code != 200) {
            if start.elapsed() > PATIENCE {
                return Err(format!("{plural} cannot be watched").into());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}
