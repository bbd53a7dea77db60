//! `cargo xtask test`: every check and every test of the project, in one command.
//!
//! [`list`] says which steps there are, [`run`] runs them one after the other and goes on after a failure. Only the build of
//! the Kubernetes binaries runs beside the others, because it takes longest and nobody needs it at first.

mod log;
mod plan;
mod report;
mod runner;

use std::io::{self, Write};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::Error;
use crate::error::io_error;
use crate::kube;
use crate::lock::lock;
use crate::workspace::target_folder;
use log::Suite;
use plan::{Action, Step};

pub(crate) use log::read as read_log;
pub(crate) use runner::{Run, run_cargo};

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Everything in it is well.
    Passed,
    /// Something in it failed; what, was shown when it happened.
    Failed,
    /// It could not be run here, with the reason.
    LeftOut(String),
}

/// A step that is over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    name: String,
    verdict: Verdict,
    suites: Vec<Suite>,
    seconds: f64,
}

/// The names of all steps with what they do, in their order.
pub fn list() -> Result<String, Error> {
    let steps = plan::plan()?;
    let width = steps.iter().map(|step| step.name.len()).max().unwrap_or_default();
    let lines: Vec<String> =
        steps.iter().map(|step| format!("{:width$}  {}\n", step.name, step.what)).collect();
    Ok(lines.concat())
}

/// Runs the steps with these names, or all; whether everything passed.
///
/// The last line of the output is `N passed, M failed`.
pub fn run(only: &[&str], out: &mut dyn Write) -> Result<bool, Error> {
    let steps = plan::only(plan::plan()?, only)?;
    let target = target_folder()?;
    let start = Instant::now();
    say(out, &format!("building in {}", target.display()))?;

    let _lock = lock(&target.join("xtask.lock"), "tests in the same folder")?;
    let mut binaries = Binaries::start_for(&steps);
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (position, step) in (1..).zip(&steps) {
        let label = format!("[{position}/{}] {}", steps.len(), step.name);
        say(out, &format!("{label}: {} …", step.what))?;
        let began = Instant::now();
        let (verdict, suites) = match &step.action {
            Action::Kube => binaries.finish(out)?,
            Action::Schema => match plan::schema_obstacle(binaries.failed) {
                Some(why) => (Verdict::LeftOut(why), Vec::new()),
                None => own(crate::schema::check(), out)?,
            },
            Action::Cargo(cargo) => {
                if let Some(why) = cargo.obstacle(binaries.failed) {
                    (Verdict::LeftOut(why), Vec::new())
                } else {
                    let run = run_cargo(&step.name, &target, &cargo.arguments, &cargo.environment, out)?;
                    judge(&run, cargo.must_test())
                }
            }
        };
        let outcome =
            Outcome { name: step.name.clone(), verdict, suites, seconds: began.elapsed().as_secs_f64() };
        say(out, &format!("{label}: {}", report::sentence(&outcome)))?;
        outcomes.push(outcome);
    }

    say(out, &report::table(&outcomes, start.elapsed()))?;
    let (passed, failed) = report::counts(&outcomes);
    say(out, &format!("{passed} passed, {failed} failed"))?;
    Ok(failed == 0)
}

/// A suite that holds no test proves nothing, so it has not passed.
fn judge(run: &Run, must_test: bool) -> (Verdict, Vec<Suite>) {
    let suites = read_log(&run.log);
    let tests: usize = suites.iter().map(|suite| suite.passed + suite.failed + suite.left_out.len()).sum();
    let is_well = run.succeeded && suites.iter().all(|suite| suite.failed == 0) && (tests > 0 || !must_test);
    (if is_well { Verdict::Passed } else { Verdict::Failed }, suites)
}

/// The verdict of a step that is a function of ours.
fn own(result: Result<String, Error>, out: &mut dyn Write) -> Result<(Verdict, Vec<Suite>), Error> {
    let (verdict, text) = match result {
        Ok(text) => (Verdict::Passed, text),
        Err(error) => (Verdict::Failed, error.to_string()),
    };
    say(out, &text)?;
    Ok((verdict, Vec::new()))
}

fn say(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(io_error("writing the report"))
}

/// The Kubernetes binaries, on their way.
struct Binaries {
    thread: Option<JoinHandle<Result<String, Error>>>,
    failed: bool,
}

// === impl Binaries ===

impl Binaries {
    /// Starts at once when a later step waits for them.
    fn start_for(steps: &[Step]) -> Self {
        let is_wanted = steps.iter().any(|step| step.action == Action::Kube);
        let provide = || kube::assets().map(|folder| format!("Kubernetes is in {}", folder.display()));
        Self { thread: is_wanted.then(|| thread::spawn(provide)), failed: false }
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(Verdict, Vec<Suite>), Error> {
        let ended = self.thread.take().map(JoinHandle::join);
        let result = ended.and_then(Result::ok).unwrap_or_else(|| {
            Err(io_error("providing the Kubernetes binaries")(io::Error::other("the thread panicked")))
        });
        self.failed = result.is_err();
        own(result, out)
    }
}
