//! `lockstep top` in a real terminal: keys, a smaller window, and what is left of the terminal afterwards.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lockstep_tests::cli::{binary, lockstep, root};
use lockstep_tests::lab_up::LabUp;
use lockstep_tests::staged::Staged;
use tempfile::TempDir;

/// How long a screen may take to change on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(50);

/// A terminal with a shell in it.
struct Terminal {
    folder: TempDir,
}

// === impl Terminal ===

impl Terminal {
    fn start(kubeconfig: &Path) -> Self {
        let terminal = Self { folder: tempfile::tempdir().unwrap() };
        let kubeconfig = format!("KUBECONFIG={}", kubeconfig.display());
        let root = root().display().to_string();
        let size = ["-x", "120", "-y", "30"];
        let shell = ["env", "-u", "NO_COLOR", "-u", "RUST_BACKTRACE", &kubeconfig, "PS1=$ ", "sh"];
        let begin = ["-f", "/dev/null", "new-session", "-d", "-c", &root];
        terminal.tmux(&[&begin[..], &size, &shell].concat());
        terminal.until("$");
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A server of its own, whose socket goes with the test.
    fn command(&self) -> Command {
        let mut command = xtask::tmux::tmux().unwrap();
        command.arg("-S").arg(self.folder.path().join("socket")).env_remove("TMUX");
        command
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn line(&self, command: &str) {
        self.keys(&["-l", command]);
        self.keys(&["Enter"]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen has this part.
    #[track_caller]
    fn until(&self, part: &str) -> String {
        self.when(part, |screen| screen.contains(part))
    }

    #[track_caller]
    fn when(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "{what:?} does not come:\n{screen}");
            thread::sleep(PAUSE);
        }
    }

    /// How the terminal is set, told by itself.
    fn settings(&self, name: &str) -> String {
        let file = self.folder.path().join(name);
        self.line(&format!("stty -a > {0}.new; mv {0}.new {0}", file.display()));
        let start = Instant::now();
        while !file.exists() {
            assert!(start.elapsed() < PATIENCE, "no answer from stty: {}", self.screen());
            thread::sleep(PAUSE);
        }
        // The size is another matter: the test changes it.
        let text = std::fs::read_to_string(file).unwrap();
        text.split_once(';').unwrap().1.split_once(';').unwrap().1.split_once(';').unwrap().1.to_owned()
    }

    /// Whether the ordinary screen is shown, with a cursor.
    fn is_ordinary(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim() == "0 1"
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Only the server of this socket; without one there is nothing to end.
        let _ = self.command().arg("kill-server").output();
    }
}

/// The screen without times, which go on.
fn timeless(screen: &str) -> String {
    let is_time = |word: &str| {
        let digits = word.trim_end_matches(['h', 'm', 's']);
        digits.len() < word.len() && word.chars().all(|c| c.is_ascii_digit() || "hms".contains(c))
    };
    let word = |word: &str| if is_time(word) || word == "now" { "TIME".to_owned() } else { word.to_owned() };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ") + "\n";
    screen.lines().map(line).collect()
}

#[test]
fn a_person_filters_selects_reads_why_makes_the_window_smaller_and_quits() {
    let lab = LabUp::start();
    let staged = Staged::new(lab.kubeconfig());
    staged.update();
    let terminal = Terminal::start(lab.kubeconfig());
    let before = terminal.settings("before");
    let command = format!("{} top --release examples/releases/1.1.0", binary().display());
    terminal.line(&command);
    let first = terminal.until("lockstep top  1.0.0 -> 1.1.0");
    insta::assert_snapshot!("first", timeless(&first));

    terminal.keys(&["/"]);
    terminal.keys(&["-l", "DNS"]);
    terminal.until("/DNS_");
    terminal.keys(&["Enter"]);
    let filtered = terminal.until("filter: DNS (1 rows)");
    assert!(filtered.contains("dns") && !filtered.contains("kube-apiserver"), "{filtered}");
    terminal.keys(&["Enter"]);
    terminal.until("WHY DNS");
    let why = terminal.until("ROOT CAUSE");
    let (said, cause) = why.split_once("ROOT CAUSE").unwrap();
    insta::assert_snapshot!("why", timeless(said));
    assert!(cause.contains("[O03] warning: Operator degraded: ClusterOperator dns"), "{why}");
    // Escape alone is told from the beginning of another key by the time that passes.
    terminal.keys(&["Escape"]);
    terminal.until("filter: DNS (1 rows)");
    terminal.keys(&["Escape"]);
    terminal.until("1 operators  2 levels  3 events");

    terminal.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    terminal.keys(&["2"]);
    let small = terminal.when("levels on a small screen", |screen| {
        screen.contains("OPERATORS THAT ARE NOT DONE") && screen.lines().count() <= 24
    });
    assert!(small.lines().all(|line| line.chars().count() <= 80), "{small}");
    insta::assert_snapshot!("small", timeless(&small));

    staged.operator(("dns", "1.1.0", "True", "False", "False", ""));
    terminal.until("operator dns: fine at 1.1.0");
    terminal.keys(&["q"]);
    terminal.when("the shell", |screen| screen.contains("top --release") && screen.contains('$'));
    assert_eq!(terminal.settings("after"), before);
    assert!(terminal.is_ordinary());
}

#[test]
fn a_panic_and_control_c_leave_a_terminal_that_can_be_used() {
    let lab = LabUp::start();
    let staged = Staged::new(lab.kubeconfig());
    staged.update();
    let terminal = Terminal::start(lab.kubeconfig());
    let before = terminal.settings("before");
    terminal.line(&format!("{} top --panic; echo code $?", binary().display()));
    terminal.until("lockstep top  1.0.0 -> 1.1.0");
    terminal.keys(&["-l", "!"]);
    let screen = terminal.until("code 101");
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    assert!(lines.contains(&"asked to panic") && lines.contains(&"code 101"), "{screen}");
    assert_eq!(terminal.settings("after-panic"), before);
    assert!(terminal.is_ordinary());

    terminal.line("clear");
    terminal.line(&format!("{} top; echo code $?", binary().display()));
    terminal.until("lockstep top  1.0.0 -> 1.1.0");
    terminal.keys(&["C-c"]);
    terminal.until("code 0");
    assert_eq!(terminal.settings("after"), before);
    assert!(terminal.is_ordinary());
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    let run = lockstep(&["top"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("`lockstep status -w`"), "{}", run.stderr);
}
