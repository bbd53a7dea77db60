//! People and foreign controllers: edits at their time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use lockstep_api::object::split_api_version;
use lockstep_schema::Schema;

use super::api::{Actor, Patch, Place, Resource, code};
use super::cache::text;
use super::rules::draw;
use super::scenario::{Deed, Person, Target};
use super::shared::Shared;
use super::span::Span;

/// Starts a task per person.
pub(crate) fn start(world: &Arc<Shared>, tasks: &mut JoinSet<()>) {
    for (number, person) in world.scenario.people.iter().enumerate() {
        tasks.spawn(run(Arc::clone(world), number, person.clone()));
    }
}

async fn run(world: Arc<Shared>, number: usize, person: Person) {
    let who = Actor::named(&person.name);
    let every = match &person.deed {
        // Who fights looks again and again.
        Deed::Fight { every, .. } => Some(every.or(person.every).unwrap_or(Span::seconds(10))),
        _ => person.every,
    };
    let first = person.at.or(every).unwrap_or(Span::ZERO);
    let mut time = 0_u64;
    world.clock.sleep(draw(&world.rng, &format!("person {number}/first"), first)).await;
    loop {
        match act(&world, &who, &person).await {
            Ok(Some(what)) => world.say(|| format!("{} {what}", person.name)),
            Ok(None) => {}
            Err(error) => {
                world
                    .complain(|| format!("{} could not edit {}: {error}", person.name, name(&person.object)));
            }
        }
        time += 1;
        let Some(every) = every.filter(|_| person.times.is_none_or(|times| time < times)) else { break };
        let pause = draw(&world.rng, &format!("person {number}/{time}"), every).max(Duration::from_millis(1));
        world.clock.sleep(pause).await;
    }
    // Done; a task that ends would be taken for a broken one.
    std::future::pending::<()>().await;
}

fn name(target: &Target) -> String {
    let Target { kind, namespace, name, .. } = target;
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

/// Does the deed; gives what was done in words, or nothing when there was nothing to do.
async fn act(world: &Shared, who: &Actor, person: &Person) -> Result<Option<String>, kube::Error> {
    let target = &person.object;
    let Some(resource) = resource_of(world, who, &target.api_version, &target.kind).await? else {
        return Ok(Some(format!("finds no kind {} of {}", target.kind, target.api_version)));
    };
    let place = Place::object(&resource, &target.namespace, &target.name);
    let name = name(target);
    match &person.deed {
        Deed::Delete => match world.api.delete(who, place, "", None).await {
            Ok(_) => Ok(Some(format!("deletes {name}"))),
            Err(error) if code(&error) == 404 => Ok(Some(format!("finds no {name} to delete"))),
            Err(error) => Err(error),
        },
        Deed::Patch { merge, json, subresource } => {
            let place = place.sub(subresource.as_deref().unwrap_or_default());
            if let Some(body) = merge {
                world.api.patch(who, place, Patch::Merge, body).await?;
            }
            if let Some(body) = json {
                world.api.patch(who, place, Patch::Json, body).await?;
            }
            Ok(Some(format!("patches {name}")))
        }
        Deed::Apply { fields } => {
            world.api.patch(who, place, Patch::Apply, &applied(target, fields.as_ref())).await?;
            Ok(Some(format!("applies fields to {name}")))
        }
        Deed::Label { set, remove } => {
            let mut labels = Map::new();
            for (key, value) in set.iter().flatten() {
                labels.insert(key.clone(), value.as_str().into());
            }
            for key in remove.iter().flatten() {
                labels.insert(key.clone(), Value::Null);
            }
            world.api.patch(who, place, Patch::Merge, &json!({"metadata": {"labels": labels}})).await?;
            Ok(Some(format!("changes labels of {name}")))
        }
        Deed::Fight { field, value, .. } => {
            let field = field.as_deref().unwrap_or_default();
            let value = value.clone().unwrap_or_default();
            let live = world.api.get(who, place).await?;
            if live.pointer(field) == Some(&value) {
                return Ok(None);
            }
            // `add` sets a field whether it is there or not.
            let patch = json!([{"op": "add", "path": field, "value": value}]);
            world.api.patch(who, place, Patch::Json, &patch).await?;
            Ok(Some(format!("sets {field} of {name} back to {value}")))
        }
    }
}

/// The fields of an apply with the identity of the object.
fn applied(target: &Target, fields: Option<&Value>) -> Value {
    let mut object = fields.cloned().unwrap_or_else(|| json!({}));
    object["apiVersion"] = target.api_version.as_str().into();
    object["kind"] = target.kind.as_str().into();
    object["metadata"]["name"] = target.name.as_str().into();
    if !target.namespace.is_empty() {
        object["metadata"]["namespace"] = target.namespace.as_str().into();
    }
    object
}

/// The resource of a kind: built-in ones are known, others are asked for; nothing when it is not served.
pub(crate) async fn resource_of(
    world: &Shared,
    who: &Actor,
    api_version: &str,
    kind: &str,
) -> Result<Option<Resource>, kube::Error> {
    let (group, version) = split_api_version(api_version);
    let resource = |plural: &str| Resource {
        group: group.to_owned().into(),
        version: version.to_owned().into(),
        plural: plural.to_owned().into(),
        kind: kind.to_owned().into(),
    };
    if let Some(known) = Schema::builtin().kind(api_version, kind) {
        return Ok(Some(resource(known.plural)));
    }
    let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{api_version}") };
    let list = match world.api.get_path(who, &path).await {
        Err(error) if code(&error) == 404 => return Ok(None),
        outcome => outcome?,
    };
    let all = list["resources"].as_array().into_iter().flatten();
    let found = all.filter(|served| served["kind"] == kind).map(|served| text(&served["name"]));
    Ok(found.filter(|name| !name.contains('/')).map(resource).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_apply_carries_the_identity_of_its_object() {
        let target = Target {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: "n".into(),
            name: "c".into(),
        };
        let object = applied(&target, Some(&json!({"data": {"a": "b"}})));
        assert_eq!(
            object,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": {"a": "b"}})
        );
    }
}
