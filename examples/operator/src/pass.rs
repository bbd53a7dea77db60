//! One look at everything: what there is, what there shall be, what is reported.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use lockstep_api::{Condition, ConditionStatus, Conditions};
use lockstep_reporter::{Report, Rollout};
use serde_json::Value;

use crate::cluster::{CLUSTER_OPERATOR, CONFIG, ensure, get};
use crate::operand::{self, NAME, NAMESPACE, OPERATOR_NAMESPACE};
use crate::settings::{Config, Settings};

/// What is kept from pass to pass: since when the parts are as they are.
#[derive(Debug, Default)]
pub(crate) struct State {
    parts: Conditions,
}

/// What is known of the prerequisite: nothing yet, it is there, or what is missing.
pub(crate) type Gate = Option<Result<(), Wait>>;

/// What is waited for.
#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub(crate) text: String,
    /// Whether an administrator should know.
    pub(crate) is_too_long: bool,
}

/// Looks at everything and acts; gives the report, and when a look is due although nothing changes.
pub(crate) async fn pass(
    client: &Client,
    settings: &Settings,
    state: &mut State,
    gate: Gate,
    now: Timestamp,
) -> anyhow::Result<(Report, Option<Duration>)> {
    let config = get(client, "", "ConfigMap", OPERATOR_NAMESPACE, CONFIG).await?;
    let config = Config::read(&config);
    let live = match (&gate, &config) {
        (Some(Ok(())), Ok(config)) => {
            ensure(client, &operand::config_map(config)).await?;
            ensure(client, &operand::deployment(config, settings)).await?
        }
        // Until it may act it only looks: what runs goes on to run.
        _ => get(client, "apps", "Deployment", NAMESPACE, NAME).await?,
    };
    state.parts.replace(parts(&live, config.err(), &gate), now);
    Ok((report(settings, &live, &gate, &state.parts), due(&state.parts)))
}

/// What the parts of the component say.
fn parts(live: &Value, wrong: Option<String>, gate: &Gate) -> [Condition; 3] {
    let part = |kind: &str, is_bad: Option<(&str, String)>, bad: bool| match is_bad {
        Some((reason, message)) => Condition::new(kind, ConditionStatus::of(bad)).because(reason, message),
        None => Condition::new(kind, ConditionStatus::of(!bad)),
    };
    let available = live["status"]["availableReplicas"].as_i64().unwrap_or_default();
    let nobody = (available == 0).then(|| ("NoReplica", "No replica of the greeter is available".to_owned()));
    let too_long = match gate {
        Some(Err(wait)) if wait.is_too_long => Some(("TooLong", wait.text.clone())),
        _ => None,
    };
    [
        part("GreeterAvailable", nobody, false),
        part("ConfigDegraded", wrong.map(|wrong| ("Invalid", format!("ConfigMap {CONFIG}: {wrong}"))), true),
        part("PrerequisiteDegraded", too_long, true),
    ]
}

fn report(settings: &Settings, live: &Value, gate: &Gate, parts: &Conditions) -> Report {
    let rollout = match gate {
        Some(Ok(())) => Rollout::of_deployment(live, &settings.operand_image),
        Some(Err(wait)) => Rollout::Underway(format!("waiting for {}", wait.text)),
        None => Rollout::Underway("looking at what is there".to_owned()),
    };
    Report::new(CLUSTER_OPERATOR, &settings.version)
        .with_version("operator-image", &settings.image)
        .operand(NAME, &settings.version, rollout)
        .parts(parts)
        .upgradeable()
        .related("", "namespaces", "", OPERATOR_NAMESPACE)
        .related("", "namespaces", "", NAMESPACE)
        .related("", "configmaps", OPERATOR_NAMESPACE, CONFIG)
        .related("apps", "deployments", NAMESPACE, NAME)
}

/// A part that is bad becomes Degraded by the clock alone.
fn due(parts: &Conditions) -> Option<Duration> {
    let is_bad = |part: &Condition| part.kind.ends_with("Degraded") && part.is_true();
    parts.iter().any(is_bad).then_some(Duration::from_secs(30))
}
