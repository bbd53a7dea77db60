//! What an operator says over time, as data: moments that change its report, and a cycle between two reports.

use std::time::Duration;

use lockstep_api::names::condition::{AVAILABLE, DEGRADED, PROGRESSING, UPGRADEABLE};

use super::rules::OperatorScript;
use super::scenario::{OperatorBehaviour, Trouble};
use super::span::Span;

/// The report of an operator from its start on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    /// What changes when, in order.
    moments: Vec<(Duration, Change)>,
    cycle: Option<Cycle>,
}

/// A change of the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    /// Conditions that are set; others stay.
    pub(crate) sayings: Vec<Saying>,
    /// Versions that are reported from now on; without them the old ones stay.
    pub(crate) versions: Option<Versions>,
}

/// Names and versions, in order.
pub(crate) type Versions = Vec<(String, String)>;

/// One condition without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saying {
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Two reports in turns.
#[derive(Clone, Debug, PartialEq)]
struct Cycle {
    from: Duration,
    until: Option<Duration>,
    period: Duration,
    bad: Saying,
    good: Saying,
}

/// What a timeline is made for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occasion {
    /// The versions to reach.
    pub(crate) versions: Versions,
    /// What was reported before; empty at the first time.
    pub(crate) before: Versions,
    /// Whether the component is available already.
    pub(crate) is_update: bool,
}

/// The reason and the message of everything that is well.
const WELL: (&str, &str) = ("AsExpected", "All is well");

// === impl Saying ===

impl Saying {
    fn new(kind: &str, holds: bool, reason: &str, message: &str) -> Self {
        let status = if holds { "True" } else { "False" };
        Self { kind: kind.into(), status: status.into(), reason: reason.into(), message: message.into() }
    }

    fn well(kind: &str, holds: bool) -> Self {
        Self::new(kind, holds, WELL.0, WELL.1)
    }
}

// === impl Timeline ===

impl Timeline {
    /// The timeline of a script; `draw` gives a duration for a purpose.
    pub(crate) fn compile(
        script: &OperatorScript,
        occasion: &Occasion,
        draw: &dyn Fn(&str, Span) -> Duration,
    ) -> Self {
        if script.behaviour == OperatorBehaviour::Silent {
            return Self::default();
        }
        if !script.steps.is_empty() {
            return Self::of_steps(script, draw);
        }
        let mut timeline = Self::healthy(script, occasion, draw);
        let done = timeline.moments.last().map(|(at, _)| *at).unwrap_or_default();
        let behaviour = &script.behaviour;
        match behaviour {
            OperatorBehaviour::Healthy | OperatorBehaviour::Silent => {}
            OperatorBehaviour::Hang { message } => {
                timeline.moments.pop();
                if let (Some(message), Some((_, first))) = (message, timeline.moments.first_mut()) {
                    let progressing = first.sayings.iter_mut().find(|saying| saying.kind == PROGRESSING);
                    if let Some(saying) = progressing {
                        saying.message.clone_from(message);
                    }
                }
            }
            OperatorBehaviour::OldVersion { version } => {
                let old = match version {
                    Some(version) => each(&occasion.versions, version),
                    None if occasion.before.is_empty() => each(&occasion.versions, "0.0.0"),
                    None => occasion.before.clone(),
                };
                timeline
                    .moments
                    .last_mut()
                    .into_iter()
                    .for_each(|(_, change)| change.versions = Some(old.clone()));
            }
            OperatorBehaviour::Degraded(trouble) => {
                let bad = trouble.saying(
                    DEGRADED,
                    true,
                    "OperatorDegraded",
                    "The component does not match its desired state",
                );
                timeline.episode(trouble, done, bad, Saying::well(DEGRADED, false), draw);
            }
            OperatorBehaviour::Unavailable(trouble) | OperatorBehaviour::Flap(trouble) => {
                let bad = trouble.saying(
                    AVAILABLE,
                    false,
                    "OperatorUnavailable",
                    "A part of the component does not work",
                );
                let well = Saying::well(AVAILABLE, true);
                if matches!(behaviour, OperatorBehaviour::Flap(_)) {
                    timeline.cycle(trouble, done, bad, well, draw);
                } else {
                    timeline.episode(trouble, done, bad, well, draw);
                }
            }
            OperatorBehaviour::Oscillate(trouble) => {
                let bad = trouble.saying(PROGRESSING, true, "Reconciling", "Moving to another configuration");
                timeline.cycle(trouble, done, bad, Saying::well(PROGRESSING, false), draw);
            }
        }
        timeline.moments.sort_by_key(|(at, _)| *at);
        timeline
    }

    fn of_steps(script: &OperatorScript, draw: &dyn Fn(&str, Span) -> Duration) -> Self {
        let step = |(index, step): (usize, &super::scenario::Step)| {
            let sayings = step.conditions.iter().map(|condition| Saying {
                kind: condition.kind.clone(),
                status: condition.status.clone(),
                reason: condition.reason.clone(),
                message: condition.message.clone(),
            });
            let versions = step.versions.as_ref().map(|map| map.clone().into_iter().collect());
            (draw(&format!("step {index}"), step.after), Change { sayings: sayings.collect(), versions })
        };
        let mut moments: Vec<_> = script.steps.iter().enumerate().map(step).collect();
        moments.sort_by_key(|(at, _)| *at);
        Self { moments, cycle: None }
    }

    /// Up, available, done.
    fn healthy(script: &OperatorScript, occasion: &Occasion, draw: &dyn Fn(&str, Span) -> Duration) -> Self {
        let target = occasion.versions.first().map_or("the new version", |(_, version)| version);
        let work = format!("Working towards {target}");
        let mut first =
            vec![Saying::new(PROGRESSING, true, "RollingOut", &work), Saying::well(DEGRADED, false)];
        if !occasion.is_update {
            first.insert(0, Saying::new(AVAILABLE, false, "RollingOut", "The component is not deployed yet"));
        }
        if let Some(found) = &script.upgradeable {
            first.push(Saying {
                kind: UPGRADEABLE.into(),
                status: found.status.clone(),
                reason: if found.reason.is_empty() { WELL.0.into() } else { found.reason.clone() },
                message: found.message.clone(),
            });
        }
        let progressing = draw("progressing", script.progressing_for);
        let available = draw("available", script.available_after).min(progressing);
        let mut moments = vec![(Duration::ZERO, Change { sayings: first, versions: None })];
        if !occasion.is_update {
            let sayings = vec![Saying::well(AVAILABLE, true)];
            moments.push((available, Change { sayings, versions: None }));
        }
        let last = Change {
            sayings: vec![Saying::well(PROGRESSING, false)],
            versions: Some(occasion.versions.clone()),
        };
        moments.push((progressing, last));
        Self { moments, cycle: None }
    }

    /// Trouble once.
    fn episode(
        &mut self,
        trouble: &Trouble,
        done: Duration,
        bad: Saying,
        good: Saying,
        draw: &dyn Fn(&str, Span) -> Duration,
    ) {
        let from = trouble.after.map_or(done, |after| draw("trouble", after));
        let change = |saying| Change { sayings: vec![saying], versions: None };
        self.moments.push((from, change(bad)));
        if let Some(lasts) = trouble.lasts {
            self.moments.push((from + draw("trouble lasts", lasts), change(good)));
        }
    }

    /// Trouble in turns.
    fn cycle(
        &mut self,
        trouble: &Trouble,
        done: Duration,
        bad: Saying,
        good: Saying,
        draw: &dyn Fn(&str, Span) -> Duration,
    ) {
        let from = trouble.after.map_or(done, |after| draw("trouble", after));
        let until = trouble.lasts.map(|lasts| from + draw("trouble lasts", lasts));
        let period =
            draw("period", trouble.period.unwrap_or(Span::seconds(30))).max(Duration::from_millis(1));
        self.cycle = Some(Cycle { from, until, period, bad, good });
    }

    /// Everything that is said at a time, and when it changes next.
    pub(crate) fn at(&self, since: Duration) -> (Change, Option<Duration>) {
        let mut report = Change::default();
        let mut next = None;
        for (at, change) in &self.moments {
            if *at > since {
                next = Some(*at);
                break;
            }
            change.sayings.iter().for_each(|saying| say(&mut report.sayings, saying));
            report.versions = change.versions.clone().or(report.versions);
        }
        let Some(cycle) = &self.cycle else { return (report, next) };
        let (saying, turn) = cycle.at(since);
        if let Some(saying) = saying {
            say(&mut report.sayings, saying);
        }
        (report, [next, turn].into_iter().flatten().min())
    }
}

impl Cycle {
    fn at(&self, since: Duration) -> (Option<&Saying>, Option<Duration>) {
        if since < self.from {
            return (None, Some(self.from));
        }
        if self.until.is_some_and(|until| since >= until) {
            return (Some(&self.good), None);
        }
        let turns = since.saturating_sub(self.from).as_millis() / self.period.as_millis();
        let saying = if turns.is_multiple_of(2) { &self.bad } else { &self.good };
        let next = self.from + self.period.saturating_mul(u32::try_from(turns + 1).unwrap_or(u32::MAX));
        (Some(saying), Some(self.until.map_or(next, |until| next.min(until))))
    }
}

impl Trouble {
    fn saying(&self, kind: &str, holds: bool, reason: &str, message: &str) -> Saying {
        Saying::new(
            kind,
            holds,
            self.reason.as_deref().unwrap_or(reason),
            self.message.as_deref().unwrap_or(message),
        )
    }
}

fn say(all: &mut Vec<Saying>, saying: &Saying) {
    match all.iter_mut().find(|known| known.kind == saying.kind) {
        Some(known) => known.clone_from(saying),
        None => all.push(saying.clone()),
    }
}

fn each(versions: &Versions, version: &str) -> Versions {
    versions.iter().map(|(name, _)| (name.clone(), version.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::*;

    fn timeline(rule: &str, is_update: bool) -> Timeline {
        let text = format!(
            "apiVersion: lab.lockstep.dev/v1\nkind: Scenario\noperators:\n- {{availableAfter: 10s, progressingFor: 20s, {rule}}}\n"
        );
        let script = Scenario::read("x", text.as_bytes()).unwrap().operator("dns");
        let versions = |version: &str| vec![("operator".to_owned(), version.to_owned())];
        let before = if is_update { versions("1") } else { vec![] };
        let occasion = Occasion { versions: versions("2"), before, is_update };
        Timeline::compile(&script, &occasion, &|_, span| span.draw(&mut crate::Rng::new(1)))
    }

    /// The report at a second as `APD version`, with `+` for True and `-` for False.
    fn at(timeline: &Timeline, second: u64) -> String {
        let (report, _) = timeline.at(Duration::from_secs(second));
        let mark = |kind| match report.sayings.iter().find(|saying| saying.kind == kind) {
            Some(saying) if saying.status == "True" => '+',
            Some(_) => '-',
            None => ' ',
        };
        let version = report.versions.as_ref().map_or("", |versions| &versions[0].1);
        [AVAILABLE, PROGRESSING, DEGRADED].map(mark).iter().collect::<String>() + version
    }

    fn diary(rule: &str, is_update: bool, seconds: &[u64]) -> Vec<String> {
        let timeline = timeline(rule, is_update);
        seconds.iter().map(|second| at(&timeline, *second)).collect()
    }

    #[test]
    fn a_healthy_operator_is_up_then_available_then_done() {
        assert_eq!(diary("", false, &[0, 10, 20, 9999]), ["-+-", "++-", "+--2", "+--2"]);
        assert_eq!(diary("", true, &[0, 10, 20]), [" +-", " +-", " --2"], "an update leaves Available alone");
        let (_, next) = timeline("", false).at(Duration::from_secs(10));
        assert_eq!(next, Some(Duration::from_secs(20)));
        assert_eq!(timeline("", false).at(Duration::from_secs(20)).1, None);
    }

    #[test]
    fn trouble_comes_when_it_should_and_goes() {
        assert_eq!(
            diary("behaviour: {degraded: {after: 30s, for: 5s}}", false, &[20, 30, 35]),
            ["+--2", "+-+2", "+--2"]
        );
        assert_eq!(diary("behaviour: unavailable", false, &[19, 20, 9999]), ["++-", "---2", "---2"]);
        assert_eq!(diary("behaviour: hang", false, &[20, 9999]), ["++-", "++-"]);
        assert_eq!(diary("behaviour: oldVersion", false, &[20]), ["+--0.0.0"]);
        assert_eq!(diary("behaviour: oldVersion", true, &[20]), [" --1"]);
        assert_eq!(diary("behaviour: silent", false, &[20]), ["   "]);
    }

    #[test]
    fn a_cycle_turns_until_its_end() {
        let rule = "behaviour: {oscillate: {period: 10s, for: 35s}}";
        assert_eq!(
            diary(rule, false, &[20, 30, 40, 50, 55, 70]),
            ["++-2", "+--2", "++-2", "+--2", "+--2", "+--2"]
        );
        let timeline = timeline(rule, false);
        let seconds = |at| timeline.at(Duration::from_secs(at)).1.map(|next| next.as_secs());
        assert_eq!([seconds(20), seconds(52), seconds(55)], [Some(30), Some(55), None]);
        assert_eq!(diary("behaviour: flap", false, &[20, 50]), ["-".to_owned() + "--2", "+--2".to_owned()]);
    }

    #[test]
    fn steps_are_the_whole_script() {
        let rule = "steps: [{after: 5s, conditions: [{type: Available, status: 'True'}], versions: {operator: '9'}}]";
        assert_eq!(diary(rule, false, &[0, 5]), ["   ", "+  9"]);
    }

    #[test]
    fn upgradeable_is_said_only_when_asked_for() {
        let timeline = timeline("upgradeable: {status: 'False', reason: R, message: m}", false);
        let (report, _) = timeline.at(Duration::ZERO);
        let found = report.sayings.iter().find(|saying| saying.kind == UPGRADEABLE).unwrap();
        assert_eq!((found.status.as_str(), found.reason.as_str()), ("False", "R"));
    }
}
