//! Bodies and patched documents as objects of a resource.

use serde_json::{Value, json};

use super::{Resource, Sort};
use crate::builtin::decode::decode;
use crate::builtin::decode::strict::strict_errors;
use crate::builtin::defaults::default;
use crate::builtin::strategy;
use crate::status::Status;

fn unknown_field(path: &str) -> String {
    format!("unknown field {path:?}")
}

// === impl Resource ===

impl Resource {
    /// The object in a body, with defaults, and its unknown and doubled fields.
    pub(crate) fn read(&self, body: &[u8]) -> Result<(Value, Vec<String>), Status> {
        let object = self.parse(body)?;
        let object = self.with_kind(object, body)?;
        match &self.sort {
            Sort::Builtin(kind) => {
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
                let mut object = object;
                let mut problems = strict_errors(None, body);
                let unknown = custom.version.schema.prune(&mut object);
                let unknown = unknown.map_err(|why| self.unreadable(&object, &why))?;
                problems.extend(unknown.iter().map(|path| unknown_field(path)));
                custom.version.schema.default(&mut object);
                Ok((object, problems))
            }
        }
    }

    /// A document that was patched or merged as an object, with defaults, and its unknown fields.
    pub(crate) fn complete(&self, mut object: Value) -> Result<(Value, Vec<String>), String> {
        match &self.sort {
            Sort::Builtin(kind) => {
                let decoded = decode(kind, object).map_err(|error| error.to_string())?;
                let mut object = decoded.object;
                default(kind, &mut object);
                strategy::convert(kind, &mut object);
                Ok((object, decoded.unknown))
            }
            Sort::Custom(custom) => {
                let unknown = custom.version.schema.prune(&mut object)?;
                custom.version.schema.default(&mut object);
                Ok((object, unknown.iter().map(|path| unknown_field(path)).collect()))
            }
        }
    }

    /// A document that an applied configuration was merged into, with defaults. A custom resource keeps what its schema does not
    /// declare, and its nulls, until it is stored: the checks see them.
    pub(crate) fn complete_applied(&self, mut object: Value) -> Result<Value, String> {
        match &self.sort {
            Sort::Builtin(_) => self.complete(object).map(|(object, _)| object),
            Sort::Custom(custom) => {
                custom.version.schema.default(&mut object);
                Ok(object)
            }
        }
    }

    /// 400: a body that is no object of this kind.
    pub(crate) fn unreadable(&self, object: &Value, why: &str) -> Status {
        let kind = object["kind"].as_str().unwrap_or(&self.names.kind);
        let version = &self.names.version;
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            self.names.kind
        ))
    }

    fn parse(&self, body: &[u8]) -> Result<Value, Status> {
        if let Ok(value) = serde_json::from_slice(body) {
            return Ok(value);
        }
        let why = match serde_json::from_slice::<Value>(body) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        };
        // What begins like JSON is meant to be JSON; YAML is for the rest.
        let is_json = body.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| b"{[\"".contains(byte));
        if !is_json
            && let Ok(mut documents) = lockstep_payload::yaml::documents(body)
            && let Some(document) = documents.pop()
            && document.value.is_object()
        {
            return Ok(document.value);
        }
        Err(self.unrecognized(body, &format!("couldn't get version/kind; json parse error: {why}")))
    }

    fn unrecognized(&self, body: &[u8], why: &str) -> Status {
        let summary: String = body.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
        let dots = if body.len() > 64 { " ..." } else { "" };
        let kind = &self.names.kind;
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({summary}{dots})"
        ))
    }

    /// Refuses an object of another kind or version; what a built-in one leaves out is filled in.
    fn with_kind(&self, mut object: Value, body: &[u8]) -> Result<Value, Status> {
        if !object.is_object() {
            let found = match object {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Null => "null",
                _ => "number",
            };
            let why = format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct \
                 {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            );
            return Err(self.unrecognized(body, &why));
        }
        let api_version = self.names.api_version();
        let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (found_version, found_kind) = (text(&object, "apiVersion"), text(&object, "kind"));
        if self.names.is_custom && found_kind.is_empty() {
            let shown = json!(object).to_string();
            return Err(self.unrecognized(body, &format!("Object 'Kind' is missing in '{shown}'")));
        }
        if found_version.is_empty() {
            object["apiVersion"] = api_version.as_str().into();
        } else if found_version != api_version {
            return Err(Status::bad_request(format!(
                "the API version in the data ({found_version}) does not match the expected API version ({api_version})"
            )));
        }
        if found_kind.is_empty() {
            object["kind"] = self.names.kind.as_str().into();
        } else if found_kind != self.names.kind {
            let expected = &self.names.kind;
            let version = &self.names.version;
            return Err(Status::bad_request(format!(
                "{found_kind} in version {version:?} cannot be handled as a {expected}: no kind {found_kind:?} is registered \
                 for version {api_version:?}"
            )));
        }
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        Ok(object)
    }

    /// Refuses an applied configuration of another kind or version, or with a wrong form.
    pub(crate) fn check_applied(&self, patch: &Value) -> Result<(), Status> {
        let text = |field: &str| patch[field].as_str().unwrap_or_default();
        let api_version = self.names.api_version();
        if text("apiVersion").is_empty() || text("kind").is_empty() {
            let what = if text("kind").is_empty() { "Kind" } else { "apiVersion" };
            return Err(Status::bad_request(format!(
                "invalid object type: Object '{what}' is missing in '{patch}'"
            )));
        }
        if text("apiVersion") != api_version || text("kind") != self.names.kind {
            return Err(Status::bad_request(format!(
                "invalid object type: {}, Kind={}; expected {api_version}, Kind={}",
                text("apiVersion"),
                text("kind"),
                self.names.kind
            )));
        }
        Ok(())
    }
}
