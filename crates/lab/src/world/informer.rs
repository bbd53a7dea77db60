//! Keeps the knowledge of one kind up to date: list, then watch, and again when the server lost the place.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::sync::watch;

use super::api::{CONTROLLERS, Place, Resource, code};
use super::cache::{Key, Kind, text};
use super::shared::{Shared, lock};

/// The pause after a failed request; always the same, because jitter would make runs differ.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a watch is asked to last, in seconds.
const WATCH_SECONDS: u32 = 290;

/// Follows a kind for ever; says once when the first list is in.
pub(crate) async fn follow(world: Arc<Shared>, kind: Kind, synced: watch::Sender<bool>) {
    let place = Place::collection(kind.resource(), "");
    loop {
        let version = match world.api.list(&CONTROLLERS, place).await {
            Ok((items, version)) => {
                replace(&world, kind, items);
                if kind.is_custom() {
                    // Those that are up already wait for the kind.
                    lock(&world.served).insert(kind);
                    world.start_operators();
                }
                version
            }
            Err(error) if code(&error) == 404 && kind.is_custom() => {
                // Nothing to wait for: operators of a kind that is not served are not there yet.
                synced.send_replace(true);
                wait_until_served(&world, kind).await;
                continue;
            }
            Err(error) => {
                world.say(|| format!("listing {} failed, next try in 1 s: {error}", kind.resource().plural));
                world.clock.sleep(PAUSE).await;
                continue;
            }
        };
        synced.send_replace(true);
        watch_from(&world, kind, version).await;
    }
}

/// Takes in a whole list: what is not in it is gone.
fn replace(world: &Shared, kind: Kind, items: Vec<Value>) {
    let listed: Vec<Key> = items.iter().map(|item| Key::of(kind, item)).collect();
    let known: Vec<(Key, Arc<Value>)> =
        lock(&world.cache).of_kind(kind).map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
    for (key, object) in known {
        if !listed.contains(&key) {
            world.unlearn(key, &object);
        }
    }
    for item in items {
        world.learn(kind, item);
    }
}

/// Watches until a new list is needed.
async fn watch_from(world: &Shared, kind: Kind, mut version: String) {
    let place = Place::collection(kind.resource(), "");
    loop {
        let query = format!("resourceVersion={version}&timeoutSeconds={WATCH_SECONDS}");
        let mut events = match world.api.watch(&CONTROLLERS, place, &query).await {
            Ok(events) => events,
            // Too old, or the kind is no longer served.
            Err(error) if matches!(code(&error), 404 | 410) => return,
            Err(_) => {
                world.clock.sleep(PAUSE).await;
                continue;
            }
        };
        loop {
            let object = match events.next().await {
                Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                    text(&object["metadata"]["resourceVersion"]).clone_into(&mut version);
                    Ok(object)
                }
                Some(Ok(WatchEvent::Deleted(object))) => {
                    text(&object["metadata"]["resourceVersion"]).clone_into(&mut version);
                    Err(object)
                }
                Some(Ok(WatchEvent::Bookmark(bookmark))) => {
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                Some(Ok(WatchEvent::Error(status))) if status.code != 410 => {
                    world.clock.sleep(PAUSE).await;
                    return;
                }
                Some(Ok(WatchEvent::Error(_))) => return,
                Some(Err(_)) => {
                    world.clock.sleep(PAUSE).await;
                    break;
                }
                None => break,
            };
            match object {
                Ok(object) => world.learn(kind, object),
                Err(object) => world.unlearn(Key::of(kind, &object), &object),
            }
        }
        // A server that ends every watch at once must not be asked without a pause.
        world.clock.sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the CRD of a kind is established, by its events.
async fn wait_until_served(world: &Shared, kind: Kind) {
    let definitions =
        Resource::known("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition");
    let resource = kind.resource();
    let name = format!("{}.{}", resource.plural, resource.group);
    let query = format!("fieldSelector=metadata.name%3D{name}&timeoutSeconds={WATCH_SECONDS}");
    let Ok(mut events) = world.api.watch(&CONTROLLERS, Place::collection(&definitions, ""), &query).await
    else {
        world.clock.sleep(PAUSE).await;
        return;
    };
    while let Some(Ok(event)) = events.next().await {
        let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event else { continue };
        let conditions = object["status"]["conditions"].as_array();
        let is_established =
            |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
        if conditions.into_iter().flatten().any(is_established) {
            // Established comes a moment before the first answer.
            world.clock.sleep(Duration::from_millis(100)).await;
            return;
        }
    }
    world.clock.sleep(PAUSE).await;
}
