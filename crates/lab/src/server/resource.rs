//! What is special about the objects of one resource: how they are read, filled in, checked and kept.
//!
//! The verbs know no kinds. Everything that depends on the kind goes through [`Resource`], which asks `builtin` for a kind
//! of Kubernetes itself and `crd` for a kind that a CRD defines.

mod events;
mod names;
mod reading;
mod storing;

use std::sync::Arc;

use lockstep_schema::{Kind, Schema};
use serde_json::{Value, json};

pub(crate) use names::{Names, SubresourceNames};

use super::core::{Call, Core};
use crate::builtin::strategy::deletion::{self, DefaultPropagation};
use crate::builtin::strategy::{self, Context, admission, rules, selectable, warnings};
use crate::builtin::validate;
use crate::crd::custom::{self, Part};
use crate::crd::definition::{self, Definition, Version};
use crate::crd::lifecycle;
use crate::fields::{self, FieldSet, TypeRef, Types};
use crate::meta;
use crate::status::{FieldError, GroupName, Status};
use crate::store::{Key, TableName};

/// One served version of a resource.
pub(crate) struct Resource {
    /// Its names.
    pub names: Names,
    /// Where its objects are.
    pub table: TableName,
    sort: Sort,
}

/// Where a resource comes from.
enum Sort {
    Builtin(&'static Kind),
    Custom(Custom),
}

/// A version of a resource that a CRD defines.
struct Custom {
    definition: Arc<Definition>,
    version: Arc<Version>,
    types: Types,
    is_terminating: bool,
    /// How often the definition had been changed.
    generation: Option<i64>,
    /// Objects that were stored up to this version of the store may have the form of other schemas.
    since: u64,
}

/// Who writes, and which part of the object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manager<'a> {
    /// The name.
    pub name: &'a str,
    /// The part; empty for the object itself.
    pub subresource: &'a str,
}

/// Kinds whose deletion answers with the object instead of a `Status`.
const RETURNS_DELETED: [(&str, &str); 20] = [
    ("", "namespaces"),
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("resource.k8s.io", "resourcepoolstatusrequests"),
    ("resource.k8s.io", "resourceslices"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("storage.k8s.io", "volumeattributesclasses"),
    ("test.k8s.io", "carps"),
];

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

// === impl Resource ===

impl Resource {
    /// All built-in kinds.
    pub(crate) fn builtin() -> impl Iterator<Item = Self> {
        Schema::builtin().kinds().map(|kind| Self {
            names: Names::of_kind(kind),
            table: events::table(kind).unwrap_or_else(|| TableName::new(kind.group, kind.plural)),
            sort: Sort::Builtin(kind),
        })
    }

    /// The served versions of a CRD; `previous` is one of those that were served until now, `revision` the version of the
    /// store.
    pub(crate) fn custom(
        crd: &Value,
        definition: &Arc<Definition>,
        previous: Option<&Self>,
        revision: u64,
    ) -> Vec<Self> {
        let is_terminating = crd["metadata"].get("deletionTimestamp").is_some();
        let generation = crd["metadata"]["generation"].as_i64();
        let since = match previous.map(|previous| &previous.sort) {
            Some(Sort::Custom(previous)) if previous.generation == generation => previous.since,
            _ => revision,
        };
        let served = definition.versions.iter().filter(|version| version.served);
        served
            .map(|version| {
                let schemas = crd["spec"]["versions"].as_array().into_iter().flatten();
                let schema = schemas.clone().find(|it| it["name"] == version.name.as_str());
                let schema = schema.map_or(&Value::Null, |it| &it["schema"]["openAPIV3Schema"]);
                let types = fields::custom_types(schema);
                Self::of_version(
                    definition,
                    version,
                    Custom {
                        definition: Arc::clone(definition),
                        version: Arc::clone(version),
                        types,
                        is_terminating,
                        generation,
                        since,
                    },
                )
            })
            .collect()
    }

    /// The stored version of a CRD that serves none, for the deletion of what is left of it.
    pub(crate) fn of_stored(crd: &Value) -> Option<Self> {
        let definition = Arc::new(Definition::parse(crd).ok()?);
        let version = Arc::clone(definition.storage()?);
        Some(Self::of_version(
            &definition,
            &version,
            Custom {
                definition: Arc::clone(&definition),
                version: Arc::clone(&version),
                types: fields::custom_types(&Value::Null),
                is_terminating: true,
                generation: None,
                since: 0,
            },
        ))
    }

    fn of_version(definition: &Definition, version: &Version, custom: Custom) -> Self {
        Self {
            names: Names::of_version(definition, version),
            table: TableName::new(&definition.group, &definition.names.plural),
            sort: Sort::Custom(custom),
        }
    }

    /// The resource as messages name it.
    pub(crate) fn group_name(&self) -> GroupName<'_> {
        // NB: the errors of this one kind have its singular.
        let plural = self.names.plural.as_str();
        let name =
            if plural == "componentstatuses" && !self.names.is_custom { "componentstatus" } else { plural };
        GroupName { group: &self.names.group, name }
    }

    /// 404: there is no such part of an object.
    pub(crate) fn no_such_part(&self, name: &str) -> Status {
        match &self.sort {
            Sort::Builtin(_) => Status::no_such_resource(),
            // NB: for a custom resource the real server says that the object is not there.
            Sort::Custom(_) => Status::not_found(self.group_name(), name),
        }
    }

    /// What every answer warns of when this version is on its way out.
    pub(crate) fn deprecation(&self) -> Option<&str> {
        match &self.sort {
            Sort::Builtin(kind) => warnings::deprecation(kind),
            Sort::Custom(custom) => custom.version.deprecation.as_deref(),
        }
    }

    /// What is allowed about a new or changed object, but not wise.
    pub(crate) fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match &self.sort {
            Sort::Builtin(_) if self.is_definition() => definition::warnings(new, old),
            Sort::Builtin(kind) => warnings::warnings(kind, new, old),
            Sort::Custom(_) => Vec::new(),
        }
    }

    /// The kind as messages name it.
    pub(crate) fn group_kind(&self) -> GroupName<'_> {
        GroupName { group: &self.names.group, name: &self.names.kind }
    }

    /// The built-in kind, unless a CRD defines it.
    pub(crate) fn kind(&self) -> Option<&'static Kind> {
        match &self.sort {
            Sort::Builtin(kind) => Some(kind),
            Sort::Custom(_) => None,
        }
    }

    /// The version of a CRD that defines it.
    pub(crate) fn version(&self) -> Option<&Version> {
        match &self.sort {
            Sort::Builtin(_) => None,
            Sort::Custom(custom) => Some(&custom.version),
        }
    }

    /// How its values merge.
    fn ty(&self) -> TypeRef<'_> {
        match &self.sort {
            Sort::Builtin(kind) => fields::builtin_type(kind),
            Sort::Custom(custom) => custom.types.root(),
        }
    }

    /// The fields that a write through a part of the object does not touch.
    fn reset_fields(&self, subresource: &str) -> FieldSet {
        match &self.sort {
            Sort::Builtin(kind) => FieldSet::of_names(rules::reset_fields(kind, subresource)),
            Sort::Custom(custom) => {
                FieldSet::of_names(custom::reset_fields(&custom.version, part(subresource)))
            }
        }
    }

    /// Writes into a changed object who owns which of its fields.
    pub(crate) fn track(&self, old: Option<&Value>, new: &mut Value, manager: Manager<'_>, now: &str) {
        let api_version = self.names.api_version();
        let by = fields::Manager {
            name: manager.name,
            api_version: &api_version,
            subresource: manager.subresource,
        };
        fields::update(self.ty(), old, new, &by, now, &self.reset_fields(manager.subresource));
    }

    /// What an applied configuration makes of an object.
    pub(crate) fn apply(
        &self,
        live: Option<&Value>,
        patch: &Value,
        manager: Manager<'_>,
        force: bool,
        now: &str,
    ) -> Result<Value, Status> {
        let api_version = self.names.api_version();
        let by = fields::Manager {
            name: manager.name,
            api_version: &api_version,
            subresource: manager.subresource,
        };
        let reset = self.reset_fields(manager.subresource);
        fields::apply(self.ty(), live, patch, &by, force, now, &reset).map_err(Into::into)
    }

    /// An object with nothing in it, as bookmarks carry it.
    pub(crate) fn empty_object(&self) -> Value {
        let bare = json!({"kind": self.names.kind, "apiVersion": self.names.api_version(), "metadata": {}});
        match &self.sort {
            Sort::Builtin(kind) => {
                crate::builtin::decode::decode(kind, bare.clone()).map_or(bare, |decoded| decoded.object)
            }
            Sort::Custom(_) => bare,
        }
    }

    /// Refuses a field that objects cannot be selected by.
    pub(crate) fn check_selectable(&self, label: &str) -> Result<(), String> {
        match &self.sort {
            Sort::Builtin(kind) => selectable::field_value(kind, label, &Value::Null).map(drop),
            Sort::Custom(custom) => {
                let mut known = custom::selectable_fields(&custom.version, &Value::Null).into_iter();
                match known.find(|(name, _)| name == label) {
                    Some(_) => Ok(()),
                    None => Err(format!("field label not supported: {label}")),
                }
            }
        }
    }

    /// The value of a field that objects can be selected by.
    pub(crate) fn field_value(&self, label: &str, object: &Value) -> String {
        match &self.sort {
            Sort::Builtin(kind) => selectable::field_value(kind, label, object).unwrap_or_default(),
            Sort::Custom(custom) => {
                let fields = custom::selectable_fields(&custom.version, object).into_iter();
                fields.filter(|(name, _)| name == label).map(|(_, value)| value).next().unwrap_or_default()
            }
        }
    }

    /// Whether replacing an object that is not there creates it.
    pub(crate) fn creates_on_update(&self) -> bool {
        self.kind().is_some_and(rules::creates_on_update)
    }

    /// Whether replacing an object needs to say which version of it.
    pub(crate) fn needs_version(&self) -> bool {
        match &self.sort {
            Sort::Builtin(kind) => rules::needs_resource_version_for_update(kind),
            Sort::Custom(_) => true,
        }
    }

    /// Whether the answer to a deletion is the object.
    pub(crate) fn returns_deleted(&self) -> bool {
        RETURNS_DELETED.contains(&(&self.names.group, &self.names.plural))
    }

    /// How many seconds of grace an object gets; `None` when its kind knows no grace.
    pub(crate) fn grace(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        self.kind().and_then(|kind| deletion::graceful_deletion(kind, object, asked))
    }

    /// Whether its objects can take their time to leave.
    pub(crate) fn is_graceful(&self) -> bool {
        self.names.group.is_empty() && self.names.plural == "pods"
    }

    /// What happens to dependents when nobody says.
    pub(crate) fn default_propagation(&self) -> DefaultPropagation {
        self.kind().map_or(DefaultPropagation::Background, deletion::default_propagation)
    }

    /// Whether something besides its finalizers keeps a deleted object: a namespace has finalizers of its own.
    pub(crate) fn is_held(&self, object: &Value) -> bool {
        self.is_namespace() && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
    }

    /// Writes into an object that its deletion has begun.
    pub(crate) fn mark_deleted(&self, object: &mut Value) {
        if self.is_namespace() {
            object["status"]["phase"] = "Terminating".into();
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("deletionGracePeriodSeconds");
            }
        }
    }

    /// Refuses the deletion of what every cluster needs.
    pub(crate) fn check_delete(&self, key: &Key) -> Result<(), Status> {
        if self.is_namespace() && IMMORTAL.contains(&key.name()) {
            return Err(Status::forbidden(
                self.group_name(),
                key.name(),
                "this namespace may not be deleted",
            ));
        }
        Ok(())
    }

    /// Whether its objects are CRDs.
    pub(crate) fn is_definition(&self) -> bool {
        self.names.group == "apiextensions.k8s.io" && self.names.plural == "customresourcedefinitions"
    }

    fn is_namespace(&self) -> bool {
        self.names.group.is_empty() && self.names.plural == "namespaces"
    }

    /// Fills in what admission adds to a new object.
    pub(crate) fn admit_create(&self, core: &Core, object: &mut Value) -> Result<(), Status> {
        match &self.sort {
            Sort::Builtin(kind) => {
                let list = |group: &str, plural: &str| list_all(core, group, plural);
                admission::admit_create(kind, object, &list).map_err(|why| self.forbidden(object, &why))
            }
            Sort::Custom(custom) if custom.is_terminating => {
                let why = "create not allowed while custom resource definition is terminating";
                Err(self.forbidden(object, why))
            }
            Sort::Custom(_) => Ok(()),
        }
    }

    /// Fills in what admission adds to a changed object.
    pub(crate) fn admit_update(&self, core: &Core, new: &mut Value, old: &Value) -> Result<(), Status> {
        let Sort::Builtin(kind) = &self.sort else { return Ok(()) };
        let list = |group: &str, plural: &str| list_all(core, group, plural);
        admission::admit_update(kind, new, old, &list).map_err(|why| self.forbidden(new, &why))
    }

    fn forbidden(&self, object: &Value, why: &str) -> Status {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Status::forbidden(self.group_name(), name, why)
    }

    /// Makes a new object ready to be checked.
    pub(crate) fn prepare_create(
        &self,
        core: &mut Core,
        call: &Call<'_>,
        object: &mut Value,
    ) -> Result<(), Status> {
        match &self.sort {
            Sort::Builtin(_) if self.is_definition() => {
                lifecycle::prepare_create(object);
                Ok(())
            }
            Sort::Builtin(kind) => {
                let mut context = Context { now: &call.now, user: call.user, services: &mut core.services };
                strategy::prepare_create(kind, object, &mut context)
                    .map_err(|errors| self.invalid(object, &errors))
            }
            Sort::Custom(custom) => {
                custom::prepare_create(&custom.version, object);
                Ok(())
            }
        }
    }

    /// Makes a changed object ready to be checked.
    pub(crate) fn prepare_update(
        &self,
        core: &mut Core,
        call: &Call<'_>,
        subresource: &str,
        new: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        match &self.sort {
            Sort::Builtin(_) if self.is_definition() => {
                match subresource {
                    "" => lifecycle::prepare_update(new, old),
                    _ => lifecycle::prepare_status_update(new, old),
                }
                strategy::keep_system_fields(new, old);
                Ok(())
            }
            Sort::Builtin(kind) => {
                let mut context = Context { now: &call.now, user: call.user, services: &mut core.services };
                strategy::prepare_update(kind, subresource, new, old, &mut context)
                    .map_err(|errors| self.invalid(new, &errors))
            }
            Sort::Custom(custom) => {
                custom::prepare_update(&custom.version, part(subresource), new, old);
                strategy::keep_system_fields(new, old);
                Ok(())
            }
        }
    }

    fn invalid(&self, object: &Value, errors: &[FieldError]) -> Status {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Status::invalid(self.kind_of(object), name, errors)
    }

    /// What is wrong with a new object.
    pub(crate) fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        match &self.sort {
            Sort::Builtin(kind) => {
                let mut errors = validate::validate_create(kind, object);
                if self.is_definition() {
                    errors.extend(definition::validate(object, None));
                }
                errors
            }
            Sort::Custom(custom) => {
                let errors =
                    meta::validate_meta_create(object, self.names.namespaced, meta::NameRule::Subdomain);
                custom::validate(&custom.version, Part::Main, object, None, embedded_meta, errors)
            }
        }
    }

    /// What is wrong with a changed object.
    pub(crate) fn validate_update(&self, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
        match &self.sort {
            Sort::Builtin(kind) => {
                let mut errors = validate::validate_update(kind, subresource, new, old);
                if self.is_definition() && subresource.is_empty() {
                    errors.extend(definition::validate(new, Some(old)));
                }
                errors
            }
            Sort::Custom(custom) => {
                let errors = meta::validate_meta_update(new, old, self.names.namespaced);
                custom::validate(&custom.version, part(subresource), new, Some(old), embedded_meta, errors)
            }
        }
    }
}

/// Checks the metadata of a resource inside another one.
fn embedded_meta(object: &Value, path: &str) -> Vec<FieldError> {
    let is_namespaced = object["metadata"].get("namespace").is_some();
    let mut errors = meta::validate_meta_create(object, is_namespaced, meta::NameRule::PathSegment);
    for error in &mut errors {
        error.field = error.field.replacen("metadata", path, 1);
    }
    errors
}

fn part(subresource: &str) -> Part {
    if subresource == "status" { Part::Status } else { Part::Main }
}

fn list_all(core: &Core, group: &str, plural: &str) -> Vec<Value> {
    let objects = core.store.objects(&TableName::new(group, plural), "");
    objects.into_iter().map(|(_, object)| Value::clone(&object)).collect()
}
