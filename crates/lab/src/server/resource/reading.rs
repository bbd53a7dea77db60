//! Bodies and patched documents as objects of a resource.

use serde_json::{Value, json};

use super::{Custom, Resource, Sort};
use crate::builtin::decode::strict::strict_errors;
use crate::builtin::decode::{self, decode, is_registered};
use crate::builtin::defaults::default;
use crate::builtin::strategy;
use crate::server::go_json;
use crate::status::{GroupName, Status};

fn unknown_fields(paths: &[String]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("unknown field {path:?}"))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

// === impl Resource ===

impl Resource {
    /// The object in a body, with defaults, and its unknown and doubled fields.
    pub(crate) fn read(&self, body: &[u8]) -> Result<(Value, Vec<String>), Status> {
        let object = parse(body)
            .and_then(|object| interpret(&object).map(|()| object))
            .map_err(|why| self.unrecognized(body, &why))?;
        match &self.sort {
            Sort::Builtin(kind) => {
                let object = self.with_kind(object);
                self.check_kind(&object).map_err(|why| self.unreadable(&object, &why))?;
                self.check_version(&object)?;
                let decoded = decode(kind, object).map_err(|error| error.into_status(kind))?;
                let mut object = decoded.object;
                default(kind, &mut object);
                strategy::convert(kind, &mut object);
                // Only a body in JSON can be read again in its own order.
                let mut problems = strict_errors(Some(kind), body);
                if problems.is_empty() {
                    problems = decoded.unknown;
                }
                Ok((object, problems))
            }
            Sort::Custom(custom) => {
                if text(&object, "kind").is_empty() {
                    let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
                    return Err(self.unrecognized(body, &why));
                }
                let mut object = object;
                let mut problems = strict_errors(None, body);
                let unknown = custom.coerce(&mut object).map_err(|why| self.unreadable(&object, &why))?;
                self.check_version(&object)?;
                problems.extend(unknown_fields(&unknown));
                custom.default(&mut object);
                Ok((object, problems))
            }
        }
    }

    /// A document that was patched as an object, with defaults, and its unknown fields.
    pub(crate) fn complete(&self, object: Value) -> Result<(Value, Vec<String>), String> {
        interpret(&object)?;
        match &self.sort {
            Sort::Builtin(kind) => {
                let mut object = self.with_kind(object);
                self.check_kind(&object)?;
                // An older version of the same kind is converted.
                object["apiVersion"] = self.names.api_version().into();
                let decoded = decode(kind, object).map_err(|error| error.to_string())?;
                let mut object = decoded.object;
                default(kind, &mut object);
                strategy::convert(kind, &mut object);
                Ok((object, decoded.unknown))
            }
            Sort::Custom(custom) => {
                if text(&object, "kind").is_empty() {
                    return Err(format!("Object 'Kind' is missing in '{}'", go_json::text(&object)));
                }
                let mut object = object;
                let unknown = custom.coerce(&mut object)?;
                custom.default(&mut object);
                Ok((object, unknown_fields(&unknown).collect()))
            }
        }
    }

    /// What server-side apply has merged as an object, with defaults.
    ///
    /// NB: undeclared fields and nulls of a custom resource are still there when it is checked; they go when it is stored.
    pub(crate) fn complete_applied(&self, mut object: Value) -> Result<Value, String> {
        match &self.sort {
            Sort::Builtin(_) => self.complete(object).map(|(object, _)| object),
            Sort::Custom(custom) => {
                go_json::settle_numbers(&mut object);
                custom.default(&mut object);
                Ok(object)
            }
        }
    }

    /// What an object loses when it is stored.
    pub(crate) fn settle(&self, object: &mut Value) {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("selfLink");
        }
        match &self.sort {
            Sort::Builtin(kind) => decode::settle(kind, object),
            Sort::Custom(custom) => {
                // Metadata that cannot be read was refused before.
                drop(custom.coerce(object));
            }
        }
    }

    /// The kind as messages about this object name it: a custom resource says itself what it is.
    pub(crate) fn kind_of<'a>(&'a self, object: &'a Value) -> GroupName<'a> {
        if !self.names.is_custom {
            return self.group_kind();
        }
        let group = text(object, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        GroupName { group, name: text(object, "kind") }
    }

    /// 400: a body that is no object of this kind.
    pub(crate) fn unreadable(&self, object: &Value, why: &str) -> Status {
        let kind = object["kind"].as_str().unwrap_or(&self.names.kind);
        let version = match text(object, "apiVersion") {
            "" => self.names.version.as_str(),
            named => named.rsplit('/').next().unwrap_or_default(),
        };
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            self.names.kind
        ))
    }

    /// 400: a body of which not even the kind is known.
    fn unrecognized(&self, body: &[u8], why: &str) -> Status {
        let kind = &self.names.kind;
        let shown = go_json::summary(body);
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
        ))
    }

    /// An object of a built-in kind with what it leaves out about its kind.
    fn with_kind(&self, mut object: Value) -> Value {
        if object.is_null() {
            object = json!({});
        }
        if text(&object, "kind").is_empty() {
            object["kind"] = self.names.kind.as_str().into();
        }
        if text(&object, "apiVersion").is_empty() {
            object["apiVersion"] = self.names.api_version().into();
        }
        object
    }

    /// What is wrong with the kind of an object that should be of this built-in one.
    fn check_kind(&self, object: &Value) -> Result<(), String> {
        let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        // These two have registries of their own.
        let is_apart =
            ["apiextensions.k8s.io", "apiregistration.k8s.io"].contains(&self.names.group.as_str());
        if !is_registered(api_version, kind) || (is_apart && group != self.names.group) {
            return Err(format!(
                "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
            ));
        }
        if kind == self.names.kind {
            return Ok(());
        }
        let internal = match self.names.group.split('.').next() {
            None | Some("") => "core",
            Some(word) => word,
        };
        Err(format!("converting ({version}.{kind}) to ({internal}.{}): unknown conversion", self.names.kind))
    }

    /// Refuses an object of another version.
    fn check_version(&self, object: &Value) -> Result<(), Status> {
        let (found, expected) = (text(object, "apiVersion"), self.names.api_version());
        if found == expected {
            return Ok(());
        }
        Err(Status::bad_request(format!(
            "the API version in the data ({found}) does not match the expected API version ({expected})"
        )))
    }

    /// Refuses an applied configuration of another kind or version.
    pub(crate) fn check_applied(&self, patch: &Value) -> Result<(), Status> {
        let (api_version, kind) = (text(patch, "apiVersion"), text(patch, "kind"));
        if api_version == self.names.api_version() && kind == self.names.kind {
            return Ok(());
        }
        let (group, version, kind) = match api_version.split_once('/') {
            None => ("", api_version, kind),
            // What is no group and version at all is shown as nothing.
            Some((_, version)) if version.contains('/') => ("", "", ""),
            Some((group, version)) => (group, version, kind),
        };
        Err(Status::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")))
    }
}

// === impl Custom ===

impl Custom {
    fn is_own(&self, object: &Value) -> bool {
        let group = text(object, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        text(object, "kind") == self.version.kind && group == self.definition.group
    }

    /// Brings an object into the form of the schema; gives the paths of the fields that it lost.
    fn coerce(&self, object: &mut Value) -> Result<Vec<String>, String> {
        go_json::settle_numbers(object);
        if !self.is_own(object) {
            let metadata = &object["metadata"];
            if !metadata.is_object() && !metadata.is_null() {
                let found = go_json::describe(metadata);
                return Err(format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"));
            }
            return Ok(Vec::new());
        }
        self.version.schema.prune(object)
    }

    fn default(&self, object: &mut Value) {
        if self.is_own(object) {
            self.version.schema.default(object);
        }
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
    }
}

fn parse(body: &[u8]) -> Result<Value, String> {
    go_json::parse(body).or_else(|why| {
        // What begins like JSON is meant to be JSON; YAML is for the rest.
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if first.is_none_or(|byte| b"{[\"".contains(byte)) {
            return Err(format!("couldn't get version/kind; json parse error: {why}"));
        }
        let document = lockstep_payload::yaml::documents(body).ok().and_then(|mut documents| documents.pop());
        document
            .map(|document| document.value)
            .filter(Value::is_object)
            .ok_or_else(|| format!("couldn't get version/kind; json parse error: {why}"))
    })
}

/// Finds out whether an object says its kind and version in a form that can be read.
fn interpret(object: &Value) -> Result<(), String> {
    if !object.is_object() && !object.is_null() {
        return Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct \
             {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            go_json::describe(object)
        ));
    }
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field).filter(|value| !value.is_string() && !value.is_null()) {
            return Err(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field .{field} of \
                 type string",
                go_json::describe(value)
            ));
        }
    }
    let api_version = text(object, "apiVersion");
    if api_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {api_version}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(plural: &str) -> Resource {
        Resource::builtin().find(|resource| resource.names.plural == plural).unwrap()
    }

    fn refusal(plural: &str, body: &str) -> String {
        resource(plural).read(body.as_bytes()).unwrap_err().message
    }

    #[test]
    fn a_body_that_is_no_json_is_shown_from_its_beginning() {
        assert_eq!(
            refusal("configmaps", "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", "),
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: \
             unexpected end of JSON input ({\"apiVersion\": \"v1\", \"kind\": \" ...)"
        );
        assert!(refusal("configmaps", "[]").ends_with(" (5b5d)"));
        assert!(refusal("configmaps", "").ends_with("unexpected end of JSON input (<empty>)"));
    }

    #[test]
    fn another_kind_or_version_is_refused_by_what_is_known_about_it() {
        for (plural, api_version, kind, expected) in [
            (
                "configmaps",
                "v1",
                "Secret",
                "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): \
                 unknown conversion",
            ),
            (
                "deployments",
                "v1",
                "Deployment",
                "Deployment in version \"v1\" cannot be handled as a Deployment: no kind \"Deployment\" is registered for \
                 version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"",
            ),
            (
                "deployments",
                "apps/v1beta1",
                "Deployment",
                "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)",
            ),
        ] {
            let body = json!({"apiVersion": api_version, "kind": kind}).to_string();
            assert_eq!(refusal(plural, &body), expected);
        }
    }

    #[test]
    fn nothing_is_an_object_with_nothing_in_it() {
        let (object, _) = resource("configmaps").read(b"null").unwrap();
        assert_eq!(object, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}));
    }
}
