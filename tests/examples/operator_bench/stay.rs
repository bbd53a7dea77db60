//! What it costs to stay at a release, and to begin again when nothing has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;

use lockstep_tests::operator::Observer;
use lockstep_tests::process::{connections, memory};
use serde_json::{Value, json};

use crate::record::{Entry, Moment, named, now};
use crate::stage::{FIRST, Stage};

/// Stays, and tells what was asked for meanwhile and what the process has at the end.
pub(crate) async fn run(
    stage: &mut Stage<'_>,
    pid: u32,
    completed: Moment,
    time: Duration,
    tell: impl Fn(&str, &Value),
) -> Result<(), Box<dyn Error>> {
    let (mark, begin) = (stage.mark()?, now());
    let observer = Observer::start(stage.real.server());
    tokio::time::sleep(time).await;
    stage.mark()?;
    let entries: Vec<&Entry> = stage.since(mark, FIRST).collect();
    let count = |is_wanted: fn(&Entry) -> bool| entries.iter().filter(|entry| is_wanted(entry)).count();
    let unwanted = entries.iter().copied().filter(|entry| !entry.is_idle());
    let steady = json!({
        "minutes": now().since(begin) / 60.0, "requests": count(|entry| !entry.is_idle()), "named": named(unwanted),
        "watches": count(|entry| entry.request.is_watch()),
        "news": news(&observer.heard()),
        "ofLease": count(|entry| entry.is_of_lease() && !entry.request.is_watch()),
    });
    tell("steady", &steady);
    let memory = memory(pid)?;
    let process = json!({
        "minutes": now().since(completed) / 60.0, "memory": memory.now, "peak": memory.peak,
        "connections": connections(pid)?,
    });
    tell("process", &process);
    Ok(())
}

/// What the ClusterVersion said that was different from what it said before: nobody writes without a reason.
fn news(heard: &[Value]) -> Vec<String> {
    let parts = |object: &Value| -> BTreeMap<String, String> {
        let status =
            object["status"].as_object().into_iter().flatten().filter(|(name, _)| *name != "conditions");
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let conditions =
            conditions.map(|it| (it["type"].as_str().unwrap_or_default().to_owned(), it.to_string()));
        status.map(|(name, value)| (name.clone(), value.to_string())).chain(conditions).collect()
    };
    let differences = heard.windows(2).flat_map(|pair| {
        let (before, after) = (parts(&pair[0]), parts(&pair[1]));
        let names: BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
        names.into_iter().filter_map(move |name| {
            let [old, new] = [&before, &after].map(|parts| parts.get(&name).cloned().unwrap_or_default());
            (old != new).then(|| format!("{name}: {old} became {new}"))
        })
    });
    differences.collect()
}

/// What a process asked for that began when all was as it should be, until it stood still.
pub(crate) async fn restart(
    stage: &mut Stage<'_>,
    start: Moment,
    mark: usize,
) -> Result<Value, Box<dyn Error>> {
    let settled =
        stage.settle(FIRST, mark, |entry| !entry.is_of_lease()).await?.ok_or("nothing was asked for")?;
    let entries: Vec<&Entry> = stage.since(mark, FIRST).filter(|entry| !entry.is_of_lease()).collect();
    let (watches, requests): (Vec<&Entry>, Vec<&Entry>) =
        entries.into_iter().partition(|entry| entry.request.is_watch());
    let (applied, others): (Vec<&Entry>, Vec<&Entry>) = requests
        .iter()
        .copied()
        .filter(|entry| entry.request.is_write())
        .partition(|entry| stage.is_apply(entry));
    Ok(json!({
        "seconds": settled.since(start), "requests": requests.len(), "watches": watches.len(),
        "writes": applied.len(), "named": named(applied), "otherWrites": named(others),
    }))
}
