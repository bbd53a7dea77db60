//! How far a run has come, and which of its reports are worth showing.

use std::collections::BTreeSet;

use serde::Serialize;

use lockstep_api::{Release, Time};
use lockstep_payload::Capabilities;

use super::condense::{condense, one_of};
use super::failure::Failure;

/// Everything that is known about the work on a release.
///
/// A run writes `run` and a load writes `loaded`, and neither touches the other's; the rest belongs to both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The generation of the spec that is worked on.
    pub generation: i64,
    /// The release that is worked on.
    pub actual: Release,
    /// Whether that release was verified.
    pub verified: bool,
    /// Whether the release has been applied completely and is only kept.
    pub reconciling: bool,
    /// What the run says.
    pub run: Run,
    /// What the load says.
    pub loaded: Loaded,
}

/// What a run over a release says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// What is wrong.
    pub failure: Option<Failure>,
    /// Tasks that are done.
    pub done: usize,
    /// All tasks: the manifests that the selection includes, and no others.
    pub total: usize,
    /// Successful runs in a row.
    pub completed: usize,
    /// Whether this is the first installation.
    pub initial: bool,
    /// Fingerprint of the manifests.
    pub version_hash: String,
    /// When the run last came further.
    pub last_progress: Option<Time>,
}

/// What the load of a release says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The step that it is at, a reason of `ReleaseAccepted`; empty before the first.
    pub step: &'static str,
    /// One sentence for people.
    pub message: String,
    /// What is wrong.
    pub failure: Option<Failure>,
    /// Pull spec of the release that is loaded, which may be another one than the release that is worked on.
    pub image: String,
    /// What was forced or accepted on the way; empty when nothing was.
    pub accepted_risks: String,
    /// Whether the release is the operator's own, which is read from its own image and needs no verification.
    pub is_local: bool,
    /// Whether the release was verified; a digest that fits is not enough.
    pub verified: bool,
    /// The effective capabilities.
    pub capabilities: Capabilities,
    /// The enabled feature gates.
    pub feature_gates: BTreeSet<String>,
}

/// What becomes of the report of a run; nothing when it would hide the last failure.
///
/// `at_start` is the report when the run started, `current` the one that is shown. A run that was started over reports
/// less than the one that failed before it: until it has passed that point, the failure stays.
pub fn merge_run(at_start: &Report, current: &Report, new: Report, now: Time) -> Option<Report> {
    let (old, run) = (&at_start.run, &new.run);
    let same_image = at_start.actual.image == new.actual.image;
    let order = compare_fractions(run, old);
    if old.failure.is_some() && run.failure.is_none() && same_image && order.is_lt() {
        return None;
    }
    let is_further = order.is_gt() || run.completed > old.completed || (!same_image && run.failure.is_none());
    let last_progress = if is_further { Some(now) } else { run.last_progress.or(old.last_progress) };
    Some(Report {
        // A run that was told no generation works on the one before.
        generation: if new.generation == 0 { at_start.generation } else { new.generation },
        run: Run { last_progress, ..new.run },
        loaded: current.loaded.clone(),
        ..new
    })
}

/// What becomes of the report of a load.
pub fn merge_loaded(current: &Report, new: Report) -> Report {
    Report { run: current.run.clone(), ..new }
}

/// Whether somebody waits for a report, so that it is not held back among many.
pub fn is_news(shown: &Report, new: &Report) -> bool {
    let key = |report: &Report| {
        (report.generation, report.actual.image.clone(), report.reconciling, report.run.failure.is_some())
    };
    key(shown) != key(new)
}

/// How much is done, as people read it: whole percent, never rounded up; 0 of 0 is nothing.
pub fn percent(done: usize, total: usize) -> usize {
    (done * 100).checked_div(total).unwrap_or_default()
}

/// Compares done / total of two runs, where 0 of 0 is nothing.
fn compare_fractions(one: &Run, other: &Run) -> std::cmp::Ordering {
    let parts = |run: &Run| if run.total == 0 { (0, 1) } else { (run.done, run.total) };
    let ((done, total), (other_done, other_total)) = (parts(one), parts(other));
    (done * other_total).cmp(&(other_done * total))
}

// === impl Report ===

impl Report {
    /// The report of a run that applied everything; what was only worth telling is told with it.
    ///
    /// *Compatibility*: the reference tells it in a second report that takes the completion back, so that an
    /// installation with a degraded operator is not complete until the next run.
    #[must_use]
    pub fn completed(self, remarks: Vec<Failure>) -> Self {
        let run = Run {
            failure: one_of(condense(remarks)),
            done: self.run.total,
            completed: self.run.completed + 1,
            initial: false,
            ..self.run
        };
        Self { reconciling: true, run, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockstep_payload::manifest::read_file;
    use lockstep_payload::{CapabilityFilter, Folder, Selection};
    use serde_json::json;

    use super::*;
    use crate::report::Effect;
    use crate::task::Task;
    use crate::task::fixture::tasks;
    use crate::{Frontier, InstallOrder, Mode, build};

    fn at(second: u8) -> Time {
        serde_json::from_value(json!(format!("2026-01-01T00:00:{second:02}Z"))).unwrap()
    }

    fn report(failure: &'static str, image: &str, done: usize, total: usize) -> Report {
        let failure = (!failure.is_empty()).then(|| Failure::new(failure, failure));
        Report {
            actual: Release { image: image.to_owned(), ..Release::default() },
            run: Run { failure, done, total, ..Run::default() },
            ..Report::default()
        }
    }

    fn completed(image: &str, completed: usize) -> Report {
        let report = report("", image, 0, 0);
        Report { run: Run { completed, ..report.run }, ..report }
    }

    #[test]
    fn merges_of_the_specification() {
        // Previous, new, whether it is shown, whether it came further.
        let rows = vec![
            (report("a", "X", 10, 100), report("", "X", 0, 0), false, false),
            (report("a", "X", 10, 100), report("", "Y", 0, 0), true, true),
            (report("a", "X", 0, 0), report("", "X", 0, 0), true, false),
            (report("a", "X", 10, 100), report("a", "X", 0, 0), true, false),
            (report("a", "X", 10, 100), report("b", "X", 10, 100), true, false),
            (report("a", "X", 10, 100), report("b", "X", 20, 100), true, true),
            (completed("X", 1), completed("X", 2), true, true),
            (completed("1", 1), completed("2", 1), true, true),
            (report("", "X", 0, 0), report("", "X", 0, 0), true, false),
            (Report::default(), report("", "X", 0, 0), true, true),
            (report("a", "X", 10, 100), report("", "X", 9, 100), false, false),
            (report("a", "X", 10, 100), report("", "X", 10, 100), true, false),
        ];
        for (index, (previous, new, shown, further)) in rows.into_iter().enumerate() {
            let merged = merge_run(&previous, &previous, new, at(9));
            assert_eq!(merged.is_some(), shown, "row {index}");
            let progress = merged.and_then(|merged| merged.run.last_progress);
            assert_eq!(progress, further.then(|| at(9)), "row {index}");
        }
    }

    #[test]
    fn generations_of_the_specification() {
        for (previous, new, expected) in [(1, 0, 1), (1, 2, 2), (5, 2, 2)] {
            let of = |generation| Report { generation, ..Report::default() };
            let merged = merge_run(&of(previous), &of(previous), of(new), at(9)).unwrap();
            assert_eq!(merged.generation, expected, "{previous} {new}");
        }
    }

    #[test]
    fn the_time_of_the_last_progress_stays_until_there_is_more() {
        let mut previous = report("", "X", 10, 100);
        previous.run.last_progress = Some(at(1));
        let merged = merge_run(&previous, &previous, report("a", "X", 10, 100), at(9)).unwrap();
        assert_eq!(merged.run.last_progress, Some(at(1)));
    }

    #[test]
    fn a_run_and_a_load_leave_each_other_alone() {
        let loaded = Loaded { step: "PayloadLoaded", message: "loaded".to_owned(), ..Loaded::default() };
        let current = Report { loaded: loaded.clone(), ..report("a", "X", 10, 100) };
        let by_run = merge_run(&current, &current, report("b", "X", 20, 100), at(9)).unwrap();
        assert_eq!((by_run.loaded, by_run.run.done), (loaded, 20));
        let news = Loaded { step: "RetrievePayload", ..Loaded::default() };
        let by_load = merge_loaded(&current, Report { loaded: news.clone(), ..report("", "Y", 0, 0) });
        assert_eq!((by_load.loaded, by_load.run, by_load.actual.image.as_str()), (news, current.run, "Y"));
    }

    #[test]
    fn flips_are_news_and_counting_is_not() {
        let base = report("", "X", 1, 3);
        for news in [
            Report { generation: 1, ..base.clone() },
            Report { reconciling: true, ..base.clone() },
            report("", "Y", 1, 3),
            report("a", "X", 1, 3),
        ] {
            assert!(is_news(&base, &news));
        }
        assert!(!is_news(&base, &report("", "X", 2, 3)));
    }

    #[test]
    fn completion_carries_its_remarks_and_stays() {
        let degraded = Failure::new("ClusterOperatorDegraded", "Cluster operator a is degraded")
            .with_effect(Effect::Report);
        let start = Report { run: Run { initial: true, total: 3, ..Run::default() }, ..Report::default() };
        let done = start.completed(vec![degraded.clone()]);
        let reference = (0, true, false);
        assert_ne!((done.run.completed, done.run.initial, done.reconciling), reference);
        assert_eq!((done.run.completed, done.run.initial, done.reconciling), (1, false, true));
        assert_eq!((done.run.done, done.run.failure), (3, Some(degraded)));
    }

    #[test]
    fn a_run_without_a_selected_manifest_is_done_at_once() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    \
                    capability.openshift.io/name: openshift-samples+baremetal\n";
        let manifests = read_file(Folder::ReleaseManifests, &Arc::from("a.yaml"), text.as_bytes()).unwrap();
        let known = Some(Capabilities::all(&BTreeSet::new()).known);
        let capabilities = Some(CapabilityFilter { known, enabled: BTreeSet::new() });
        let none = Selection { capabilities, ..Selection::default() };
        let selected = |by: &Selection| {
            let tasks = Task::list(manifests.iter().filter(|manifest| by.check(manifest).is_ok()));
            Frontier::new(&build(tasks, Mode::Updating, InstallOrder::Flat, 0))
        };
        assert!(selected(&none).is_done());
        assert!(!selected(&Selection::default()).is_done(), "with the capabilities there is something to do");
    }

    #[test]
    fn percent_is_cut_off_and_reaches_a_hundred() {
        let cases = [(0, 0, 0), (334, 1000, 33), (2, 3, 66), (999, 1000, 99), (3, 3, 100)];
        for (done, total, expected) in cases {
            assert_eq!(percent(done, total), expected, "{done} of {total}");
        }
        let graph = build(tasks(&["0000_10_a_1", "0000_10_b_1"]), Mode::Updating, InstallOrder::Flat, 0);
        let mut frontier = Frontier::new(&graph);
        while !frontier.is_done() {
            let node = frontier.ready().next().unwrap();
            frontier.start(node).unwrap();
            frontier.finish(node).unwrap();
        }
        let (done, total) = frontier.counts();
        assert_eq!(percent(done, total), 100);
    }
}
