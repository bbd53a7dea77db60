//! A fresh server that is ready for an installation.

use std::error::Error;
use std::path::PathBuf;

use kube::Client;
use lockstep_tests::clients;
use lockstep_tests::install::Install;
use lockstep_tests::judge::Judge;
use lockstep_tests::objects::ReleaseObject;
use xtask::kube::{Server, ServerOptions};

use crate::child::Process;

/// The users that an audit log tells apart, and whose kubeconfig is used by whom.
pub(crate) const LOCKSTEP: &str = "lockstep";
pub(crate) const SECOND: &str = "lockstep-again";
const OPERATORS: &str = "operators";

/// A release that is installed.
pub(crate) struct Subject {
    pub(crate) folder: PathBuf,
    pub(crate) objects: Vec<ReleaseObject>,
    pub(crate) judge: Judge,
}

/// A server with run-time namespaces, stubs of aggregated kinds, and operators that wait for their objects.
pub(crate) struct Stage {
    // NB: dropped in this order, so that nobody talks to a server that is gone.
    _operators: Process,
    pub(crate) client: Client,
    pub(crate) server: Server,
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn new(subject: &Subject, audit_log: bool) -> Result<Self, Box<dyn Error>> {
        let users = [LOCKSTEP, SECOND, OPERATORS].map(str::to_owned).to_vec();
        let server = Server::start(&ServerOptions { audit_log, users, ..ServerOptions::default() })?;
        let client = clients::of_file(server.kubeconfig()).await;
        Install::prepare(&client).await;
        let operators = Process::operators(&subject.folder, &server.kubeconfig_of(OPERATORS)).await?;
        Ok(Self { _operators: operators, client, server })
    }
}
