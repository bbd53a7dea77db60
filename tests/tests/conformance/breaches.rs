//! For each rule about running operators an operator that breaks it.

use futures::future::BoxFuture;
use serde_json::json;

use super::actor::{Actor, Script};

/// A rule and the operator that breaks it.
pub(crate) const BREACHES: &[(&str, Script)] = &[
    ("core-conditions", without_degraded),
    ("condition-values", odd_status),
    ("operator-version", without_version),
    ("bad-news-explained", silent),
    ("reasons-are-words", sentence_as_reason),
    ("messages-steady", counter_in_message),
    ("version-after-operands", early_version),
    ("version-when-available", version_while_down),
    ("progressing-while-moving", secret_move),
    ("steady-without-progressing", idle_progress),
    ("progress-ends", endless_progress),
    ("available-while-moving", down_while_moving),
    ("no-flapping", flapping),
    ("degraded-lasts", moment_of_degraded),
    ("transition-time-moves", time_stands),
    ("transition-time-stays", time_runs),
    ("transition-time-not-ahead", time_ahead),
    ("related-objects", without_related),
    ("related-objects-exist", related_nowhere),
    ("related-namespaces", without_namespace),
];

fn without_degraded(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let conditions = actor.status["conditions"].as_array_mut().unwrap();
        conditions.retain(|condition| condition["type"] != "Degraded");
        actor.report().await;
    })
}

fn odd_status(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Available", "Yes", "Odd", "Of course");
        actor.report().await;
    })
}

fn without_version(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.status["versions"] = json!([{"name": "operand", "version": "1"}]);
        actor.report().await;
    })
}

fn silent(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Degraded", "True", "", "");
        actor.report().await;
        actor.wait(200).await;
    })
}

fn sentence_as_reason(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Degraded", "True", "it is broken", "Mend it");
        actor.report().await;
    })
}

fn counter_in_message(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        for round in 1..5 {
            actor.set("Available", "True", "AsExpected", &format!("Looked {round} times"));
            actor.report().await;
            actor.wait(60).await;
        }
    })
}

fn early_version(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Progressing", "True", "RollingOut", "Moving to 2");
        actor.version("2");
        actor.report().await;
        actor.roll_out("actor:2").await;
        actor.workload(2, 1, 3, 2).await;
        actor.wait(30).await;
        actor.version("2.1");
        actor.report().await;
        actor.wait(30).await;
        actor.workload(2, 2, 2, 2).await;
    })
}

fn version_while_down(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Available", "False", "Down", "Nothing answers; look at the Pods");
        actor.version("2");
        actor.report().await;
    })
}

fn secret_move(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.roll_out("actor:2").await;
        actor.workload(2, 1, 3, 2).await;
        actor.wait(30).await;
        actor.workload(2, 2, 2, 2).await;
        actor.wait(10).await;
        actor.version("2");
        actor.report().await;
    })
}

fn idle_progress(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Progressing", "True", "Reconciling", "Looking at everything");
        actor.report().await;
        actor.wait(60).await;
        actor.set("Progressing", "False", "AsExpected", "All is well");
        actor.report().await;
    })
}

fn endless_progress(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.roll_out("actor:2").await;
        actor.workload(2, 1, 3, 2).await;
        actor.set("Progressing", "True", "RollingOut", "Moving to 2");
        actor.report().await;
    })
}

fn down_while_moving(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Progressing", "True", "RollingOut", "Moving to 2");
        actor.report().await;
        actor.roll_out("actor:2").await;
        actor.workload(2, 1, 1, 0).await;
        actor.wait(5).await;
        actor.set("Available", "False", "Down", "Nothing answers; look at the Pods");
        actor.report().await;
    })
}

fn flapping(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        for status in ["False", "True", "False", "True"] {
            actor.set("Available", status, "Probe", "A probe says so");
            actor.report().await;
            actor.wait(20).await;
        }
    })
}

fn moment_of_degraded(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Degraded", "True", "Hiccup", "A request failed");
        actor.report().await;
        actor.wait(5).await;
        actor.set("Degraded", "False", "AsExpected", "All is well");
        actor.report().await;
    })
}

fn time_stands(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let before = actor.condition("Degraded")["lastTransitionTime"].clone();
        actor.set("Degraded", "True", "Broken", "A part is broken; mend it");
        actor.condition("Degraded")["lastTransitionTime"] = before;
        actor.report().await;
    })
}

fn time_runs(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let now = actor.in_seconds(0);
        actor.condition("Available")["lastTransitionTime"] = now;
        actor.report().await;
    })
}

fn time_ahead(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.set("Degraded", "True", "Broken", "A part is broken; mend it");
        let later = actor.in_seconds(60);
        actor.condition("Degraded")["lastTransitionTime"] = later;
        actor.report().await;
    })
}

fn without_related(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.status["relatedObjects"] = json!([]);
        actor.report().await;
    })
}

fn related_nowhere(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let stranger = json!({"group": "apps", "resource": "deployment", "namespace": "openshift-example", "name": "actor"});
        actor.status["relatedObjects"].as_array_mut().unwrap().push(stranger);
        actor.report().await;
    })
}

fn without_namespace(actor: &mut Actor) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        actor.status["relatedObjects"][0]["name"] = json!("openshift-example-operator");
        actor.report().await;
    })
}
