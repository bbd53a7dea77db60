//! What is known after events in good and bad order.

use serde_json::json;

use super::*;

fn object(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version, "managedFields": [{}]}})
}

fn synced() -> Seen {
    Seen::Synced { version: "9".to_owned() }
}

#[test]
fn an_object_that_is_missing_after_a_restart_of_the_watch_is_gone() {
    let mut world = World::default();
    world.on(Source::Operators, Seen::Restarted);
    assert!(world.on(Source::Operators, Seen::Object(object("dns", "1"))));
    assert!(world.on(Source::Operators, Seen::Object(object("etcd", "2"))));
    assert!(world.on(Source::Operators, synced()));
    world.on(Source::Operators, Seen::Restarted);
    assert!(!world.on(Source::Operators, Seen::Object(object("dns", "1"))), "nothing new");
    assert!(world.on(Source::Operators, synced()), "etcd is gone");
    assert!(world.operator("dns").is_some() && world.operator("etcd").is_none());
}

#[test]
fn the_echo_of_an_older_version_does_not_undo_what_we_wrote() {
    let mut world = World::default();
    assert!(world.put(Source::Version, object("version", "20")));
    assert!(!world.on(Source::Version, Seen::Object(object("version", "19"))));
    assert_eq!(world.raw_version().unwrap()["metadata"]["resourceVersion"], "20");
    assert!(world.on(Source::Version, Seen::Object(object("version", "21"))));
}

#[test]
fn everything_is_known_when_each_source_was_seen_or_is_absent() {
    let mut world = World::default();
    for source in Source::ALL {
        assert!(!world.is_known(), "{source:?} is missing");
        if source.definition().is_some() {
            assert!(world.absent(source));
        } else {
            assert!(world.on(source, synced()));
        }
    }
    assert!(world.is_known());
    assert!(!world.absent(Source::Proxy), "it was absent before");
}

#[test]
fn field_managers_are_not_kept() {
    let mut world = World::default();
    world.put(Source::Operators, object("dns", "1"));
    assert!(world.operator("dns").unwrap()["metadata"].get("managedFields").is_none());
}
