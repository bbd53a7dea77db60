//! The life of a Pod as a script: pulled, started, ready, crashed, backed off, recovered, finished.

use std::time::Duration;

use super::event::Note;
use super::scenario::WorkloadBehaviour;

/// What a Pod will go through; all durations are drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LifeScript {
    pub(crate) behaviour: WorkloadBehaviour,
    pub(crate) ready_after: Duration,
    pub(crate) recovers_after: Option<Duration>,
    /// How long a crashing container runs, or one state of a flapping one lasts.
    pub(crate) beat: Duration,
    /// Whether it ends by itself.
    pub(crate) is_job: bool,
    /// The container that has the trouble, its image, and how the kubelet names the Pod.
    pub(crate) container: String,
    pub(crate) image: String,
    pub(crate) pod: String,
}

/// Where a Pod is in its life.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Life {
    pub(crate) uid: String,
    pub(crate) script: LifeScript,
    /// Lab time at which a machine took the Pod.
    origin: Duration,
    next: Option<(Duration, Move)>,
    pub(crate) lead: Lead,
    pub(crate) is_ready: bool,
    pub(crate) is_initialized: bool,
    pub(crate) finished: Option<bool>,
    pub(crate) restarts: u32,
    attempts: u32,
    pub(crate) started_at: Option<String>,
    pub(crate) last: Option<Ended>,
}

/// The state of the container that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// Not started yet.
    Creating,
    /// Runs.
    Running,
    /// Has ended.
    Ended(Ended),
    /// Waits for another try.
    Waiting { reason: &'static str, message: String },
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) exit_code: i32,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) started_at: String,
    pub(crate) finished_at: String,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Start,
    PullFailed,
    PullBackOff,
    PullAgain,
    Run,
    Ready,
    Unready,
    Crash,
    BackOff,
    Restart,
    Finish,
}

/// The first pause of a kubelet after a failure; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause of a kubelet.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// The shortest time that a state of something that changes by itself lasts; without it no time would ever pass.
pub(super) const SHORTEST_BEAT: Duration = Duration::from_secs(1);
/// What takes a moment.
const MOMENT: Duration = Duration::from_secs(1);

// === impl Life ===

impl Life {
    /// A Pod that a machine takes now.
    pub(crate) fn new(uid: &str, mut script: LifeScript, origin: Duration) -> Self {
        script.beat = script.beat.max(SHORTEST_BEAT);
        Self {
            uid: uid.to_owned(),
            script,
            origin,
            next: Some((Duration::ZERO, Move::Start)),
            lead: Lead::Creating,
            is_ready: false,
            is_initialized: false,
            finished: None,
            restarts: 0,
            attempts: 0,
            started_at: None,
            last: None,
        }
    }

    /// When something happens next, in lab time.
    pub(crate) fn next_at(&self) -> Option<Duration> {
        self.next.map(|(at, _)| self.origin + at)
    }

    /// Goes on to what is due, one move; gives the events that it makes, or nothing when nothing is due.
    pub(crate) fn advance(&mut self, now: Duration, stamp: &str) -> Option<Vec<Note>> {
        let (at, step) = self.next.filter(|(at, _)| self.origin + *at <= now)?;
        self.next = None;
        let mut notes = Vec::new();
        let follow = self.apply(step, at, stamp, &mut notes);
        self.next = follow.map(|(pause, step)| (at + pause, step));
        Some(notes)
    }

    /// One move: changes the state, and says what comes after which pause.
    fn apply(
        &mut self,
        step: Move,
        at: Duration,
        stamp: &str,
        notes: &mut Vec<Note>,
    ) -> Option<(Duration, Move)> {
        let recovered = self.script.recovers_after.is_some_and(|after| at >= after);
        let image = self.script.image.clone();
        match step {
            Move::Start => {
                notes.push(Note::normal("Pulling", format!("Pulling image \"{image}\"")));
                let pause = self.script.ready_after.mul_f64(0.6);
                match self.script.behaviour {
                    WorkloadBehaviour::ImagePullFailure { .. } => {
                        Some((pause.min(5 * MOMENT), Move::PullFailed))
                    }
                    _ => Some((pause, Move::Run)),
                }
            }
            Move::PullFailed => {
                let message = self.message(|| format!(
                    "rpc error: code = NotFound desc = failed to pull and unpack image \"{image}\": failed to resolve reference \"{image}\": {image}: not found"
                ));
                notes.push(Note::warning("Failed", format!("Failed to pull image \"{image}\": {message}")));
                notes.push(Note::warning("Failed", "Error: ErrImagePull"));
                self.lead = Lead::Waiting { reason: "ErrImagePull", message };
                Some((2 * MOMENT, Move::PullBackOff))
            }
            Move::PullBackOff => {
                let message = format!("Back-off pulling image \"{image}\"");
                notes.push(Note::normal("BackOff", message.clone()));
                notes.push(Note::warning("Failed", "Error: ImagePullBackOff"));
                let message = match &self.lead {
                    Lead::Waiting { message: cause, .. } => format!("{message}: ErrImagePull: {cause}"),
                    _ => message,
                };
                self.lead = Lead::Waiting { reason: "ImagePullBackOff", message };
                self.attempts += 1;
                Some((pause(self.attempts), Move::PullAgain))
            }
            Move::PullAgain => {
                notes.push(Note::normal("Pulling", format!("Pulling image \"{image}\"")));
                Some(if recovered { (3 * MOMENT, Move::Run) } else { (MOMENT, Move::PullFailed) })
            }
            Move::Run => {
                let taken = self.script.ready_after.mul_f64(0.5).as_millis();
                notes.push(Note::normal("Pulled", format!(
                    "Successfully pulled image \"{image}\" in {taken}ms ({taken}ms including waiting). Image size: 104857600 bytes."
                )));
                self.run(stamp, notes);
                self.after_run(at, recovered)
            }
            Move::Restart => {
                self.restarts += 1;
                notes.push(Note::normal(
                    "Pulled",
                    format!("Container image \"{image}\" already present on machine"),
                ));
                self.run(stamp, notes);
                self.after_run(at, recovered)
            }
            Move::Ready => {
                self.is_ready = true;
                (matches!(self.script.behaviour, WorkloadBehaviour::Flapping { .. }) && !recovered)
                    .then_some((self.script.beat, Move::Unready))
            }
            Move::Unready => {
                self.is_ready = false;
                notes.push(Note::warning(
                    "Unhealthy",
                    "Readiness probe failed: HTTP probe failed with statuscode: 500",
                ));
                Some((self.script.beat, Move::Ready))
            }
            Move::Crash => {
                let message = self.message(String::new);
                self.end(self.exit_code(), "Error", message, stamp);
                Some((MOMENT, if self.restarts == 0 { Move::Restart } else { Move::BackOff }))
            }
            Move::BackOff => {
                let pause = pause(self.restarts);
                let LifeScript { container, pod, .. } = &self.script;
                let message = format!(
                    "back-off {}s restarting failed container={container} pod={pod}",
                    pause.as_secs()
                );
                notes.push(Note::warning(
                    "BackOff",
                    format!("Back-off restarting failed container {container} in pod {pod}"),
                ));
                self.lead = Lead::Waiting { reason: "CrashLoopBackOff", message };
                Some((pause, Move::Restart))
            }
            Move::Finish => {
                let fails = self.fails() && !recovered;
                let (code, reason) = if fails { (self.exit_code(), "Error") } else { (0, "Completed") };
                let message = if fails { self.message(String::new) } else { String::new() };
                self.end(code, reason, message, stamp);
                self.finished = Some(!fails);
                None
            }
        }
    }

    fn run(&mut self, stamp: &str, notes: &mut Vec<Note>) {
        let container = &self.script.container;
        notes.push(Note::normal("Created", format!("Created container: {container}")));
        notes.push(Note::normal("Started", format!("Started container {container}")));
        self.lead = Lead::Running;
        self.is_initialized = true;
        self.started_at = Some(stamp.to_owned());
    }

    /// What follows when the container runs.
    fn after_run(&self, at: Duration, recovered: bool) -> Option<(Duration, Move)> {
        let rest = self.script.ready_after.mul_f64(0.4);
        match &self.script.behaviour {
            WorkloadBehaviour::Never { .. } if !recovered => {
                let end = if self.script.is_job { Move::Finish } else { Move::Ready };
                self.script.recovers_after.map(|after| (after.saturating_sub(at), end))
            }
            _ if self.script.is_job => Some((rest, Move::Finish)),
            WorkloadBehaviour::CrashLoop { .. } | WorkloadBehaviour::Fails { .. } if !recovered => {
                Some((self.script.beat, Move::Crash))
            }
            _ => Some((rest, Move::Ready)),
        }
    }

    fn end(&mut self, exit_code: i32, reason: &'static str, message: String, stamp: &str) {
        let started_at = self.started_at.take().unwrap_or_else(|| stamp.to_owned());
        let ended = Ended { exit_code, reason, message, started_at, finished_at: stamp.to_owned() };
        self.is_ready = false;
        self.last = Some(ended.clone());
        self.lead = Lead::Ended(ended);
    }

    fn fails(&self) -> bool {
        matches!(self.script.behaviour, WorkloadBehaviour::CrashLoop { .. } | WorkloadBehaviour::Fails { .. })
    }

    fn exit_code(&self) -> i32 {
        match self.script.behaviour {
            WorkloadBehaviour::CrashLoop { exit_code: Some(code), .. } => code,
            _ => 1,
        }
    }

    fn message(&self, otherwise: impl FnOnce() -> String) -> String {
        match &self.script.behaviour {
            WorkloadBehaviour::CrashLoop { message: Some(message), .. }
            | WorkloadBehaviour::ImagePullFailure { message: Some(message) }
            | WorkloadBehaviour::Never { message: Some(message) }
            | WorkloadBehaviour::Fails { message: Some(message) } => message.clone(),
            _ => otherwise(),
        }
    }
}

/// The pause before the given try: 10 s, 20 s, 40 s … 5 min.
fn pause(tries: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(behaviour: WorkloadBehaviour, recovers: Option<u64>, is_job: bool) -> Life {
        let script = LifeScript {
            behaviour,
            ready_after: Duration::from_secs(10),
            recovers_after: recovers.map(Duration::from_secs),
            beat: Duration::from_secs(2),
            is_job,
            container: "c".into(),
            image: "i".into(),
            pod: "p_n(u)".into(),
        };
        Life::new("u", script, Duration::ZERO)
    }

    /// The states of the first minutes as `second: state`.
    fn diary(mut life: Life, minutes: u64) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(at) = life.next_at().filter(|at| *at <= Duration::from_mins(minutes)) {
            life.advance(at, "stamp").unwrap();
            let state = match &life.lead {
                Lead::Creating => "creating",
                Lead::Running if life.is_ready => "ready",
                Lead::Running => "running",
                Lead::Ended(ended) => ended.reason,
                Lead::Waiting { reason, .. } => reason,
            };
            out.push(format!("{}: {state}", at.as_secs()));
        }
        out
    }

    #[test]
    fn a_healthy_pod_is_created_runs_and_is_ready() {
        assert_eq!(
            diary(life(WorkloadBehaviour::Ready, None, false), 60),
            ["0: creating", "6: running", "10: ready"]
        );
        assert_eq!(
            diary(life(WorkloadBehaviour::Ready, None, true), 60),
            ["0: creating", "6: running", "10: Completed"]
        );
    }

    #[test]
    fn a_crash_loop_pauses_longer_each_time_and_ends_when_it_recovers() {
        let crash = WorkloadBehaviour::CrashLoop { runs_for: None, exit_code: Some(3), message: None };
        let mut one = life(crash.clone(), None, false);
        let found = diary(one.clone(), 2);
        assert_eq!(
            found[..6],
            ["0: creating", "6: running", "8: Error", "9: running", "11: Error", "12: CrashLoopBackOff"]
        );
        assert_eq!(found[6], "22: running");
        while one.restarts < 9 {
            one.advance(Duration::MAX, "s");
        }
        assert_eq!(one.last.as_ref().map(|ended| ended.exit_code), Some(3));
        let recovered = diary(life(crash, Some(60), false), 5);
        assert_eq!(recovered.last().unwrap(), "92: ready", "{recovered:?}");
        assert_eq!(pause(30), LONGEST_PAUSE);
    }

    #[test]
    fn a_failing_pull_alternates_between_its_two_reasons() {
        let found = diary(life(WorkloadBehaviour::ImagePullFailure { message: None }, None, false), 1);
        assert_eq!(
            found[1..6],
            [
                "5: ErrImagePull",
                "7: ImagePullBackOff",
                "17: ImagePullBackOff",
                "18: ErrImagePull",
                "20: ImagePullBackOff"
            ]
        );
    }

    #[test]
    fn a_pod_that_is_never_ready_runs_and_a_flapping_one_changes() {
        assert_eq!(
            diary(life(WorkloadBehaviour::Never { message: None }, None, false), 60).last().unwrap(),
            "6: running"
        );
        let found = diary(life(WorkloadBehaviour::Flapping { period: None }, None, false), 1);
        assert_eq!(found[2..5], ["10: ready", "12: running", "14: ready"]);
    }

    #[test]
    fn a_period_of_nothing_still_lets_time_pass() {
        let mut script = life(WorkloadBehaviour::Flapping { period: None }, None, false).script;
        script.beat = Duration::ZERO;
        let mut flapping = Life::new("u", script, Duration::ZERO);
        let mut moves = 0;
        while flapping.advance(Duration::from_secs(20), "s").is_some() {
            moves += 1;
            assert!(moves < 20, "it goes on for ever");
        }
        assert!(flapping.next_at() > Some(Duration::from_secs(20)));
    }

    #[test]
    fn a_failing_job_pod_ends_with_its_exit_code() {
        let mut job = life(WorkloadBehaviour::Fails { message: Some("no".into()) }, None, true);
        while job.advance(Duration::MAX, "s").is_some() {}
        assert_eq!(job.finished, Some(false));
        assert_eq!(job.last.unwrap().message, "no");
    }
}
