//! Processes beside this one, which end with their owner.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use lockstep_tests::cli;
use lockstep_tests::releases::release_image;
use serde_json::Value;
use tempfile::TempDir;

/// How often a process is looked at that is expected to end or to say something.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a process may take to say that it has begun.
const PATIENCE: Duration = Duration::from_mins(1);
/// How much of what a failed process said is shown.
const LAST_LINES: usize = 30;

/// A running process whose words go to a file.
pub(crate) struct Process {
    name: String,
    child: Child,
    folder: TempDir,
}

/// A flood that waits for its start.
pub(crate) struct Flood {
    child: Child,
}

// === impl Process ===

impl Process {
    /// Starts the command of this project.
    pub(crate) fn lockstep(
        arguments: &[&str],
        release: &Path,
        kubeconfig: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let file = File::create(words(&folder))?;
        let child = Command::new(cli::binary())
            .args(arguments)
            .arg(release)
            .args(["--release-image", &release_image(release), "--kubeconfig"])
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        Ok(Self { name: format!("lockstep {}", arguments.join(" ")), child, folder })
    }

    /// The operators of a release; they have begun.
    pub(crate) async fn operators(release: &Path, kubeconfig: &Path) -> Result<Self, Box<dyn Error>> {
        let mut process = Self::lockstep(&["lab", "operators", "--quiet"], release, kubeconfig)?;
        let start = Instant::now();
        while !fs::read_to_string(words(&process.folder))?.contains("playing ") {
            if process.child.try_wait()?.is_some() || start.elapsed() > PATIENCE {
                return Err(process.failed("did not begin"));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(process)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends; anything but success is an error with its last words.
    pub(crate) async fn succeeds(&mut self) -> Result<(), Box<dyn Error>> {
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(self.failed(&describe(status))),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Waits until it fails, perhaps for ever; for a race against what should happen meanwhile.
    pub(crate) async fn fails(&mut self) -> Box<dyn Error> {
        match self.succeeds().await {
            Ok(()) => std::future::pending().await,
            Err(error) => error,
        }
    }

    /// The error that it did not do what it should.
    pub(crate) fn failed(&self, what: &str) -> Box<dyn Error> {
        let text = fs::read_to_string(words(&self.folder)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        format!("`{}` {what}; its last words:\n{last}", self.name).into()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn words(folder: &TempDir) -> PathBuf {
    folder.path().join("words")
}

fn describe(status: ExitStatus) -> String {
    format!("ended with {status}")
}

/// It may have ended by itself, which is as good.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

// === impl Flood ===

impl Flood {
    /// Starts the program beside this one and waits until everything is serialised.
    pub(crate) fn start(release: &Path, kubeconfig: &Path) -> Result<Self, Box<dyn Error>> {
        let program = std::env::current_exe()?.with_file_name("kube_flood");
        let child = Command::new(program)
            .arg(release)
            .arg(kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut flood = Self { child };
        match flood.line()?.trim() {
            "ready" => Ok(flood),
            other => Err(format!("`kube_flood` said `{other}` and not `ready`").into()),
        }
    }

    /// Lets it begin.
    pub(crate) fn begin(&mut self) -> Result<(), Box<dyn Error>> {
        Ok(self.child.stdin.take().ok_or("it has begun")?.write_all(b"\n")?)
    }

    /// What it has to say at its end.
    pub(crate) fn finish(mut self) -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_str(&self.line()?)?)
    }

    /// One line, byte by byte: nothing behind it is taken.
    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        let output = self.child.stdout.as_mut().ok_or("it has no output")?;
        BufReader::with_capacity(1, output).read_line(&mut line)?;
        Ok(line)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
