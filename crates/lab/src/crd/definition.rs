//! A CustomResourceDefinition, read for serving.

mod conversion_rules;
mod default_rules;
mod internal;
mod raw;
mod rules;
mod schema_rules;
mod structure_rules;
mod version_rules;

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use super::structural::Structural;

pub(crate) use conversion_rules::bundle_problem;
pub(crate) use rules::{validate, warnings};

/// What a definition says about serving its objects.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The API group.
    pub(crate) group: String,
    /// The names that are served: the accepted ones, or the wanted ones while nothing is accepted.
    pub(crate) names: Names,
    /// Whether objects live in namespaces.
    pub(crate) namespaced: bool,
    /// The versions, in the order of the definition.
    pub(crate) versions: Vec<Arc<Version>>,
}

/// The names of a kind of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the words of the API")]
pub(crate) struct Names {
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
}

/// One version of a definition.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    reason = "each is a field of the definition"
)]
pub(crate) struct Version {
    /// The name, such as `v1`.
    pub(crate) name: String,
    /// The `apiVersion` of its objects.
    pub(crate) api_version: String,
    /// The kind of its objects.
    pub(crate) kind: String,
    /// Whether objects live in namespaces.
    pub(crate) namespaced: bool,
    /// Whether the version is served.
    pub(crate) served: bool,
    /// Whether objects are stored in this version.
    pub(crate) storage: bool,
    /// The schema.
    pub(crate) schema: Arc<Structural>,
    /// Whether there is a status subresource.
    pub(crate) status: bool,
    /// The scale subresource.
    pub(crate) scale: Option<ScalePaths>,
    /// The JSON paths that field selectors can use, such as `.spec.color`.
    pub(crate) selectable_fields: Vec<String>,
    /// The warning of a deprecated version.
    pub(crate) deprecation: Option<String>,
}

/// Where the scale subresource finds its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) label_selector: Option<String>,
}

// === impl Definition ===

impl Definition {
    /// Reads a definition that has passed [`validate`].
    ///
    /// # Errors
    /// A sentence when it has no group, names or versions.
    pub(crate) fn parse(crd: &Value) -> Result<Self, String> {
        let spec = &crd["spec"];
        let group = text(spec, "group");
        let names = Names::served(crd);
        let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        if group.is_empty() || names.plural.is_empty() || names.kind.is_empty() || versions.is_empty() {
            return Err(
                "the definition needs spec.group, spec.names.plural, spec.names.kind and spec.versions"
                    .to_owned(),
            );
        }
        let namespaced = spec["scope"] == "Namespaced";
        let mut parsed: Vec<Arc<Version>> = Vec::with_capacity(versions.len());
        for (index, version) in versions.iter().enumerate() {
            // Large schemas are often the same in several versions.
            let same = (0..index).find(|other| versions[*other]["schema"] == version["schema"]);
            let schema = match same {
                Some(other) => Arc::clone(&parsed[other].schema),
                None => Arc::new(Structural::parse(&version["schema"]["openAPIV3Schema"])),
            };
            parsed.push(Arc::new(Version::parse(version, schema, spec, &group, &names.kind, namespaced)));
        }
        Ok(Self { group, names, namespaced, versions: parsed })
    }

    /// A version by its name, served or not.
    pub(crate) fn version(&self, name: &str) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version in which objects are stored.
    pub(crate) fn storage(&self) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.storage)
    }

    /// Brings a stored object into the form of the schema that its version has now.
    ///
    /// What was stored under another schema stays in the store: a field that comes back into the schema comes back with its
    /// value.
    pub(crate) fn renew(&self, object: &mut Value) {
        let version = object["apiVersion"].as_str().and_then(|it| it.rsplit('/').next()).unwrap_or_default();
        if let Some(version) = self.version(version) {
            // Metadata that cannot be read was refused when it came in.
            drop(version.schema.prune(object));
            version.schema.default(object);
        }
    }
}

// === impl Names ===

impl Names {
    /// The accepted names, and the wanted one for each that is not accepted yet.
    fn served(crd: &Value) -> Self {
        let (wanted, accepted) = (&crd["spec"]["names"], &crd["status"]["acceptedNames"]);
        let mut names = Self::parse(wanted);
        if text(accepted, "kind").is_empty() {
            return names;
        }
        let accepted = Self::parse(accepted);
        let or = |accepted: String, wanted: String| if accepted.is_empty() { wanted } else { accepted };
        names = Self {
            plural: or(accepted.plural, names.plural),
            singular: or(accepted.singular, names.singular),
            kind: or(accepted.kind, names.kind),
            list_kind: or(accepted.list_kind, names.list_kind),
            short_names: accepted.short_names,
            categories: accepted.categories,
        };
        names
    }

    /// Reads `spec.names` or `status.acceptedNames`.
    pub(crate) fn parse(names: &Value) -> Self {
        Self {
            plural: text(names, "plural"),
            singular: text(names, "singular"),
            kind: text(names, "kind"),
            list_kind: text(names, "listKind"),
            short_names: texts(names, "shortNames"),
            categories: texts(names, "categories"),
        }
    }
}

// === impl Version ===

impl Version {
    /// Turns an object of another version into one of this: its `apiVersion` changes, and what is not declared here goes.
    ///
    /// Defaults of this version are not filled in: the real server does that only before it converts.
    pub(crate) fn convert(&self, object: &mut Value) {
        if object["apiVersion"] != self.api_version.as_str() {
            object["apiVersion"] = self.api_version.as_str().into();
            drop(self.schema.prune(object));
        }
    }

    fn parse(
        version: &Value,
        schema: Arc<Structural>,
        spec: &Value,
        group: &str,
        kind: &str,
        namespaced: bool,
    ) -> Self {
        let name = text(version, "name");
        let subresources = &version["subresources"];
        let scale =
            subresources["scale"].as_object().map(|_| &subresources["scale"]).map(|scale| ScalePaths {
                spec_replicas: text(scale, "specReplicasPath"),
                status_replicas: text(scale, "statusReplicasPath"),
                label_selector: Some(text(scale, "labelSelectorPath")).filter(|path| !path.is_empty()),
            });
        let deprecation =
            (version["deprecated"] == true).then(|| match version["deprecationWarning"].as_str() {
                Some(warning) => warning.to_owned(),
                None => default_warning(&name, spec, group, kind),
            });
        Self {
            api_version: format!("{group}/{name}"),
            kind: kind.to_owned(),
            namespaced,
            served: version["served"] == true,
            storage: version["storage"] == true,
            schema,
            status: subresources["status"].is_object(),
            scale,
            selectable_fields: version["selectableFields"]
                .as_array()
                .map(|fields| fields.iter().map(|field| text(field, "jsonPath")).collect())
                .unwrap_or_default(),
            deprecation,
            name,
        }
    }
}

/// The warning of a deprecated version that has none of its own.
fn default_warning(name: &str, spec: &Value, group: &str, kind: &str) -> String {
    let better = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|version| version["served"] == true && version["deprecated"] != true)
        .filter_map(|version| version["name"].as_str())
        .filter(|version| compare_versions(name, version) == Ordering::Less)
        .max_by(|one, other| compare_versions(one, other));
    let instead = better.map(|version| format!("; use {group}/{version} {kind}")).unwrap_or_default();
    format!("{group}/{name} {kind} is deprecated{instead}")
}

/// Orders versions by age: `v1alpha1` < `v1beta1` < `v1` < `v2`; whatever has another form comes first, by name.
pub(crate) fn compare_versions(one: &str, other: &str) -> Ordering {
    match (version_rank(one), version_rank(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => other.cmp(one),
    }
}

/// Stability, major and minor number of `v1`, `v1beta2` and the like.
fn version_rank(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = major.parse().ok()?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = rest
        .strip_prefix("beta")
        .map(|minor| (1, minor))
        .or_else(|| Some((0, rest.strip_prefix("alpha")?)))?;
    Some((stability, major, minor.parse().ok()?))
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let list = value[key].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_definition() -> Value {
        json!({"metadata": {"name": "widgets.ex.dev"}, "spec": {"group": "ex.dev", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "conversion": {"strategy": "None"},
        "versions": [
            {"name": "v1beta1", "served": true, "storage": false, "deprecated": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}},
            {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}, "scale":
                {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}},
        ]}})
    }

    #[test]
    fn versions_have_their_subresources_and_warnings() {
        let definition = Definition::parse(&a_definition()).unwrap();
        assert!(definition.namespaced);
        let [old, new] = definition.versions.as_slice() else { panic!("two versions") };
        assert_eq!(
            old.deprecation.as_deref(),
            Some("ex.dev/v1beta1 Widget is deprecated; use ex.dev/v1 Widget")
        );
        assert!(!old.status && new.status && new.scale.is_some() && new.storage);
        assert_eq!(new.api_version, "ex.dev/v1");
    }

    #[test]
    fn a_converted_object_has_the_form_of_its_new_version_without_its_defaults() {
        let mut crd = a_definition();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] =
            json!({"spec": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}});
        let definition = Definition::parse(&crd).unwrap();
        let mut object = json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "spec": {"b": 1}});
        definition.version("v1beta1").unwrap().convert(&mut object);
        assert_eq!(object, json!({"apiVersion": "ex.dev/v1beta1", "kind": "Widget", "spec": {}}));
    }

    #[test]
    fn a_stored_object_follows_the_schema_of_its_version() {
        let mut crd = a_definition();
        crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
            json!({"b": {"type": "string", "default": "new"}});
        let definition = Definition::parse(&crd).unwrap();
        let mut object = json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "spec": {"a": "x"}});
        definition.renew(&mut object);
        assert_eq!(object["spec"], json!({"b": "new"}));
        let mut unknown = json!({"apiVersion": "ex.dev/v0", "kind": "Widget", "spec": {"a": "x"}});
        definition.renew(&mut unknown);
        assert_eq!(unknown["spec"], json!({"a": "x"}), "nothing is known about a version that is gone");
    }

    #[test]
    fn versions_are_ordered_by_stability_then_number() {
        let mut versions = ["v10", "foo", "v1beta2", "v2", "v1alpha1", "v1beta1"];
        versions.sort_by(|one, other| compare_versions(other, one));
        assert_eq!(versions, ["v10", "v2", "v1beta2", "v1beta1", "v1alpha1", "foo"]);
    }
}
