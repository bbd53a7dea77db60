//! Addresses and options of requests.

use std::collections::BTreeMap;

use crate::status::{FieldError, GroupName, Status};

/// What an address names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The API group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name of the resource.
    pub plural: String,
    /// The namespace; empty when the address has none.
    pub namespace: String,
    /// The object; empty for the whole collection.
    pub name: String,
    /// The part of the object; empty for all of it.
    pub subresource: String,
    /// Whether the address is one of those that mean a watch without saying so in the query.
    pub is_old_watch: bool,
}

/// The parameters of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, Vec<String>>);

/// The options of a list or a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    /// Which labels.
    pub label_selector: String,
    /// Which fields.
    pub field_selector: String,
    /// At most this many; 0 for all.
    pub limit: usize,
    /// Where the last page ended.
    pub continue_token: String,
    /// The version that was asked for; empty for the newest.
    pub resource_version: String,
    /// How that version is meant.
    pub version_match: String,
    /// A watch instead of a list.
    pub watch: bool,
    /// Whether the watch wants bookmarks.
    pub bookmarks: bool,
    /// Whether the watch begins with what is there.
    pub send_initial_events: Option<bool>,
    /// How long the watch stays open.
    pub timeout_seconds: Option<u64>,
}

/// The options of a write.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    /// Do everything except storing.
    pub dry_run: bool,
    /// Who writes, for `managedFields`.
    pub field_manager: String,
    /// Whether the client named the manager itself.
    pub has_field_manager: bool,
    /// What happens to unknown and doubled fields.
    pub field_validation: FieldValidation,
    /// Take over fields of others (server-side apply).
    pub force: Option<bool>,
}

/// What happens to unknown and doubled fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// They are refused.
    Strict,
}

// === impl Target ===

impl Target {
    /// The target of a path; nothing when the path is not that of a resource.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/').map(percent_decode);
        let (group, version) = match parts.next()?.as_str() {
            "api" => (String::new(), parts.next()?),
            "apis" => (parts.next()?, parts.next()?),
            _ => return None,
        };
        let mut rest: Vec<String> = parts.collect();
        // The old way to say that it is a watch; the query says it, too, once `Head` was made.
        let is_old_watch = rest.first().is_some_and(|first| first == "watch") && rest.len() > 1;
        if is_old_watch {
            rest.remove(0);
        }
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let (namespace, plural, tail) = match rest.as_slice() {
            [] => return None,
            // The subresources of a namespace look like resources in it.
            ["namespaces", name, tail @ ..] if !matches!(tail, [first, ..] if !is_namespace_part(first)) => {
                ("", "namespaces", [&[*name], tail].concat())
            }
            ["namespaces", namespace, plural, tail @ ..] => (*namespace, *plural, tail.to_vec()),
            [plural, tail @ ..] => ("", *plural, tail.to_vec()),
        };
        let at = |index: usize| tail.get(index).copied().unwrap_or_default().to_owned();
        Some(Self {
            group,
            version,
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            name: at(0),
            subresource: if tail.len() > 2 { tail[1..].join("/") } else { at(1) },
            is_old_watch,
        })
    }
}

fn is_namespace_part(word: &str) -> bool {
    matches!(word, "status" | "finalize")
}

// === impl Query ===

impl Query {
    /// Reads a query; of a parameter that occurs twice the first counts, unless it is a list.
    pub(crate) fn parse(text: &str) -> Self {
        let mut parameters = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode(&value.replace('+', " "));
            parameters.entry(percent_decode(&key.replace('+', " "))).or_insert_with(Vec::new).push(value);
        }
        Self(parameters)
    }

    /// A parameter; empty when it is missing.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.all(key).first().map_or("", String::as_str)
    }

    /// All values of a parameter.
    fn all(&self, key: &str) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// Sets a parameter.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.0.insert(key.to_owned(), vec![value.to_owned()]);
    }

    fn flag(&self, key: &str) -> Option<bool> {
        // NB: the real server takes any text that is not clearly false for true.
        let text = self.0.get(key).map(|values| values.first().map_or("", String::as_str))?;
        Some(!matches!(text.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    fn number(&self, key: &str) -> Result<Option<i64>, Status> {
        match self.get(key) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
            }),
        }
    }

    /// The options of a list or a watch.
    pub(crate) fn list_options(&self) -> Result<ListOptions, Status> {
        let options = ListOptions {
            label_selector: self.get("labelSelector").to_owned(),
            field_selector: self.get("fieldSelector").to_owned(),
            limit: self.number("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0),
            continue_token: self.get("continue").to_owned(),
            resource_version: self.get("resourceVersion").to_owned(),
            version_match: self.get("resourceVersionMatch").to_owned(),
            watch: self.flag("watch").unwrap_or(false),
            bookmarks: self.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: self.flag("sendInitialEvents"),
            timeout_seconds: self.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok()),
        };
        let errors = if options.watch { options.watch_errors() } else { options.list_errors() };
        refuse_options("ListOptions", &errors)?;
        Ok(options)
    }

    /// The options of a write; `kind` names them in errors, such as `CreateOptions`.
    pub(crate) fn write_options(&self, kind: &str, user_agent: &str) -> Result<WriteOptions, Status> {
        let mut errors = Vec::new();
        let force = if kind == "PatchOptions" { self.flag("force") } else { None };
        let field_manager = self.get("fieldManager");
        if field_manager.len() > 128 {
            errors.push(FieldError {
                kind: crate::status::FieldErrorKind::TooLong,
                field: "fieldManager".into(),
                value: None,
                detail: "may not be more than 128 bytes".into(),
            });
        }
        // A position counts bytes, as in Go.
        for (position, character) in field_manager.char_indices().filter(|(_, it)| !is_printable(*it)) {
            let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(character));
            errors.push(FieldError::invalid("fieldManager", field_manager, detail));
        }
        let dry_run = self.all("dryRun");
        if dry_run.iter().any(|value| value != "All") {
            errors.push(FieldError::not_supported("dryRun", serde_json::json!(dry_run), &["All"]));
        }
        let dry_run = !dry_run.is_empty();
        let field_validation = match self.get("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", other, &supported));
                FieldValidation::Warn
            }
        };
        refuse_options(kind, &errors)?;
        let has_field_manager = !field_manager.is_empty();
        let field_manager =
            if has_field_manager { field_manager } else { default_manager(user_agent) }.to_owned();
        Ok(WriteOptions { dry_run, field_manager, has_field_manager, field_validation, force })
    }
}

// === impl ListOptions ===

impl ListOptions {
    fn list_errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let forbidden = |detail: &str| FieldError::forbidden("resourceVersionMatch", detail);
        if !self.version_match.is_empty() {
            if self.resource_version.is_empty() {
                errors
                    .push(forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if !self.continue_token.is_empty() {
                errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
            if !matches!(self.version_match.as_str(), "Exact" | "NotOlderThan") {
                let supported = ["Exact", "NotOlderThan", ""];
                errors.push(FieldError::not_supported(
                    "resourceVersionMatch",
                    self.version_match.as_str(),
                    &supported,
                ));
            }
            if self.version_match == "Exact" && self.resource_version == "0" {
                errors
                    .push(forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
            }
        }
        if self.send_initial_events.is_some() {
            errors
                .push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        errors
    }

    fn watch_errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let forbidden = |detail: &str| FieldError::forbidden("resourceVersionMatch", detail);
        if self.send_initial_events.is_some() && self.version_match != "NotOlderThan" {
            errors.push(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if !self.version_match.is_empty() {
            if self.send_initial_events.is_none() {
                errors.push(forbidden(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if self.version_match != "NotOlderThan" {
                let given = self.version_match.as_str();
                errors.push(FieldError::not_supported("resourceVersionMatch", given, &["NotOlderThan"]));
            }
            if !self.continue_token.is_empty() {
                errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        errors
    }
}

/// The manager of a client that does not name one: its user agent up to the first slash.
fn default_manager(user_agent: &str) -> &str {
    let name = user_agent.split('/').next().unwrap_or_default();
    if name.is_empty() { "unknown" } else { name }
}

/// What Go's `unicode.IsPrint` says; Rust's escaping comes close.
fn is_printable(character: char) -> bool {
    character == ' ' || matches!(character, '"' | '\'' | '\\') || character.escape_debug().len() == 1
}

fn refuse_options(kind: &str, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(GroupName { group: "meta.k8s.io", name: kind }, "", errors))
}

/// Text with `%2F` and the like resolved; what is no valid escape stays as it is.
fn percent_decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[at], escape.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str) -> [String; 6] {
        let t = Target::parse(path).unwrap();
        [t.group, t.version, t.namespace, t.plural, t.name, t.subresource]
    }

    #[test]
    fn addresses_name_group_version_namespace_resource_object_and_part() {
        assert_eq!(parsed("/api/v1/namespaces/a/pods/x/status"), ["", "v1", "a", "pods", "x", "status"]);
        assert_eq!(parsed("/apis/apps/v1/deployments"), ["apps", "v1", "", "deployments", "", ""]);
        assert_eq!(parsed("/apis/x.y/v1/namespaces/n/z"), ["x.y", "v1", "n", "z", "", ""]);
        assert_eq!(Target::parse("/version"), None);
        assert_eq!(Target::parse("/apis/apps/v1"), None);
    }

    #[test]
    fn a_namespace_and_its_parts_are_no_resources_in_it() {
        assert_eq!(parsed("/api/v1/namespaces/a"), ["", "v1", "", "namespaces", "a", ""]);
        assert_eq!(parsed("/api/v1/namespaces/a/finalize"), ["", "v1", "", "namespaces", "a", "finalize"]);
        assert_eq!(parsed("/api/v1/namespaces"), ["", "v1", "", "namespaces", "", ""]);
    }

    #[test]
    fn escapes_are_resolved_and_broken_ones_stay() {
        let query = Query::parse("labelSelector=a%3Db%2Cc&x=1+2&bad=%zz");
        assert_eq!(query.get("labelSelector"), "a=b,c");
        assert_eq!(query.get("x"), "1 2");
        assert_eq!(query.get("bad"), "%zz");
    }

    #[test]
    fn a_wrong_dry_run_is_refused_by_name() {
        let error = Query::parse("dryRun=Some").write_options("CreateOptions", "").unwrap_err();
        assert_eq!(error.code, 422);
        assert!(
            error.message.contains("CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value")
        );
    }

    #[test]
    fn every_dry_run_and_every_letter_of_a_manager_is_looked_at() {
        let refusal =
            |query: &str| Query::parse(query).write_options("PatchOptions", "").unwrap_err().message;
        assert!(
            refusal("dryRun=All&dryRun=Some").contains("Unsupported value: [\"All\",\"Some\"]: supported")
        );
        assert!(
            refusal("fieldManager=a%07b").contains("\"a\\ab\": invalid character U+0007 (at position 1)")
        );
        assert!(Query::parse("dryRun=All&dryRun=All").write_options("PatchOptions", "").unwrap().dry_run);
    }

    #[test]
    fn the_manager_is_the_first_word_of_the_user_agent() {
        let options = Query::parse("").write_options("CreateOptions", "kubectl/v1.36 (linux)").unwrap();
        assert_eq!(options.field_manager, "kubectl");
    }

    #[test]
    fn initial_events_need_the_match_not_older_than() {
        let error = Query::parse("watch=1&sendInitialEvents=true").list_options().unwrap_err();
        assert!(
            error.message.contains("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        );
    }
}
