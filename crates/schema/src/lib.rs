//! Structural facts of the built-in Kubernetes kinds.
//!
//! What a real API server says about its own kinds, as one data file inside the crate: which kinds are served and under
//! which names, what their fields are, how lists and maps merge, and which API versions are gone. Nothing here does any
//! I/O; the file is parsed on the first use of [`Schema::builtin`]. A second file, parsed on the first use of [`Message::of`], says how
//! the types are written in protobuf.
//!
//! ```
//! use lockstep_schema::{ListType, Schema};
//!
//! let schema = Schema::builtin();
//! let deployment = schema.kind("apps/v1", "Deployment").expect("it is built in");
//! assert!(deployment.namespaced);
//! let containers = schema.field(deployment, "spec.template.spec.containers").expect("it is declared");
//! assert_eq!(containers.list, ListType::Map(vec!["name"]));
//! ```
//!
//! # The data
//!
//! `data/kinds.json` is written by `cargo xtask schema` and never by hand; `cargo xtask schema --check` compares it with
//! a fresh one. One line per kind, type and removal:
//!
//! | part | content |
//! |---|---|
//! | `format` | the version of this form, 1 |
//! | `kubernetes` | the version of the server that was asked |
//! | `kinds[]` | `group` (empty for the core), `version`, `kind`, `plural`, `singular`, `short` names, `categories`, `namespaced`, `verbs`, `type` (the name of its root type), `subresources` by name, each with `verbs` and, where it is not that of its parent, `kind`, `apiVersion` (missing: that of its parent) and `type` |
//! | `types` | by name, such as `core.v1.Container`: `fields`, `required` names, `map: atomic` for a struct that is replaced as a whole, `unions` |
//! | `types.*.fields` | by name: `type`, and where they apply `list` (`atomic`, `set`, `map`), `keys` of a `map` list, `map: atomic`, `patch` strategies and `mergeKey` of the strategic merge patch, `default` |
//! | | from the Go structs: `omit` (`never`, `zero`; missing: when empty), `pointer: true` where zero and missing differ, `go` (the name of its type in error messages, where it does not follow from `type`: `int64`, `v1.PullPolicy`, `v1.MicroTime`), `via` (the embedded struct that declares it) |
//! | `removed[]` | `apiVersion`, `kind`, the release it was removed `in`, its `replacement` or null |
//!
//! A type is one word. `string`, `bytes` (base64), `time`, `integer`, `number`, `boolean`, `quantity` and `int-or-string` are
//! scalars; `object` is any object and `any` is any value, neither is looked into. A word with dots is the name of a type.
//! `[]` before a word makes a list of it, `{}` a map from strings to it.
//!
//! A default is what the server publishes; defaults that it computes in code (such as `replicas: 1` of a Deployment) are not
//! published and not here. An empty default (`""`, `{}`) says that the server always writes the field.
//!
//! `data/protobuf.json` comes from the same command, one line per message: `format`, `kubernetes`, and `messages` by the name of their
//! type. A message is a text of fields, each `NUMBER:NAME:TYPE`; the name is that in JSON and empty for an embedded struct. A type
//! is one word as above, with the names of protobuf for numbers (`int32`, `int64`, `double`) and some more words for messages that are
//! no object in JSON, see [`WireType`].
//!
//! `data/removed.json` has the same form as `removed[]`. It is written by hand, for versions whose types are gone even from
//! the sources of Kubernetes; where both have an entry this one counts.

mod data;
mod model;
mod protobuf;
mod undeclared;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use model::{
    ApiKind, Field, FieldType, Kind, ListType, MapType, Omit, PatchStrategy, Removed, Subresource, Type,
    Union,
};
pub use protobuf::{Message, MessageField, Shape, WireType};
pub use undeclared::FieldPath;

/// The built-in kinds of one version of Kubernetes.
#[derive(Debug, Default)]
pub struct Schema {
    /// The version of Kubernetes that this describes, such as `v1.36.3`.
    pub kubernetes: &'static str,
    kinds: ByName<Kind>,
    types: BTreeMap<&'static str, Type>,
    removed: ByName<Removed>,
}

/// Something per API version and kind.
type ByName<T> = BTreeMap<&'static str, BTreeMap<&'static str, T>>;

static BUILTIN: LazyLock<Schema> = LazyLock::new(|| {
    data::parse(include_str!("../data/kinds.json"), include_str!("../data/removed.json"))
        .expect("invariant: the data files of this crate are well-formed, a test reads them")
});

// === impl Schema ===

impl Schema {
    /// The kinds of the Kubernetes version that this crate was generated from.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The served kind of this API version (`v1`, `apps/v1`) and name.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        self.kinds.get(api_version)?.get(kind)
    }

    /// All served kinds, in the order of API version and kind.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.values().flat_map(BTreeMap::values)
    }

    /// Whether an API group is one of Kubernetes' own, served now or in the past; the core group is empty.
    pub fn is_builtin_group(&self, group: &str) -> bool {
        self.kinds.keys().chain(self.removed.keys()).any(|api_version| group_of(api_version) == group)
    }

    /// When and for what a kind was removed that Kubernetes served once; nothing for what it serves now.
    pub fn removed(&self, api_version: &str, kind: &str) -> Option<&Removed> {
        self.removed.get(api_version)?.get(kind)
    }

    /// The struct type of this name, such as `core.v1.Container`.
    pub fn ty(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }

    /// The type of whole objects of a kind.
    pub fn root(&self, kind: &Kind) -> Option<&Type> {
        self.ty(kind.type_name)
    }

    /// The field at a path of field names, through lists and maps: `spec.template.spec.containers.ports`.
    pub fn field(&self, kind: &Kind, path: &str) -> Option<&Field> {
        let mut ty = self.root(kind);
        let mut found = None;
        for name in path.split('.') {
            let field = ty?.field(name)?;
            ty = field.ty.element().struct_name().and_then(|name| self.ty(name));
            found = Some(field);
        }
        found
    }
}

/// The group of an API version: what stands before the slash.
fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;

    fn field(api_version: &str, kind: &str, path: &str) -> &'static Field {
        let schema = Schema::builtin();
        let kind = schema.kind(api_version, kind).expect("kind");
        schema.field(kind, path).expect("field")
    }

    #[test]
    fn scope_and_names_come_from_discovery() {
        let schema = Schema::builtin();
        let namespace = schema.kind("v1", "Namespace").unwrap();
        assert!(!namespace.namespaced);
        assert_eq!((namespace.group, namespace.version, namespace.plural), ("", "v1", "namespaces"));
        assert_eq!(namespace.short_names, ["ns"]);
        assert!(schema.kind("apps/v1", "Deployment").unwrap().namespaced);
        assert!(schema.kind("apps/v1", "Namespace").is_none());
        assert!(schema.kind("apps/v1", "deployment").is_none());
        assert!(schema.kind("v1", "ConfigMap").unwrap().verbs.contains(&"watch"));
    }

    #[test]
    fn subresources_say_their_own_kind_only_when_it_is_another() {
        let deployment = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
        assert_eq!(deployment.subresource("status").unwrap().kind, None);
        let scale = deployment.subresource("scale").unwrap().kind.as_ref().unwrap();
        assert_eq!((scale.api_version, scale.kind), ("autoscaling/v1", "Scale"));
        assert!(Schema::builtin().kind("v1", "ConfigMap").unwrap().subresource("status").is_none());
        let exec = Schema::builtin().kind("v1", "Pod").unwrap().subresource("exec").unwrap();
        assert_eq!(exec.kind.as_ref().unwrap().api_version, "v1");
    }

    #[test]
    fn the_go_structs_say_what_is_written_when_it_is_zero() {
        let replicas = field("apps/v1", "Deployment", "spec.replicas");
        assert_eq!((replicas.pointer, replicas.omit, replicas.go), (true, Omit::Empty, None));
        let strategy = field("apps/v1", "Deployment", "spec.strategy");
        assert_eq!((strategy.pointer, strategy.ty.go_name()), (false, "v1.DeploymentStrategy".into()));
        assert_eq!(field("v1", "Pod", "spec.containers").omit, Omit::Never);
        assert_eq!(field("v1", "Pod", "metadata.creationTimestamp").omit, Omit::Zero);
        assert_eq!(field("v1", "Pod", "metadata.generation").go, Some("int64"));
        assert_eq!(field("v1", "Pod", "spec.containers.imagePullPolicy").go, Some("v1.PullPolicy"));
        assert_eq!(field("coordination.k8s.io/v1", "Lease", "spec.renewTime").go, Some("v1.MicroTime"));
        assert_eq!(field("v1", "Pod", "spec.volumes.secret").via, Some("VolumeSource"));
    }

    #[test]
    fn containers_merge_by_name_and_service_ports_by_port_and_protocol() {
        let containers = field("apps/v1", "Deployment", "spec.template.spec.containers");
        assert_eq!(containers.list, ListType::Map(vec!["name"]));
        assert_eq!(containers.merge_key, Some("name"));
        assert_eq!(containers.patch, [PatchStrategy::Merge]);
        assert!(containers.required);
        let ports = field("v1", "Service", "spec.ports");
        assert_eq!(ports.list, ListType::Map(vec!["port", "protocol"]));
        assert_eq!(ports.merge_key, Some("port"));
        assert_eq!(field("v1", "Service", "spec.ports.protocol").default, Some(json!("TCP")));
    }

    #[test]
    fn lists_and_maps_without_a_rule_follow_the_rule_of_the_server() {
        assert_eq!(
            field("apps/v1", "Deployment", "spec.template.spec.containers.args").list,
            ListType::Atomic
        );
        assert_eq!(field("v1", "Pod", "metadata.finalizers").list, ListType::Set);
        assert_eq!(field("v1", "Pod", "metadata.labels").map, MapType::Granular);
        assert_eq!(field("v1", "Pod", "spec.nodeSelector").map, MapType::Atomic);
        assert_eq!(Schema::builtin().ty("core.v1.ObjectReference").unwrap().map, MapType::Atomic);
    }

    #[test]
    fn special_types_are_told_apart() {
        let limits = field("v1", "Pod", "spec.containers.resources.limits");
        assert_eq!(limits.ty, FieldType::Map(Box::new(FieldType::Quantity)));
        assert_eq!(field("v1", "Service", "spec.ports.targetPort").ty, FieldType::IntOrString);
        assert_eq!(field("v1", "Secret", "data").ty, FieldType::Map(Box::new(FieldType::Bytes)));
        assert_eq!(field("v1", "Pod", "metadata.creationTimestamp").ty, FieldType::Time);
    }

    #[test]
    fn unions_name_their_discriminator() {
        let unions = &Schema::builtin().ty("core.v1.SeccompProfile").unwrap().unions;
        assert_eq!(unions[0].discriminator, Some("type"));
        assert_eq!(unions[0].fields["localhostProfile"], "LocalhostProfile");
    }

    #[test]
    fn removed_versions_name_the_release_and_the_replacement() {
        let removed = |api_version, kind| Schema::builtin().removed(api_version, kind);
        let told = |api_version, kind| {
            let removed = removed(api_version, kind).unwrap();
            (removed.in_version, removed.replacement.as_ref().map(|it| (it.api_version, it.kind)))
        };
        assert_eq!(told("extensions/v1beta1", "Deployment"), ("1.16", Some(("apps/v1", "Deployment"))));
        assert_eq!(told("policy/v1beta1", "PodSecurityPolicy"), ("1.25", None));
        assert_eq!(told("batch/v1beta1", "CronJob"), ("1.25", Some(("batch/v1", "CronJob"))));
        assert_eq!(told("autoscaling/v2beta2", "HorizontalPodAutoscaler").0, "1.26");
        assert_eq!(
            told("networking.k8s.io/v1beta1", "IngressClass").1,
            Some(("networking.k8s.io/v1", "IngressClass"))
        );
        assert_eq!(
            told("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema"),
            ("1.26", Some(("flowcontrol.apiserver.k8s.io/v1", "FlowSchema")))
        );
        assert!(removed("apps/v1", "Deployment").is_none());
    }

    #[test]
    fn nothing_is_both_served_and_removed_and_every_replacement_is_served() {
        let schema = Schema::builtin();
        let mut count = 0;
        for (api_version, kinds) in &schema.removed {
            for (kind, removed) in kinds {
                assert!(schema.kind(api_version, kind).is_none(), "{api_version} {kind}");
                if let Some(it) = &removed.replacement {
                    assert!(schema.kind(it.api_version, it.kind).is_some(), "{api_version} {kind}");
                }
                count += 1;
            }
        }
        assert!(count > 50, "{count}");
    }

    #[test]
    fn groups_of_custom_resources_are_not_built_in_whatever_their_name() {
        let schema = Schema::builtin();
        for group in ["", "apps", "rbac.authorization.k8s.io", "extensions"] {
            assert!(schema.is_builtin_group(group), "{group}");
        }
        for group in ["migration.k8s.io", "config.openshift.io", "k8s.io"] {
            assert!(!schema.is_builtin_group(group), "{group}");
        }
    }

    #[test]
    fn every_type_that_is_named_exists() {
        let schema = Schema::builtin();
        for kind in schema.kinds() {
            assert!(schema.root(kind).is_some(), "{} {}", kind.api_version, kind.kind);
        }
        for ty in schema.types.values() {
            for (name, field) in &ty.fields {
                if let Some(target) = field.ty.element().struct_name() {
                    assert!(schema.ty(target).is_some(), "{}.{name}: {target}", ty.name);
                }
            }
        }
    }

    #[test]
    fn the_data_is_parsed_quickly() {
        let start = Instant::now();
        let schema =
            data::parse(include_str!("../data/kinds.json"), include_str!("../data/removed.json")).unwrap();
        // 15 ms is the aim for an optimised build; an unoptimised one on a busy machine gets more.
        assert!(start.elapsed().as_millis() < 1000, "{:?}", start.elapsed());
        assert!(schema.kinds().count() > 50);
    }
}
