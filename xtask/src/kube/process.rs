//! Child processes that end with their owner, whatever becomes of the owner.
//!
//! Dropping a [`Process`] kills and reaps it, also while a panic unwinds. When the owner cannot drop anything (it
//! was killed, it aborted, the value is in a `static`), the [`Watchdog`] does it: a small shell that reads from a pipe
//! whose other end only the owner holds; the end of the owner is the end of the pipe.
//!
//! NB: the kernel's parent-death signal is no alternative. It fires when the *thread* that started the child ends, and a
//! test runner ends a thread with every test.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use crate::Error;
use crate::error::io_error;

/// How many lines of a log an error carries.
const TAIL: usize = 15;

/// `$0` is the folder to remove. It reads the pids to guard until the pipe ends, then ends them; one with a minus is no
/// longer to be guarded.
const WATCHDOG: &str = r#"
trap '' INT TERM HUP
pids=' '
while read -r pid; do
    case $pid in
        -*) pids=$(printf %s "$pids" | sed "s/ ${pid#-} / /") ;;
        *) pids="$pids$pid " ;;
    esac
done
pids=${pids# }
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
rm -rf -- "$0" || { sleep 1; rm -rf -- "$0"; }
"#;

/// A component that runs, with its log.
pub(crate) struct Process {
    pub(crate) name: &'static str,
    child: Child,
    log: PathBuf,
}

/// The shell that outlives its owner for a moment, to clean up after it.
pub(crate) struct Watchdog {
    child: Child,
    pids: ChildStdin,
}

// === impl Process ===

impl Process {
    /// Starts a binary in `folder`, where `NAME.log` takes all that it writes.
    pub(crate) fn start(
        name: &'static str,
        assets: &Path,
        arguments: &[String],
        folder: &Path,
        watchdog: &mut Watchdog,
    ) -> Result<Self, Error> {
        let log = folder.join(format!("{name}.log"));
        let opened = || {
            let out = File::create(&log)?;
            Ok((out.try_clone()?, out))
        };
        let (out, err) = opened().map_err(io_error(format!("creating `{}`", log.display())))?;
        let child = Command::new(assets.join(name))
            .args(arguments)
            .current_dir(folder)
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            // A group of its own: Ctrl-C is for the owner, whose end then ends this one.
            .process_group(0)
            .spawn()
            .map_err(io_error(format!("starting `{}`", assets.join(name).display())))?;
        let process = Self { name, child, log };
        watchdog.guard(process.pid())?;
        Ok(process)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error when the process has ended although it should run.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failed(&describe(status))),
            Err(source) => Err(io_error(format!("asking whether {} runs", self.name))(source)),
        }
    }

    /// An error about this process that carries the end of its log.
    pub(crate) fn failed(&self, what: &str) -> Error {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        Error::Component {
            name: self.name,
            what: what.into(),
            log: last_lines(&String::from_utf8_lossy(&bytes)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn describe(status: ExitStatus) -> String {
    format!("ended early ({status})")
}

/// The end of a log, and the line with the cause when it is further up.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let (before, end) = lines.split_at(lines.len().saturating_sub(TAIL));
    let cause = before.iter().rev().find(|line| line.contains("address already in use"));
    cause.into_iter().chain(end).copied().collect::<Vec<_>>().join("\n")
}

// === impl Watchdog ===

impl Watchdog {
    /// Starts the shell that removes `folder` and kills the guarded processes when this process is gone.
    pub(crate) fn start(folder: &Path) -> Result<Self, Error> {
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(WATCHDOG)
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(io_error("starting `sh` as a watchdog"))?;
        let pids = child
            .stdin
            .take()
            .ok_or_else(|| Error::Data { from: "watchdog".into(), what: "its input is not a pipe".into() })?;
        Ok(Self { child, pids })
    }

    /// The process was ended by its owner: its id may soon be somebody else's.
    pub(crate) fn forget(&mut self, pid: u32) -> Result<(), Error> {
        writeln!(self.pids, "-{pid}").map_err(io_error("telling the watchdog a process id"))
    }

    fn guard(&mut self, pid: u32) -> Result<(), Error> {
        writeln!(self.pids, "{pid}").map_err(io_error("telling the watchdog a process id"))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Killed, not told: its owner lives and cleans up itself, and pids that are reaped may belong to others.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_log_is_kept_whole() {
        assert_eq!(last_lines("a\nb\n"), "a\nb");
    }

    #[test]
    fn a_failed_bind_is_kept_although_many_lines_follow() {
        let mut log = String::from("listen tcp: bind: address already in use\n");
        log.push_str(&"noise\n".repeat(100));
        let kept = last_lines(&log);
        assert!(kept.starts_with("listen tcp: bind"), "{kept}");
        assert_eq!(kept.lines().count(), TAIL + 1);
    }

    #[test]
    fn a_process_that_ends_early_is_an_error_with_its_log() {
        let folder = std::env::temp_dir().join(format!("lockstep-process-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut watchdog = Watchdog::start(&folder).unwrap();
        let arguments = ["-c".to_owned(), "echo no luck; exit 3".to_owned()];
        let mut process =
            Process::start("sh", Path::new("/bin"), &arguments, &folder, &mut watchdog).unwrap();
        drop(process.child.wait());
        let text = process.check().unwrap_err().to_string();
        drop(watchdog);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(text.contains("sh ended early (exit status: 3)") && text.contains("no luck"), "{text}");
    }
}
