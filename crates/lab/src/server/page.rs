//! Lists: which version, which page.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::go_json;
use super::request::ListOptions;
use crate::go;
use crate::status::Status;
use crate::store::{Store, TableName, path_of};

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    /// The metadata of the list: its version, where it goes on, how many are left.
    pub metadata: Value,
    /// The objects.
    pub items: Vec<Arc<Value>>,
}

/// Where a page begins: after a path, at a version (0: now, and not consistent with the pages before).
struct Start {
    revision: u64,
    after: String,
}

const EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a \
                       new list without the continue parameter, or use the continue token in this response to retrieve \
                       the remainder of the results. Continuing with the provided token results in an inconsistent \
                       list - objects that were created, modified, or deleted between the time the first chunk was \
                       returned and now may show up in the list.";

/// The objects of a namespace (empty: of all) that a selection takes, one page of them.
pub(crate) fn list(
    store: &Store,
    table: &TableName,
    namespace: &str,
    options: &ListOptions,
    selects_all: bool,
    selects: impl Fn(&Value) -> bool,
) -> Result<Page, Status> {
    let start = Start::of(store, options)?;
    let snapshot = if start.revision == 0 || start.revision == store.revision() {
        store.now(table)
    } else {
        store.at(table, start.revision).map_err(|_| expired(options, &start))?
    };
    let revision = if start.revision == 0 { store.revision() } else { start.revision };

    let after = if start.after.is_empty() { String::new() } else { path_of(namespace, &start.after) };
    // The cache that answers for version 0 knows no pages.
    let limit = if options.resource_version == "0" { 0 } else { options.limit };
    let candidates = snapshot.range(namespace, &after);
    let mut items = Vec::new();
    let mut last = None;
    let mut seen = 0;
    for (path, object) in &candidates {
        if limit > 0 && items.len() == limit {
            break;
        }
        seen += 1;
        if selects(object) {
            items.push(Arc::clone(object));
            last = Some(*path);
        }
    }
    // With a selector nobody knows whether more will follow, as long as there is something to look at.
    let left = candidates.len() - seen;
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if left > 0
        && let Some(last) = last
    {
        // Within a namespace the real server leaves the namespace out of the token; both read it alike.
        let name = last.strip_prefix(namespace).map_or(last, |rest| rest.trim_start_matches('/'));
        metadata["continue"] = token(revision, if namespace.is_empty() { last } else { name }).into();
        if selects_all {
            metadata["remainingItemCount"] = left.into();
        }
    }
    Ok(Page { metadata, items })
}

// === impl Start ===

impl Start {
    fn of(store: &Store, options: &ListOptions) -> Result<Self, Status> {
        if !options.continue_token.is_empty() {
            if !matches!(options.resource_version.as_str(), "" | "0") {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Self::of_token(&options.continue_token);
        }
        let asked = parse_version(&options.resource_version)
            .map_err(|error| Status::bad_request(format!("invalid resource version: {}", error.message)))?;
        if asked > store.revision() {
            return Err(too_large(asked, store.revision()));
        }
        let is_exact = options.version_match == "Exact"
            || (options.version_match.is_empty() && options.limit > 0 && asked > 0);
        Ok(Self { revision: if is_exact { asked } else { 0 }, after: String::new() })
    }

    fn of_token(token: &str) -> Result<Self, Status> {
        let bad = |why: &str| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _) => at,
                _ => token.len(),
            };
            bad(&format!("illegal base64 data at input byte {at}"))
        })?;
        let token: Value = go_json::parse(&bytes).map_err(|why| bad(&why))?;
        if token["v"] != "meta.k8s.io/v1" {
            return Err(bad("server does not recognize this encoded version"));
        }
        let revision = token["rv"].as_i64().unwrap_or_default();
        let start = token["start"].as_str().unwrap_or_default();
        if start.is_empty() {
            return Err(bad("encoded start key empty"));
        }
        if start.split('/').any(|part| part == "..") {
            return Err(bad(start));
        }
        let after = start.strip_suffix('\0').unwrap_or(start).to_owned();
        // A negative version continues with whatever is there now.
        Ok(Self { revision: u64::try_from(revision).unwrap_or(0), after })
    }
}

/// The number of a version; empty is 0.
pub(crate) fn parse_version(text: &str) -> Result<u64, Status> {
    if text.is_empty() {
        return Ok(0);
    }
    go::parse_uint(text)
        .map_err(|why| Status::bare(format!("resourceVersion: Invalid value: {}: {why}", go::quote(text))))
}

/// 504: the version is newer than anything here.
pub(crate) fn too_large(asked: u64, current: u64) -> Status {
    let details = json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    });
    Status {
        details: details.as_object().cloned(),
        ..Status::new(
            504,
            "Timeout",
            format!("Timeout: Too large resource version: {asked}, current: {current}"),
        )
    }
}

fn expired(options: &ListOptions, start: &Start) -> Status {
    if options.continue_token.is_empty() {
        return Status::expired("The resourceVersion for the provided list is too old.");
    }
    let token = json!({"v": "meta.k8s.io/v1", "rv": -1, "start": format!("{}\0", start.after)});
    Status { continue_token: Some(URL_SAFE_NO_PAD.encode(token.to_string())), ..Status::expired(EXPIRED) }
}

fn token(revision: u64, last: &str) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("{last}\0")});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Key, Window};

    fn filled() -> (Store, TableName) {
        let mut store = Store::new(Window::default());
        let table = TableName::new("", "configmaps");
        for name in ["a", "b", "c", "d", "e"] {
            let object = json!({"metadata": {"name": name, "namespace": "ns"}});
            store.put(&Key::new(&table, "ns", name), object);
        }
        (store, table)
    }

    fn page(store: &Store, table: &TableName, namespace: &str, continue_token: &str) -> Page {
        let options =
            ListOptions { limit: 2, continue_token: continue_token.to_owned(), ..ListOptions::default() };
        list(store, table, namespace, &options, true, |_| true).unwrap()
    }

    fn names(page: &Page) -> Vec<&str> {
        page.items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect()
    }

    #[test]
    fn pages_of_one_list_show_one_moment() {
        let (mut store, table) = filled();
        for namespace in ["", "ns"] {
            let first = page(&store, &table, namespace, "");
            assert_eq!(names(&first), ["a", "b"]);
            assert_eq!(first.metadata["remainingItemCount"], 3);
            store.remove(&Key::new(&table, "ns", "d"));
            let second = page(&store, &table, namespace, first.metadata["continue"].as_str().unwrap());
            assert_eq!(names(&second), ["c", "d"]);
            assert_eq!(second.metadata["resourceVersion"], first.metadata["resourceVersion"]);
            let third = page(&store, &table, namespace, second.metadata["continue"].as_str().unwrap());
            assert_eq!(names(&third), ["e"]);
            assert_eq!(third.metadata.get("continue"), None);
            store.put(&Key::new(&table, "ns", "d"), json!({"metadata": {"name": "d"}}));
        }
    }

    #[test]
    fn a_version_of_the_future_is_a_timeout() {
        let (store, table) = filled();
        let options = ListOptions { resource_version: "99".into(), ..ListOptions::default() };
        let error = list(&store, &table, "", &options, true, |_| true).unwrap_err();
        assert_eq!((error.code, error.reason), (504, Some("Timeout")));
    }

    #[test]
    fn a_token_that_is_none_is_refused() {
        let (store, table) = filled();
        let options = ListOptions { continue_token: "%%".into(), ..ListOptions::default() };
        let error = list(&store, &table, "", &options, true, |_| true).unwrap_err();
        assert_eq!(
            error.message,
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"
        );
    }
}
