//! Random deletions and edits, and how long each of them lasts.

use std::error::Error;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, DynamicObject};
use lockstep_api::names::kind;
use lockstep_api::object::split_api_version;
use lockstep_lab::Rng;
use lockstep_tests::edit::{Edit, strings};
use lockstep_tests::objects::ReleaseObject;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::stage::Subject;

/// Who changes things.
const MANAGER: &str = "somebody-else";
/// When it is given up that an object comes back.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many strings of one object are tried: the server refuses to change some of them.
const ATTEMPTS: usize = 10;

/// One change, made by somebody else.
enum Change {
    Deletion { uid: Option<String> },
    Edit(Edit),
}

/// Changes as many objects, each at most once, one after the other; gives the milliseconds until each is back.
pub(crate) async fn run(
    subject: &Subject,
    client: &Client,
    changes: u64,
    seed: u64,
) -> Result<Value, Box<dyn Error>> {
    let mut rng = Rng::new(seed).fork("drift");
    let is_excluded = |it: &ReleaseObject| {
        it.is_create_only || [kind::NAMESPACE, kind::CUSTOM_RESOURCE_DEFINITION].contains(&it.kind.as_str())
    };
    let mut candidates: Vec<&ReleaseObject> = subject.objects.iter().filter(|it| !is_excluded(it)).collect();
    let (mut deletions, mut edits, mut unchangeable, mut lost) = (vec![], vec![], vec![], vec![]);
    while ((deletions.len() + edits.len() + lost.len()) as u64) < changes && !candidates.is_empty() {
        let object = candidates.swap_remove(index(&mut rng, candidates.len()));
        let is_deletion = rng.below(2) == 0;
        let what = if is_deletion { "deletion" } else { "edit" };
        match change(object, client, is_deletion, &mut rng).await {
            Ok(Some(time)) => {
                let times = if is_deletion { &mut deletions } else { &mut edits };
                times.push(time.as_secs_f64() * 1000.0);
            }
            Ok(None) => unchangeable.push(object.path()),
            Err(error) => lost.push(format!("{what} of {}: {error}", object.path())),
        }
    }
    Ok(json!({"deletions": deletions, "edits": edits, "unchangeable": unchangeable.len(), "lost": lost}))
}

/// Changes one object and waits until it is back; nothing when the server allows no change of it.
async fn change(
    object: &ReleaseObject,
    client: &Client,
    is_deletion: bool,
    rng: &mut Rng,
) -> Result<Option<Duration>, Box<dyn Error>> {
    let api = api(object, client);
    let selector = format!("metadata.name={}", object.name);
    // By a list: the version of an old object itself may be too old for a watch.
    let mut list = api.list(&ListParams::default().fields(&selector)).await?;
    let live = list.items.pop().ok_or("it is not there")?;
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut events = pin!(api.watch(&WatchParams::default().fields(&selector), &version).await?);

    // From before the request: nobody can be faster than that.
    let mut start = Instant::now();
    let change = if is_deletion {
        api.delete(&object.name, &DeleteParams::default()).await?;
        Change::Deletion { uid: live.metadata.uid }
    } else {
        let Some((edit, begin)) = edit(object, &api, &live, rng).await? else { return Ok(None) };
        start = begin;
        Change::Edit(edit)
    };
    let mut is_changed = false;
    let back = async {
        while let Some(event) = events.try_next().await? {
            is_changed |= change.is_seen(&event)?;
            if is_changed && change.is_undone(&event)? {
                return Ok(start.elapsed());
            }
        }
        Err::<_, Box<dyn Error>>("the watch ended".into())
    };
    timeout(PATIENCE, back).await.map_err(|_| "it did not come back in time")?.map(Some)
}

/// Changes one string that the server lets somebody change, and says when.
async fn edit(
    object: &ReleaseObject,
    api: &Api<DynamicObject>,
    live: &DynamicObject,
    rng: &mut Rng,
) -> Result<Option<(Edit, Instant)>, Box<dyn Error>> {
    let parameters = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
    let mut strings = strings(&object.body);
    let before = serde_json::to_value(live)?;
    for _ in 0..ATTEMPTS.min(strings.len()) {
        let string = strings.swap_remove(index(rng, strings.len()));
        let Some(edit) = Edit::of(&before, &string) else { continue };
        let start = Instant::now();
        match api.patch(&object.name, &parameters, &Patch::Merge(&edit.patch)).await {
            // One without effect, because the server corrects it, cannot be repaired.
            Ok(after) if !edit.is_undone(&serde_json::to_value(&after)?) => return Ok(Some((edit, start))),
            Ok(_) | Err(kube::Error::Api(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn api(object: &ReleaseObject, client: &Client) -> Api<DynamicObject> {
    let (group, version) = split_api_version(&object.api_version);
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
        plural: object.plural.clone(),
    };
    if object.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &object.namespace, &resource)
    }
}

fn index(rng: &mut Rng, length: usize) -> usize {
    usize::try_from(rng.below(length as u64)).unwrap_or_default()
}

// === impl Change ===

impl Change {
    /// Whether an event shows the object changed: what comes before tells nothing about the repair.
    fn is_seen(&self, event: &WatchEvent<DynamicObject>) -> Result<bool, Box<dyn Error>> {
        Ok(match (self, event) {
            (Self::Deletion { .. }, WatchEvent::Deleted(_)) => true,
            (Self::Edit(edit), WatchEvent::Modified(live)) => !edit.is_undone(&serde_json::to_value(live)?),
            _ => false,
        })
    }

    /// Whether an event shows the object as it should be.
    fn is_undone(&self, event: &WatchEvent<DynamicObject>) -> Result<bool, Box<dyn Error>> {
        let (WatchEvent::Added(live) | WatchEvent::Modified(live)) = event else { return Ok(false) };
        Ok(match self {
            Self::Deletion { uid } => live.metadata.uid != *uid,
            Self::Edit(edit) => edit.is_undone(&serde_json::to_value(live)?),
        })
    }
}
