//! The reporter on the lab in virtual time: conflicts, what others wrote, nothing written twice, waits that end.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::time::Duration;

use jiff::Timestamp;
use lockstep_api::{Condition, ConditionStatus, Conditions};
use lockstep_reporter::{Prerequisites, Report, Reporter, Rollout, WaitError};
use lockstep_tests::clients::Call;
use lockstep_tests::stage::{OPERATORS, Stage};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

fn report() -> Report {
    let at = Timestamp::UNIX_EPOCH;
    let mut parts = Conditions::default();
    parts.set(Condition::new("ServerAvailable", ConditionStatus::True), at);
    parts.set(Condition::new("ServerDegraded", ConditionStatus::False), at);
    Report::new("example", "1.1.0").parts(&parts).operand("server", "1.1.0", Rollout::Done).related(
        "",
        "namespaces",
        "",
        "openshift-example",
    )
}

async fn live(stage: &Stage) -> Value {
    Call::new("GET", format!("{OPERATORS}/example")).send(&stage.lab.client()).await.unwrap().body
}

#[tokio::test(start_paused = true)]
async fn a_report_survives_conflicts_keeps_what_others_wrote_and_is_written_once() {
    let stage = Stage::new().await;
    let conflicts = json!({"name": "conflicts", "times": 3, "effect": {"refuse": {"code": 409}},
        "match": {"verbs": ["update"], "resources": ["clusteroperators.config.openshift.io/status"]}});
    stage.lab.faults().add(serde_json::from_value(conflicts).unwrap()).unwrap();
    let reporter = Reporter::new(stage.lab.client());
    let published = reporter.publish(&report(), stage.clock.now()).await.unwrap();
    assert!(published.is_written());
    let mut object = live(&stage).await;
    let kinds = |object: &Value| -> Vec<String> {
        let conditions = object["status"]["conditions"].as_array().unwrap();
        conditions.iter().map(|it| it["type"].as_str().unwrap().to_owned()).collect()
    };
    for kind in ["Available", "Progressing", "Degraded"] {
        assert!(kinds(&object).contains(&kind.to_owned()), "{object:#}");
    }
    assert_eq!(object["status"]["versions"][0]["version"], "1.1.0");

    let foreign =
        json!({"type": "RecentBackup", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    object["status"]["conditions"].as_array_mut().unwrap().push(foreign);
    stage.set_status(&format!("{OPERATORS}/example"), &object["status"]).await;
    let before = live(&stage).await["metadata"]["resourceVersion"].clone();
    sleep(Duration::from_mins(5)).await;
    let again = reporter.publish(&report(), stage.clock.now()).await.unwrap();
    assert!(!again.is_written());
    let after = live(&stage).await;
    assert_eq!(after["metadata"]["resourceVersion"], before, "an equal report writes nothing");
    assert!(kinds(&after).contains(&"RecentBackup".to_owned()), "{after:#}");
}

#[tokio::test(start_paused = true)]
async fn who_writes_against_everybody_is_told_so() {
    let stage = Stage::new().await;
    let conflicts = json!({"name": "conflicts", "effect": {"refuse": {"code": 409}},
        "match": {"verbs": ["update"], "resources": ["clusteroperators.config.openshift.io/status"]}});
    stage.lab.faults().add(serde_json::from_value(conflicts).unwrap()).unwrap();
    let error = Reporter::new(stage.lab.client()).publish(&report(), stage.clock.now()).await.unwrap_err();
    assert!(error.to_string().contains("clusteroperator/example was changed by others"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn prerequisites_are_seen_when_they_come_and_named_when_they_do_not() {
    let stage = Stage::new().await;
    let wanted = Prerequisites::new().version("dns", "1.0.0").available("etcd");
    let begun = Instant::now();
    let comes = async {
        sleep(Duration::from_secs(20)).await;
        stage.say("dns", "True", "False", "False").await;
        sleep(Duration::from_secs(20)).await;
        stage.say("etcd", "True", "False", "False").await;
        std::future::pending::<()>().await;
    };
    let client = stage.lab.client();
    let waiting = wanted.wait(&client, Duration::from_mins(10), |_| {});
    tokio::select! {
        biased;
        () = comes => unreachable!("it never ends"),
        outcome = waiting => outcome.unwrap(),
    }
    assert_eq!(begun.elapsed().as_secs(), 40);
    let never = Prerequisites::new().version("dns", "2.0.0");
    let begun = Instant::now();
    let error = never.wait(&client, Duration::from_mins(3), |_| {}).await.unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 180);
    assert!(matches!(&error, WaitError::Limit { missing, .. } if missing[0].operator == "dns"), "{error}");
    assert!(error.to_string().contains("kubectl describe clusteroperator dns"), "{error}");
}
