//! The objects of a release: whose entries are moved, which get the label, and the way back.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _};
use lockstep_api::names::{annotation, label};
use lockstep_api::object;
use lockstep_apply::compare::{PatchOperation, adoption as move_entries, former, restoration};
use lockstep_apply::engine::{Plan, Planned};
use lockstep_apply::kinds::{Kinds, Resource};
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::{Call, DryRun, ListPage};
use serde_json::{Value, json};

use super::backup::{Backup, CHUNK, Former};
use super::predecessor::Predecessor;
use super::{AdoptError, Adoption, Progress, Summary, refused};

/// How many objects are worked on side by side.
const SIDE_BY_SIDE: usize = 16;
/// How often a change is tried that others disturb.
const TRIES: usize = 10;
/// What a server answers of a kind that has no list.
const METHOD_NOT_ALLOWED: u16 = 405;

/// An object that is changed.
pub(super) struct Object {
    /// For people.
    pub(super) title: String,
    resource: Resource,
    namespace: Option<String>,
    name: String,
    live: Value,
    planned: Planned,
}

/// The objects of a release as they are.
#[derive(Default)]
pub(super) struct Survey {
    /// Those whose entries are moved.
    pub(super) moves: Vec<Object>,
    /// Those that get the label.
    pub(super) labels: Vec<Object>,
    /// How many stay as they are.
    pub(super) others: usize,
    /// What the server refused to tell.
    pub(super) unknown: Vec<String>,
}

// === impl Survey ===

impl Survey {
    pub(super) fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.labels.is_empty()
    }
}

/// Looks at every object of the release.
pub(super) async fn survey(adoption: &Adoption, plan: &Plan) -> Result<Survey, AdoptError> {
    let kinds = Kinds::discover(&adoption.server).await.map_err(refused("the API server"))?;
    let kinds = &kinds;
    let looks = plan.planned().map(|planned| async move {
        let title = planned.title.clone();
        let Some(resource) = kinds.find(&planned.api_version, &planned.id.kind) else { return Ok(None) };
        let namespace = resource.namespaced.then(|| planned.id.namespace.clone());
        match adoption.server.send(Call::get(resource, namespace.as_deref(), &planned.id.name)).await {
            Ok(answer) => Ok(Some(Object {
                title,
                resource: resource.clone(),
                namespace,
                name: planned.id.name.clone(),
                live: answer.object,
                planned,
            })),
            Err(Refusal::NotFound | Refusal::NamespaceMissing { .. } | Refusal::KindNotServed) => Ok(None),
            Err(refusal) => Err(refusal.explain(&title)),
        }
    });
    let mut looks = stream::iter(looks).buffered(SIDE_BY_SIDE);
    let mut survey = Survey::default();
    while let Some(look) = looks.next().await {
        match look {
            Ok(Some(object)) if object.needs_label(&adoption.set) => survey.labels.push(object),
            Ok(Some(object)) if object.is_movable() => survey.moves.push(object),
            Ok(_) => survey.others += 1,
            Err(why) => survey.unknown.push(why),
        }
    }
    Ok(survey)
}

/// Moves entries and sets labels, chunk by chunk, each after it was kept what was before.
pub(super) async fn take(
    adoption: &Adoption,
    survey: &Survey,
    backup: &mut Backup,
    tell: &mut dyn FnMut(Progress),
) -> Result<Summary, AdoptError> {
    let total = survey.moves.len() + survey.labels.len();
    let mut summary = Summary::default();
    for chunk in chunks(&survey.moves) {
        backup.keep(adoption, chunk.iter().map(|object| object.former()).collect()).await?;
        let changes = chunk.iter().map(|object| object.change(adoption, move_entries));
        let done = stream::iter(changes).buffer_unordered(SIDE_BY_SIDE).collect::<Vec<_>>().await;
        count(done, &mut summary.entries, &mut summary.refused, tell);
        tell(Progress::Done { done: summary.entries + summary.refused, total });
    }
    let labels = survey.labels.iter().map(|object| object.label(adoption));
    let done = stream::iter(labels).buffer_unordered(SIDE_BY_SIDE).collect::<Vec<_>>().await;
    count(done, &mut summary.labels, &mut summary.refused, tell);
    tell(Progress::Done { done: total, total });
    Ok(summary)
}

/// Restores the entries that are kept and takes the label from everything that has it.
pub(super) async fn give_back(
    adoption: &Adoption,
    backup: &Backup,
    tell: &mut dyn FnMut(Progress),
) -> Result<Summary, AdoptError> {
    let mut summary = Summary::default();
    let total = backup.objects.len();
    for chunk in backup.objects.chunks(SIDE_BY_SIDE * 4) {
        let changes = chunk.iter().map(|saved| async move {
            let resource = saved.resource();
            let place = Place {
                adoption,
                resource: &resource,
                namespace: Some(saved.namespace.as_str()),
                name: &saved.name,
            };
            place
                .change(None, |live| {
                    // Another object of the same name was never adopted: only the label goes.
                    let is_same = live["metadata"]["uid"] == saved.uid.as_str();
                    restoration(live, if is_same { &saved.entries } else { &[] })
                })
                .await
        });
        let done = stream::iter(changes).buffer_unordered(SIDE_BY_SIDE).collect::<Vec<_>>().await;
        count(done, &mut summary.entries, &mut summary.refused, tell);
        tell(Progress::Done { done: summary.entries + summary.refused, total });
    }
    let left = labelled(adoption).await?;
    let changes = left.iter().map(|(resource, namespace, name)| async move {
        let place = Place { adoption, resource, namespace: namespace.as_deref(), name };
        place.change(None, |live| restoration(live, &[])).await
    });
    let done = stream::iter(changes).buffer_unordered(SIDE_BY_SIDE).collect::<Vec<_>>().await;
    count(done, &mut summary.labels, &mut summary.refused, tell);
    Ok(summary)
}

/// Everything that has the label of the set, in every kind that the server serves.
async fn labelled(adoption: &Adoption) -> Result<Vec<(Resource, Option<String>, String)>, AdoptError> {
    let kinds = Kinds::discover(&adoption.server).await.map_err(refused("the API server"))?;
    // One version of each kind: the objects are the same in all of them.
    let mut resources: BTreeMap<(&str, &str), &Resource> = BTreeMap::new();
    for resource in kinds.iter() {
        resources.entry((&resource.group, &resource.kind)).or_insert(resource);
    }
    let selector = format!("{}={}", label::PAYLOAD, adoption.set);
    let selector = selector.as_str();
    let lists = resources.into_values().map(|resource| async move {
        let page = ListPage { label_selector: Some(selector), ..ListPage::default() };
        let call = Call::list(resource, None, &page).metadata_only_list();
        (resource, adoption.server.send(call).await)
    });
    let mut lists = stream::iter(lists).buffered(SIDE_BY_SIDE);
    let mut found = Vec::new();
    while let Some((resource, list)) = lists.next().await {
        let list = match list {
            Ok(answer) => answer.object,
            Err(
                Refusal::NotFound
                | Refusal::KindNotServed
                | Refusal::ApiUnavailable
                | Refusal::Other { code: METHOD_NOT_ALLOWED, .. },
            ) => continue,
            Err(refusal) => return Err(refused(resource.name())(refusal)),
        };
        for item in list["items"].as_array().into_iter().flatten() {
            let namespace = resource.namespaced.then(|| object::namespace(item).to_owned());
            found.push((resource.clone(), namespace, object::name(item).to_owned()));
        }
    }
    Ok(found)
}

fn count(
    done: Vec<Result<bool, String>>,
    changed: &mut usize,
    refused: &mut usize,
    tell: &mut dyn FnMut(Progress),
) {
    for outcome in done {
        match outcome {
            Ok(true) => *changed += 1,
            Ok(false) => {}
            Err(why) => {
                *refused += 1;
                tell(Progress::Left(why));
            }
        }
    }
}

/// Objects whose entries fit into one `ConfigMap`.
fn chunks(objects: &[Object]) -> Vec<Vec<&Object>> {
    let mut chunks: Vec<Vec<&Object>> = Vec::new();
    let mut size = usize::MAX;
    for object in objects {
        let next = json!(object.former()).to_string().len();
        if size.saturating_add(next) > CHUNK {
            chunks.push(Vec::new());
            size = 0;
        }
        size += next;
        if let Some(last) = chunks.last_mut() {
            last.push(object);
        }
    }
    chunks
}

// === impl Object ===

impl Object {
    fn needs_label(&self, set: &str) -> bool {
        self.is_create_only() && self.live["metadata"]["labels"][label::PAYLOAD] != set
    }

    fn is_movable(&self) -> bool {
        !self.is_create_only()
            && !Predecessor::stays(&self.planned.object)
            && move_entries(&self.live).is_some()
    }

    /// Whether the manifest, or the live object by the reference's word, is only created.
    fn is_create_only(&self) -> bool {
        self.planned.is_create_only || self.live["metadata"]["annotations"][annotation::CREATE_ONLY] == "true"
    }

    fn former(&self) -> Former {
        Former {
            api_version: self.resource.api_version(),
            kind: self.resource.kind.clone(),
            plural: self.resource.plural.clone(),
            namespace: self.namespace.clone().unwrap_or_default(),
            name: self.name.clone(),
            uid: self.live["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            entries: former(&self.live),
        }
    }

    async fn change(
        &self,
        adoption: &Adoption,
        operations: impl Fn(&Value) -> Option<Vec<PatchOperation>>,
    ) -> Result<bool, String> {
        let place = Place {
            adoption,
            resource: &self.resource,
            namespace: self.namespace.as_deref(),
            name: &self.name,
        };
        place.change(Some(&self.live), operations).await
    }

    async fn label(&self, adoption: &Adoption) -> Result<bool, String> {
        let body = self.planned.label(&self.live);
        let call = Call::apply(&self.resource, self.namespace.as_deref(), &self.name, body, true, DryRun::No);
        match adoption.server.send(call).await {
            Ok(_) => Ok(true),
            Err(Refusal::NotFound | Refusal::Stale) => Ok(false),
            Err(refusal) => Err(refusal.explain(&self.title)),
        }
    }
}

/// Where an object is.
struct Place<'a> {
    adoption: &'a Adoption,
    resource: &'a Resource,
    namespace: Option<&'a str>,
    name: &'a str,
}

// === impl Place ===

impl Place<'_> {
    /// Changes the object as it is; looks again when somebody else was faster. Tells whether there was something to do.
    async fn change(
        &self,
        known: Option<&Value>,
        operations: impl Fn(&Value) -> Option<Vec<PatchOperation>>,
    ) -> Result<bool, String> {
        let Self { adoption, resource, namespace, name } = self;
        let title = format!("{} {name}", resource.kind);
        let mut live = known.cloned();
        for _ in 0..TRIES {
            let now = match live.take() {
                Some(live) => live,
                None => match adoption.server.send(Call::get(resource, *namespace, name)).await {
                    Ok(answer) => answer.object,
                    Err(Refusal::NotFound | Refusal::KindNotServed | Refusal::NamespaceMissing { .. }) => {
                        return Ok(false);
                    }
                    Err(refusal) => return Err(refusal.explain(&title)),
                },
            };
            let Some(operations) = operations(&now) else { return Ok(false) };
            let body = Bytes::from(json!(operations).to_string());
            match adoption.server.send(Call::json_patch(resource, *namespace, name, body, DryRun::No)).await {
                Ok(_) => return Ok(true),
                Err(Refusal::Stale) => {}
                Err(Refusal::NotFound) => return Ok(false),
                Err(refusal) => return Err(refusal.explain(&title)),
            }
        }
        Err(Refusal::Stale.explain(&title))
    }
}
