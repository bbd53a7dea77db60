//! A started `lockstep lab up`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cli::binary;

/// How long it may take to begin.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often it is looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// A bare lab on a port of its own choice, until it is dropped.
pub struct LabUp {
    child: Child,
    kubeconfig: PathBuf,
    folder: TempDir,
}

// === impl LabUp ===

impl LabUp {
    /// Starts it and waits until `kubectl` is answered.
    ///
    /// # Panics
    /// When it does not become ready, or there is no `kubectl` to ask it.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kubeconfig = folder.path().join("kubeconfig");
        let child = Command::new(binary())
            .args(["lab", "up", "--bare", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(&kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a command that was built");
        let lab = Self { child, kubeconfig, folder };
        let start = Instant::now();
        while !lab.is_ready() {
            assert!(start.elapsed() < PATIENCE, "`lab up` did not become ready");
            thread::sleep(PAUSE);
        }
        lab
    }

    /// The file that leads to it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn is_ready(&self) -> bool {
        // Without the file `kubectl` would ask a server of its own choice.
        if !self.kubeconfig.exists() {
            return false;
        }
        let kubectl = xtask::kube::assets().expect("the files of a Kubernetes").join("kubectl");
        let output = Command::new(kubectl)
            .args(["get", "--raw", "/readyz", "--request-timeout=30s"])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("a kubectl that starts");
        output.status.success() && output.stdout == b"ok"
    }
}

impl Drop for LabUp {
    fn drop(&mut self) {
        // It may have ended by itself, which the commands have shown then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
