//! A cluster that is watched: every event changes what is known, and a picture of it can be had at any moment.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use jiff::Timestamp;
use serde_json::Value;

use lockstep_api::object;
use lockstep_apply::server::Server;
use lockstep_apply::watch::{Seen, Watched, watch};

use super::Input;
use super::read::{EVENTS_NAMESPACE, events, watched};

/// Where something was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The ClusterVersion.
    Version,
    /// A ClusterOperator.
    Operators,
    /// A pool of machines.
    Pools,
    /// A Node.
    Nodes,
    /// An Event of the operator of the cluster.
    Events,
}

/// What an event means for a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Nothing.
    Nothing,
    /// The picture is another one.
    Changed,
    /// Nothing is seen for a while, and why.
    Trouble(String),
}

/// What is known of a cluster.
#[derive(Debug, Clone)]
pub struct Live {
    input: Input,
    /// Names that were given since a source began anew, until everything was given.
    given: BTreeMap<Source, BTreeSet<String>>,
}

/// Watches everything that a picture is made of, for ever. Events of the cluster's operator are seen where they are
/// wanted.
pub fn streams(server: &Server, has_pools: bool, with_events: bool) -> BoxStream<'static, (Source, Seen)> {
    let sources = [Source::Version, Source::Operators, Source::Pools, Source::Nodes];
    let mut streams: Vec<BoxStream<'static, (Source, Seen)>> = watched(has_pools)
        .into_iter()
        .zip(sources)
        .map(|(what, source)| watch(server.clone(), what, 0).map(move |seen| (source, seen)).boxed())
        .collect();
    if with_events {
        let what = Watched {
            resource: events(),
            namespace: Some(EVENTS_NAMESPACE.to_owned()),
            label_selector: None,
            field_selector: None,
            metadata_only: false,
        };
        streams.push(watch(server.clone(), what, 0).map(|seen| (Source::Events, seen)).boxed());
    }
    stream::select_all(streams).boxed()
}

// === impl Live ===

impl Live {
    /// Begins with what was read.
    pub fn new(input: Input) -> Self {
        Self { input, given: BTreeMap::new() }
    }

    /// What is known, at a moment.
    pub fn input(&self, now: Timestamp) -> Input {
        Input { now, ..self.input.clone() }
    }

    /// Whether machines are configured by the platform.
    pub fn has_pools(&self) -> bool {
        !self.input.pools.is_empty()
    }

    /// Takes what was seen. An object that cannot be understood is left as it was.
    pub fn take(&mut self, source: Source, seen: Seen) -> News {
        match seen {
            Seen::Restarted => {
                self.given.insert(source, BTreeSet::new());
                News::Nothing
            }
            Seen::Object(object) => {
                if let Some(given) = self.given.get_mut(&source) {
                    given.insert(object::name(&object).to_owned());
                }
                self.put(source, object)
            }
            Seen::Gone(gone) => self.retain(source, |name| name != object::name(&gone)),
            Seen::Synced { .. } => match self.given.remove(&source) {
                Some(given) => self.retain(source, |name| given.contains(name)),
                None => News::Nothing,
            },
            // What was told of the trouble is over.
            Seen::Resumed => News::Changed,
            Seen::Trouble { refusal, .. } => News::Trouble(refusal.explain("the cluster")),
        }
    }

    fn put(&mut self, source: Source, object: Value) -> News {
        let input = &mut self.input;
        let is_news = match source {
            Source::Version => {
                let version = serde_json::from_value(object).ok();
                let is_ours = version.as_ref().is_some_and(|it: &lockstep_api::ClusterVersion| {
                    it.metadata.name == lockstep_api::names::object::VERSION
                });
                is_ours && std::mem::replace(&mut input.version, version.clone()) != version
            }
            Source::Operators => match serde_json::from_value::<lockstep_api::ClusterOperator>(object) {
                Ok(operator) => put(&mut input.operators, operator, |it| it.metadata.name.as_str()),
                Err(_) => false,
            },
            Source::Pools => put(&mut input.pools, object, object::name),
            Source::Nodes => put(&mut input.nodes, object, object::name),
            Source::Events => false,
        };
        if is_news { News::Changed } else { News::Nothing }
    }

    fn retain(&mut self, source: Source, stays: impl Fn(&str) -> bool) -> News {
        let input = &mut self.input;
        let before = input.operators.len()
            + input.pools.len()
            + input.nodes.len()
            + usize::from(input.version.is_some());
        match source {
            Source::Version => input.version = input.version.take().filter(|it| stays(&it.metadata.name)),
            Source::Operators => input.operators.retain(|it| stays(&it.metadata.name)),
            Source::Pools => input.pools.retain(|it| stays(object::name(it))),
            Source::Nodes => input.nodes.retain(|it| stays(object::name(it))),
            Source::Events => {}
        }
        let after = input.operators.len()
            + input.pools.len()
            + input.nodes.len()
            + usize::from(input.version.is_some());
        if before == after { News::Nothing } else { News::Changed }
    }
}

/// Puts an object to its place by name; whether it is another one than before.
fn put<T: PartialEq>(list: &mut Vec<T>, object: T, name: impl Fn(&T) -> &str) -> bool {
    match list.binary_search_by(|it| name(it).cmp(name(&object))) {
        Ok(place) if list[place] == object => false,
        Ok(place) => {
            list[place] = object;
            true
        }
        Err(place) => {
            list.insert(place, object);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{a_cluster, a_version, an_operator};
    use super::*;

    fn a_live() -> Live {
        Live::new(a_cluster(a_version(&[], "m"), vec![an_operator("a", "1"), an_operator("b", "1")]))
    }

    fn object(name: &str, version: &str) -> Seen {
        Seen::Object(serde_json::to_value(an_operator(name, version)).unwrap())
    }

    fn names(live: &Live) -> Vec<String> {
        live.input.operators.iter().map(|it| it.metadata.name.clone()).collect()
    }

    #[test]
    fn only_what_is_new_is_news() {
        let mut live = a_live();
        assert_eq!(live.take(Source::Operators, object("a", "1")), News::Nothing);
        assert_eq!(live.take(Source::Operators, object("a", "2")), News::Changed);
        assert_eq!(live.take(Source::Operators, object("aa", "2")), News::Changed);
        assert_eq!(names(&live), ["a", "aa", "b"]);
        let gone = Seen::Gone(json!({"metadata": {"name": "a"}}));
        assert_eq!(live.take(Source::Operators, gone), News::Changed);
        assert_eq!(names(&live), ["aa", "b"]);
    }

    #[test]
    fn what_is_not_given_again_after_a_restart_is_gone() {
        let mut live = a_live();
        live.take(Source::Operators, Seen::Restarted);
        live.take(Source::Operators, object("b", "1"));
        assert_eq!(names(&live), ["a", "b"], "until all was given nothing is gone");
        assert_eq!(live.take(Source::Operators, Seen::Synced { version: "7".into() }), News::Changed);
        assert_eq!(names(&live), ["b"]);
    }
}
