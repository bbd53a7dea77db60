//! The watches behind what is known, opened when the kind is there.

use std::collections::BTreeMap;

use futures::stream::{AbortHandle, BoxStream, SelectAll, StreamExt as _, abortable};
use lockstep_api::names::{group, kind};
use lockstep_apply::kinds::Resource;
use lockstep_apply::refusal::Refusal;
use lockstep_apply::server::Server;
use lockstep_apply::watch::{Seen, Watched, watch};

use super::{Place, Source, World};

/// What one of the streams saw.
enum Said {
    /// About a source.
    Of(Source, Seen),
    /// About definitions.
    Definitions(Seen),
}

/// All watches of an operator.
pub(crate) struct Watches {
    server: Server,
    seed: u64,
    streams: SelectAll<BoxStream<'static, Said>>,
    open: BTreeMap<Source, AbortHandle>,
    are_definitions_known: bool,
}

// === impl Watches ===

impl Watches {
    /// Opens those of kinds that every server serves; the others follow when their definitions are seen.
    pub(crate) fn new(server: Server, seed: u64) -> Self {
        let definitions = Resource::new(
            group::API_EXTENSIONS,
            "v1",
            kind::CUSTOM_RESOURCE_DEFINITION,
            "customresourcedefinitions",
            false,
        );
        let every = Watched {
            resource: definitions,
            namespace: None,
            label_selector: None,
            field_selector: None,
            metadata_only: true,
        };
        let mut streams: SelectAll<BoxStream<'static, Said>> = SelectAll::new();
        streams.push(watch(server.clone(), every, seed).map(Said::Definitions).boxed());
        let mut watches = Self { server, seed, streams, open: BTreeMap::new(), are_definitions_known: false };
        for source in Source::ALL {
            if source.definition().is_none() {
                watches.open(source);
            }
        }
        watches
    }

    /// Waits for the next thing that is different, and takes it into what is known.
    pub(crate) async fn next(&mut self, world: &mut World) -> Vec<Source> {
        loop {
            let changed = match self.streams.next().await {
                Some(Said::Of(source, seen)) => self.on_seen(source, seen, world),
                Some(Said::Definitions(seen)) => self.on_definitions(seen, world),
                // The watch over definitions never ends.
                None => std::future::pending().await,
            };
            if !changed.is_empty() {
                return changed;
            }
        }
    }

    fn on_seen(&mut self, source: Source, seen: Seen, world: &mut World) -> Vec<Source> {
        if !self.open.contains_key(&source) {
            return Vec::new();
        }
        if let Seen::Trouble { refusal, .. } = &seen {
            tracing::debug!("watching {}: {refusal}", source.place().plural);
            // Who may not read something goes on without it; but never without the ClusterVersion.
            if source != Source::Version && matches!(refusal, Refusal::Forbidden { .. }) {
                if world.absent(source) {
                    tracing::warn!("{}", refusal.explain(&format!("watching {}", source.place().plural)));
                    return vec![source];
                }
                return Vec::new();
            }
        }
        if world.on(source, seen) { vec![source] } else { Vec::new() }
    }

    fn on_definitions(&mut self, seen: Seen, world: &mut World) -> Vec<Source> {
        let find = |object: &serde_json::Value| {
            let name = lockstep_api::object::name(object);
            Source::ALL.into_iter().find(|source| source.definition().as_deref() == Some(name))
        };
        match seen {
            Seen::Object(definition) => {
                if let Some(source) = find(&definition)
                    && !self.open.contains_key(&source)
                {
                    self.open(source);
                }
                Vec::new()
            }
            Seen::Gone(definition) => {
                find(&definition).map(|source| self.close(source, world)).unwrap_or_default()
            }
            Seen::Synced { .. } if !self.are_definitions_known => {
                self.are_definitions_known = true;
                let is_missing =
                    |source: &Source| source.definition().is_some() && !self.open.contains_key(source);
                Source::ALL.into_iter().filter(is_missing).filter(|source| world.absent(*source)).collect()
            }
            Seen::Synced { .. } | Seen::Restarted | Seen::Resumed => Vec::new(),
            Seen::Trouble { refusal, .. } => {
                if matches!(refusal, Refusal::Forbidden { .. }) && !self.are_definitions_known {
                    // Then nobody tells which kinds are there: they are all asked for.
                    self.are_definitions_known = true;
                    for source in Source::ALL {
                        if !self.open.contains_key(&source) {
                            self.open(source);
                        }
                    }
                }
                tracing::debug!("watching definitions: {refusal}");
                Vec::new()
            }
        }
    }

    fn open(&mut self, source: Source) {
        let Place { group, version, kind, plural, namespace, name } = source.place();
        let watched = Watched {
            resource: Resource::new(group, version, kind, plural, namespace.is_some()),
            namespace: namespace.map(str::to_owned),
            label_selector: None,
            field_selector: name.map(|name| format!("metadata.name={name}")),
            metadata_only: false,
        };
        let stream = watch(self.server.clone(), watched, self.seed).map(move |seen| Said::Of(source, seen));
        let (stream, handle) = abortable(stream);
        self.open.insert(source, handle);
        self.streams.push(stream.boxed());
    }

    fn close(&mut self, source: Source, world: &mut World) -> Vec<Source> {
        if let Some(handle) = self.open.remove(&source) {
            handle.abort();
        }
        if world.absent(source) { vec![source] } else { Vec::new() }
    }
}
