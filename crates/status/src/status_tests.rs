//! The status vectors of the specification, from the ClusterVersion before to the one after.

use std::collections::BTreeSet;

use lockstep_api::names::annotation;
use lockstep_api::validation::{validate, without_invalid};
use lockstep_api::{AcceptedRisk, ConditionalUpdate, Time, Update, UpdateHistory, UpdateState};
use lockstep_graph::report::{Effect, Loaded, RunError, shown};
use lockstep_updates::precondition::{Decision, Finding, decide};
use lockstep_updates::upgradeable::{self, Risk};

use super::*;

#[path = "status_parts_tests.rs"]
mod parts;

const ID: &str = "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c";
const UNTOLD: &str = "False NoChannel: The update channel has not been configured.";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn release(version: &str, image: &str) -> Release {
    Release { version: version.to_owned(), image: image.to_owned(), ..Release::default() }
}

fn own() -> Release {
    release("1.0.0-abc", "image/image:1")
}

fn a_version() -> ClusterVersion {
    let mut version = ClusterVersion::new("version");
    version.spec.cluster_id = ID.to_owned();
    version
}

/// A ClusterVersion with a history, newest first: `C` or `P` and a version; the image is `image:` and the version.
fn with_history(entries: &[&str]) -> ClusterVersion {
    let mut version = a_version();
    for text in entries {
        let (state, it) = text.split_at(1);
        let mut entry = UpdateHistory::begun(&release(it, &format!("image:{it}")), at(1).into());
        if state == "C" {
            entry.state = UpdateState::Completed;
            entry.completion_time = Some(at(2).into());
        }
        version.status.history.push(entry);
    }
    version
}

fn working_on(actual: Release) -> Report {
    Report { actual, ..Report::default() }
}

fn kept(actual: Release, completed: usize) -> Report {
    Report { reconciling: true, run: Run { completed, ..Run::default() }, ..working_on(actual) }
}

fn failing_with(report: Report, failure: Failure) -> Report {
    Report { run: Run { failure: Some(failure), ..report.run }, ..report }
}

fn loaded(release: &Release) -> Loaded {
    let Release { version, image, .. } = release;
    Loaded {
        step: reason::PAYLOAD_LOADED,
        message: format!("Payload loaded version={version:?} image={image:?}"),
        image: image.clone(),
        is_local: true,
        capabilities: Capabilities::all(&BTreeSet::new()),
        ..Loaded::default()
    }
}

/// The status of a ClusterVersion after a report, with nothing special around it.
fn after(version: &ClusterVersion, report: &Report, now: i64) -> ClusterVersionStatus {
    let (times, own) = (StartTimes::default(), own());
    let errors = validate(version, false);
    status(version, report, &around(&own, &times, &errors), at(now))
}

fn around<'a>(own: &'a Release, times: &'a StartTimes, invalid: &'a [FieldError]) -> Context<'a> {
    Context {
        own,
        invalid,
        upgradeable: None,
        is_paused: false,
        remarks: &[],
        times,
        publish_architecture: false,
    }
}

fn text(condition: &Condition) -> String {
    let Condition { status, reason, message, .. } = condition;
    let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    format!("{status}{reason}{message}")
}

/// One condition.
fn told(status: &ClusterVersionStatus, kind: &str) -> String {
    status.conditions.find(kind).map_or("absent".to_owned(), text)
}

/// All conditions in order.
fn all(status: &ClusterVersionStatus) -> Vec<String> {
    status.conditions.iter().map(|it| format!("{}={}", it.kind, text(it))).collect()
}

/// `C` or `P`, the version, and start and end, of each entry.
fn history_of(status: &ClusterVersionStatus) -> Vec<String> {
    let second = |time: Time| time.timestamp().as_second().to_string();
    let one = |entry: &UpdateHistory| {
        let state = entry.state.as_str().chars().next().unwrap_or('?');
        let end = entry.completion_time.map_or("…".to_owned(), second);
        format!("{state}{} {}-{end}", entry.version, second(entry.started_time))
    };
    status.history.iter().map(one).collect()
}

#[test]
fn an_operator_without_a_release_has_nothing_to_apply() {
    let report = failing_with(working_on(Release::default()), no_desired_image());
    let found = after(&a_version(), &report, 5);
    let reference =
        "True NoDesiredImage: Unable to apply <unknown>: an unknown error has occurred: NoDesiredImage";
    assert_ne!(told(&found, "Progressing"), reference);
    let cause = "No configured operator version, unable to update cluster";
    assert_eq!(
        all(&found),
        [
            "ImplicitlyEnabledCapabilities=False AsExpected: Capabilities match configured spec".to_owned(),
            "Available=False".to_owned(),
            format!("Failing=True NoDesiredImage: {cause}"),
            format!("Progressing=True NoDesiredImage: Unable to apply <unknown>: {cause}"),
            format!("RetrievedUpdates={UNTOLD}"),
        ]
    );
    assert_eq!((found.history, found.desired), (vec![], Release::default()));
}

#[test]
fn a_release_of_which_only_the_image_is_known_is_on_its_way() {
    let found = after(&a_version(), &working_on(release("", "image/image:v4.0.1")), 5);
    assert_eq!(history_of(&found), ["P 5-…"]);
    assert_eq!(found.history[0].image, "image/image:v4.0.1");
    assert_eq!(told(&found, "Available"), "False");
    assert_eq!(told(&found, "Failing"), "False");
    assert_eq!(told(&found, "Progressing"), "True: Working towards image/image:v4.0.1");
    assert_eq!(told(&found, "ReleaseAccepted"), "absent");
}

#[test]
fn the_first_load_completion_and_the_run_after_it() {
    let mut version = a_version();
    let mut report = Report { generation: 1, loaded: loaded(&own()), ..working_on(own()) };
    report.run.version_hash = "DL-FFQ2Uem8=".to_owned();
    version.status = after(&version, &report, 5);
    assert_eq!(
        all(&version.status),
        [
            "ImplicitlyEnabledCapabilities=False AsExpected: Capabilities match configured spec",
            "ReleaseAccepted=True PayloadLoaded: Payload loaded version=\"1.0.0-abc\" image=\"image/image:1\"",
            "Available=False",
            "Failing=False",
            "Progressing=True: Working towards 1.0.0-abc",
            &format!("RetrievedUpdates={UNTOLD}"),
        ]
    );
    assert_eq!((version.status.observed_generation, &version.status.desired), (1, &own()));
    assert_eq!(version.status.version_hash, "DL-FFQ2Uem8=");

    let done = Report { run: Run { total: 3, ..report.run.clone() }, ..report }.completed(Vec::new());
    version.status = after(&version, &done, 9);
    assert_eq!(history_of(&version.status), ["C1.0.0-abc 5-9"]);
    assert_eq!(told(&version.status, "Available"), "True: Done applying 1.0.0-abc");
    assert_eq!(told(&version.status, "Progressing"), "False: Cluster version is 1.0.0-abc");

    let again = done.completed(Vec::new());
    assert_eq!(after(&version, &again, 99), version.status, "nothing is written");
}

#[test]
fn contents_that_are_invalid_and_a_release_that_is_kept() {
    let mut version = with_history(&["P4.0.1"]);
    version.status.history[0].image = "image:1".to_owned();
    let actual = release("0.0.1-abc", "image:1");
    let failure = || Failure::new(reason::UPDATE_PAYLOAD_INTEGRITY, "unable to apply object");
    let on_the_way = after(&version, &failing_with(working_on(actual.clone()), failure()), 5);
    assert_eq!(history_of(&on_the_way), ["P0.0.1-abc 5-…", "P4.0.1 1-5"]);
    assert_eq!(told(&on_the_way, "Failing"), "True UpdatePayloadIntegrity: unable to apply object");
    assert_eq!(
        told(&on_the_way, "Progressing"),
        "True UpdatePayloadIntegrity: Unable to apply 0.0.1-abc: the contents of the update are invalid"
    );
    let reconciling = after(&version, &failing_with(kept(actual.clone(), 0), failure()), 5);
    let error = "False UpdatePayloadIntegrity: Error while reconciling 0.0.1-abc: the contents of the update are invalid";
    assert_eq!(told(&reconciling, "Progressing"), error);
    assert_eq!(
        (history_of(&reconciling)[0].as_str(), told(&reconciling, "Available")),
        ("P0.0.1-abc 5-…", "False".to_owned())
    );
    let completed = after(&version, &failing_with(kept(actual, 2), failure()), 5);
    assert_eq!(history_of(&completed), ["C0.0.1-abc 5-5", "P4.0.1 1-5"]);
    assert_eq!(told(&completed, "Available"), "True: Done applying 0.0.1-abc");
    assert_eq!(told(&completed, "Failing"), "True UpdatePayloadIntegrity: unable to apply object");
}

#[test]
fn a_plain_error_is_told_in_both_conditions() {
    let report =
        failing_with(working_on(release("4.0.1", "image:4.0.1")), Failure::new("", "injected error"));
    let found = after(&with_history(&["P4.0.1"]), &report, 5);
    assert_eq!(told(&found, "Failing"), "True: injected error");
    let reference = "True: Unable to apply 4.0.1: an error occurred";
    assert_ne!(told(&found, "Progressing"), reference);
    assert_eq!(told(&found, "Progressing"), "True: Unable to apply 4.0.1: injected error");
}

#[test]
fn progress_is_counted() {
    let mut report = working_on(release("4.0.1", "image:4.0.1"));
    (report.run.done, report.run.total) = (334, 1000);
    let found = after(&with_history(&["P4.0.1"]), &report, 5);
    assert_eq!(told(&found, "Progressing"), "True: Working towards 4.0.1: 334 of 1000 done (33% complete)");
}

#[test]
fn an_update_that_is_taken_back_is_an_entry_of_its_own() {
    let version = with_history(&["P4.0.2", "C4.0.1"]);
    let found = after(&version, &working_on(release("4.0.1", "image:4.0.1")), 5);
    assert_eq!(history_of(&found), ["P4.0.1 5-…", "P4.0.2 1-5", "C4.0.1 1-2"]);
    assert_eq!(told(&found, "Progressing"), "True: Working towards 4.0.1");
}

#[test]
fn a_spec_that_cannot_be_used_is_listed_and_the_release_stays() {
    let mut version = with_history(&["C4.0.1"]);
    version.spec.cluster_id = "not-valid-cluster-id".to_owned();
    version.spec.upstream = "#%GG".to_owned();
    let actual = || release("4.0.1", "image:4.0.1");
    let found = after(&version, &kept(actual(), 1), 5);
    assert_eq!(
        told(&found, "Invalid"),
        "True InvalidClusterVersion: The cluster version is invalid:\n* spec.upstream: Invalid value: \"#%GG\": must be a \
         valid URL or empty\n* spec.clusterID: Invalid value: \"not-valid-cluster-id\": must be an RFC4122-variant UUID\n"
    );
    assert_eq!(
        told(&found, "Progressing"),
        "False InvalidClusterVersion: Stopped at 4.0.1: the cluster version is invalid"
    );
    let on_the_way = after(&version, &working_on(actual()), 5);
    assert_eq!(
        told(&on_the_way, "Progressing"),
        "True InvalidClusterVersion: Reconciling 4.0.1: the cluster version is invalid"
    );
    version.status = found;
    version.spec.cluster_id = ID.to_owned();
    version.spec.upstream.clear();
    let mended = after(&version, &kept(actual(), 1), 6);
    assert_eq!(told(&mended, "Invalid"), "absent");
    assert_eq!(told(&mended, "Progressing"), "False: Cluster version is 4.0.1");
}

#[test]
fn a_version_that_is_not_available_stops_the_cluster_where_it_is() {
    let mut version = with_history(&["C4.0.1"]);
    let available = ["4.0.2", "4.0.3"].map(|it| release(it, &format!("image:{it}"))).to_vec();
    version.status.available_updates = Some(available);
    version.spec.desired_update = Some(Update { version: "4.0.4".to_owned(), ..Update::default() });
    let found = after(&version, &kept(release("4.0.1", "image:4.0.1"), 1), 5);
    assert_eq!(
        told(&found, "Invalid"),
        "True InvalidClusterVersion: The cluster version is invalid: spec.desiredUpdate.version: Invalid value: \"4.0.4\": \
         when image is empty the update must be an available update"
    );
    assert_eq!(
        told(&found, "Progressing"),
        "False InvalidClusterVersion: Stopped at 4.0.1: the cluster version is invalid"
    );
    let errors = validate(&version, false);
    assert_eq!(without_invalid(version, &errors).spec.desired_update, None);
}

#[test]
fn a_kept_release_whose_task_fails_stays_complete() {
    let message = "Could not update test \"file-yml\" (3 of 3)";
    let failure = Failure::new(reason::UPDATE_PAYLOAD_FAILED, message);
    let report = failing_with(kept(release("4.0.1", "image:4.0.1"), 0), failure);
    let found = after(&with_history(&["C4.0.1"]), &report, 5);
    assert_eq!(history_of(&found), ["C4.0.1 1-2"]);
    assert_eq!(told(&found, "Failing"), format!("True UpdatePayloadFailed: {message}"));
    assert_eq!(
        told(&found, "Progressing"),
        "False UpdatePayloadFailed: Error while reconciling 4.0.1: the update could not be applied"
    );
}

#[test]
fn of_two_errors_of_an_installation_the_one_that_fails_is_told() {
    let fails = |text: &str, effect| RunError::Failed(Failure::new("", text).with_effect(effect));
    let failure = shown([fails("Failed to reconcile 10-a-file resource", Effect::None), {
        fails("Failed to reconcile 20-b-file resource", Effect::Fail)
    }]);
    let found = after(&a_version(), &failing_with(working_on(own()), failure.unwrap()), 5);
    assert_eq!(told(&found, "Failing"), "True: Failed to reconcile 20-b-file resource");
    let reference =
        "True MultipleErrors: Unable to apply 1.0.0-abc: an unknown error has occurred: MultipleErrors";
    assert_ne!(told(&found, "Progressing"), reference);
    assert_eq!(
        told(&found, "Progressing"),
        "True MultipleErrors: Unable to apply 1.0.0-abc: Failed to reconcile 20-b-file resource (and 1 more)"
    );
}

#[test]
fn a_release_that_is_refused_changes_nothing_but_its_condition() {
    let mut version = a_version();
    let report = Report { loaded: loaded(&own()), ..kept(own(), 1) };
    version.status = after(&version, &report, 5);
    let cause = "The update cannot be verified: some random error";
    let message =
        format!("Retrieving payload failed version=\"1.0.1-abc\" image=\"image/image:2\" failure={cause}");
    let refused = Report {
        loaded: Loaded {
            step: reason::RETRIEVE_PAYLOAD,
            failure: Some(Failure::new(reason::IMAGE_VERIFICATION_FAILED, cause)),
            image: "image/image:2".to_owned(),
            is_local: false,
            message: message.clone(),
            ..report.loaded.clone()
        },
        ..report
    };
    let found = after(&version, &refused, 9);
    assert_eq!(told(&found, "ReleaseAccepted"), format!("False RetrievePayload: {message}"));
    let mut expected = version.status.clone();
    let accepted = Condition::new("ReleaseAccepted", ConditionStatus::False);
    expected.conditions.set(accepted.because(reason::RETRIEVE_PAYLOAD, message), at(9));
    assert_eq!(found, expected);
}

#[test]
fn what_was_forced_is_remembered_with_the_release_and_kept_by_the_successor() {
    let finding = |name| Finding {
        name,
        reason: "CheckFailure".to_owned(),
        message: format!("{name} will always fail."),
        is_blocking: true,
    };
    let findings = [finding("PreCondition1"), finding("PreCondition2")];
    let Decision::Refused(text) = decide(&findings, false) else { panic!("it must be refused") };
    let mut version = with_history(&["C4.0.1"]);
    let target = release("4.0.2", "image:4.0.2");
    let mut report = kept(release("4.0.1", "image:4.0.1"), 1);
    report.loaded = Loaded {
        step: reason::PRECONDITION_CHECKS,
        message: format!(
            "Preconditions failed for payload loaded version=\"4.0.2\" image=\"image:4.0.2\": {text}"
        ),
        failure: Some(Failure::new(reason::UPGRADE_PRECONDITION_CHECK_FAILED, text)),
        is_local: false,
        ..loaded(&target)
    };
    version.status = after(&version, &report, 5);
    assert!(told(&version.status, "ReleaseAccepted").starts_with(
        "False PreconditionChecks: Preconditions failed for payload loaded version=\"4.0.2\" image=\"image:4.0.2\": \
         Multiple precondition checks failed:\n* Precondition \"PreCondition1\" failed because of \"CheckFailure\": "
    ));
    assert_eq!(version.status.history[0].accepted_risks, "");

    let Decision::Accepted { risks } = decide(&findings, true) else { panic!("it must be accepted") };
    let way = Report {
        loaded: Loaded { is_local: false, accepted_risks: risks.clone(), ..loaded(&target) },
        ..working_on(target.clone())
    };
    version.status = after(&version, &way, 6);
    assert_eq!(history_of(&version.status), ["P4.0.2 6-…", "C4.0.1 1-2"]);
    assert!(risks.starts_with(
        "Forced through blocking failures: Multiple precondition checks failed:\n* Precondition \"PreCondition1\" failed \
         because of \"CheckFailure\": "
    ));
    assert_eq!(version.status.history[0].accepted_risks, risks);
    assert!(!version.status.history[0].verified);
    let message = told(&version.status, "ReleaseAccepted");
    assert!(message.contains("\nThe release was not verified: "), "{message}");

    let local = Loaded { accepted_risks: "of the load".to_owned(), ..loaded(&target) };
    let successor = Report { loaded: local, ..working_on(target) };
    version.status = after(&version, &successor, 7);
    assert_eq!(version.status.history[0].accepted_risks, risks);
}

#[test]
fn risks_that_were_accepted_by_name_are_told_in_a_sentence() {
    let target = release("4.0.2", "image:4.0.2");
    let mut version = with_history(&["C4.0.1"]);
    version.status.conditional_updates = vec![ConditionalUpdate {
        release: target.clone(),
        risk_names: vec!["A".to_owned(), "B".to_owned()],
        ..ConditionalUpdate::default()
    }];
    let accept = |names: &[&str]| {
        let one = |name: &&str| AcceptedRisk { name: (*name).to_owned(), ..AcceptedRisk::default() };
        Some(Update { accept_risks: names.iter().map(one).collect(), ..Update::default() })
    };
    let risks = |version: &ClusterVersion, forced: &str, gate: bool| {
        let gates = gate.then(|| feature_gate::CLUSTER_UPDATE_ACCEPT_RISKS.to_owned()).into_iter().collect();
        let loaded = Loaded {
            is_local: false,
            accepted_risks: forced.to_owned(),
            feature_gates: gates,
            ..loaded(&target)
        };
        let report = Report { loaded, ..working_on(target.clone()) };
        after(version, &report, 5).history[0].accepted_risks.clone()
    };
    version.spec.desired_update = accept(&["A", "B", "C"]);
    let sentence =
        "is exposed to the risks [A,B] which were all explicitly accepted by the cluster administrator.";
    assert_eq!(risks(&version, "", true), format!("The target release image:4.0.2 {sentence}"));
    assert_eq!(risks(&version, "Forced", true), format!("Forced; It {sentence}"));
    assert_eq!(risks(&version, "Forced", false), "Forced", "without the feature");
    version.spec.desired_update = accept(&["A"]);
    assert_eq!(risks(&version, "", true), "", "not all were accepted");
}

#[test]
fn a_load_of_another_release_says_nothing_about_the_one_that_is_worked_on() {
    let other = Loaded {
        is_local: false,
        accepted_risks: "A".to_owned(),
        verified: true,
        ..loaded(&release("4.0.9", "image:4.0.9"))
    };
    let report = Report { loaded: other, ..working_on(release("4.0.1", "image:4.0.1")) };
    let found = after(&with_history(&["P4.0.1"]), &report, 5);
    assert_eq!((found.history[0].accepted_risks.as_str(), found.history[0].verified), ("", false));
}

#[test]
fn a_verified_release_stays_verified() {
    let target = release("4.0.1", "image:4.0.1");
    let mut version = with_history(&["P4.0.1"]);
    version.status = after(&version, &Report { verified: true, ..working_on(target.clone()) }, 5);
    assert!(version.status.history[0].verified);
    assert!(after(&version, &working_on(target), 6).history[0].verified);
}

#[test]
fn the_same_report_again_changes_nothing() {
    let failure = |effect| Failure::new("ClusterOperatorDegraded", "m").about("dns").with_effect(effect);
    let mut counted = working_on(own());
    (counted.run.done, counted.run.total) = (3, 10);
    let reports = [
        working_on(Release::default()),
        working_on(release("", "image")),
        counted.clone(),
        failing_with(counted, failure(Effect::FailAfterInterval)),
        failing_with(working_on(own()), failure(Effect::Fail)),
        Report { loaded: loaded(&own()), ..kept(own(), 1) },
        failing_with(kept(own(), 0), failure(Effect::Fail)),
    ];
    let mut version = a_version();
    for (second, report) in (5..).zip(reports) {
        version.status = after(&version, &report, second);
        assert_eq!(after(&version, &report, second + 100), version.status, "{report:?}");
    }
}
