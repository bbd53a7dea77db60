//! What is known about kinds, types and fields.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A served kind.
#[derive(Debug)]
pub struct Kind {
    /// The group and version as a manifest writes them: `v1`, `apps/v1`.
    pub api_version: &'static str,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version within the group.
    pub version: &'static str,
    /// The name of the kind, such as `Deployment`.
    pub kind: &'static str,
    /// The name of its resource in addresses, such as `deployments`.
    pub plural: &'static str,
    /// The resource name for one object, such as `deployment`.
    pub singular: &'static str,
    /// The abbreviations that `kubectl` takes.
    pub short_names: Vec<&'static str>,
    /// The groups of resources it belongs to, such as `all`.
    pub categories: Vec<&'static str>,
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
    /// What can be done with it, such as `list`.
    pub verbs: Vec<&'static str>,
    /// Its subresources by name.
    pub subresources: BTreeMap<&'static str, Subresource>,
    /// The name of the type of whole objects.
    pub type_name: &'static str,
}

/// A part of an object with an address of its own, such as `status`.
#[derive(Debug)]
pub struct Subresource {
    /// What can be done with it.
    pub verbs: Vec<&'static str>,
    /// Its kind, where it is not that of the whole object.
    pub kind: Option<ApiKind>,
    /// The name of its type, where it has another kind that is described.
    pub type_name: Option<&'static str>,
}

/// A kind by its names alone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKind {
    /// The group and version, such as `apps/v1`.
    pub api_version: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
}

/// A kind that Kubernetes does not serve any more.
#[derive(Debug)]
pub struct Removed {
    /// The first release without it, such as `1.25`.
    pub in_version: &'static str,
    /// What takes its place, if anything does; it is served.
    pub replacement: Option<ApiKind>,
}

/// A struct: a fixed set of named fields.
#[derive(Debug)]
pub struct Type {
    /// Its name, such as `core.v1.Container`.
    pub name: &'static str,
    /// All declared fields by name.
    pub fields: BTreeMap<&'static str, Field>,
    /// Whether appliers own its fields one by one or as a whole.
    pub map: MapType,
    /// Fields that exclude each other.
    pub unions: Vec<Union>,
}

/// A set of fields of which at most one may be set.
#[derive(Debug, Deserialize)]
pub struct Union {
    /// The field that says which one is set, if there is such a field.
    #[serde(default)]
    pub discriminator: Option<&'static str>,
    /// The fields, each with the value that the discriminator has for it.
    #[serde(rename = "fields-to-discriminateBy", borrow)]
    pub fields: BTreeMap<&'static str, &'static str>,
}

/// One declared field of a struct.
#[derive(Debug)]
pub struct Field {
    /// What its value is.
    pub ty: FieldType,
    /// How the lists of two appliers are merged; [`ListType::Atomic`] as well when it is no list.
    pub list: ListType,
    /// How the maps or structs of two appliers are merged, as the field itself says; its type may say more.
    pub map: MapType,
    /// How a strategic merge patch treats it; empty means replace.
    pub patch: Vec<PatchStrategy>,
    /// The field that tells entries apart in a strategic merge patch.
    pub merge_key: Option<&'static str>,
    /// The default that the server publishes.
    pub default: Option<Value>,
    /// Whether an object without it is refused.
    pub required: bool,
    /// When the server leaves it out of what it writes.
    pub omit: Omit,
    /// Whether the server tells a zero value from a missing one; lists, maps and bytes never do.
    pub pointer: bool,
    /// The name of its type in the server's error messages, where it is not [`FieldType::go_name`].
    pub go: Option<&'static str>,
    /// The embedded struct that declares it, which the server's error messages name in the path.
    pub via: Option<&'static str>,
}

/// When a field is left out of what the server writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omit {
    /// When it is missing, an empty list or map, or a zero scalar; structs, times and quantities are always written.
    Empty,
    /// When it is zero, also as a struct or a time.
    Zero,
    /// Never: a missing value is written as null, zero or a struct of such values.
    Never,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Text.
    String,
    /// Bytes, written as base64.
    Bytes,
    /// A point in time, written as RFC 3339 text.
    Time,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A quantity such as `100m`; numbers are taken too.
    Quantity,
    /// A whole number or text, such as a port and its name.
    IntOrString,
    /// An object with fields that nobody declares.
    Object,
    /// Any value.
    Any,
    /// A list of one type.
    List(Box<FieldType>),
    /// A map from text to one type.
    Map(Box<FieldType>),
    /// The struct of this name, see [`Schema::ty`](crate::Schema::ty).
    Struct(&'static str),
}

/// How server-side apply merges a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListType {
    /// One owner for the whole list; what a list without a rule is.
    Atomic,
    /// Scalars, each with its owners.
    Set,
    /// Objects, told apart by these fields, each with its owners.
    Map(Vec<&'static str>),
}

/// How server-side apply merges a map or a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    /// Every key has its owners; what a map without a rule is.
    Granular,
    /// One owner for all of it.
    Atomic,
}

/// What a strategic merge patch does with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchStrategy {
    /// Lists are merged by [`Field::merge_key`], lists of scalars as sets.
    Merge,
    /// The patch replaces the value.
    Replace,
    /// Keys that the patch does not name are cleared.
    RetainKeys,
}

// === impl Kind ===

impl Kind {
    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.get(name)
    }
}

// === impl Type ===

impl Type {
    /// The declared field of this name; names are case-sensitive, as in the server's strict decoding.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(name)
    }
}

// === impl FieldType ===

impl FieldType {
    /// The type inside all lists and maps: of `[]{}string` it is `string`.
    pub fn element(&self) -> &Self {
        match self {
            Self::List(inner) | Self::Map(inner) => inner.element(),
            other => other,
        }
    }

    /// The name that the server's error messages have for it, unless the field says another.
    pub fn go_name(&self) -> String {
        match self {
            Self::String => "string".into(),
            Self::Bytes => "[]uint8".into(),
            Self::Time => "v1.Time".into(),
            Self::Integer => "int32".into(),
            Self::Number => "float64".into(),
            Self::Boolean => "bool".into(),
            Self::Quantity => "resource.Quantity".into(),
            Self::IntOrString => "intstr.IntOrString".into(),
            Self::Object => "runtime.RawExtension".into(),
            Self::Any => "v1.JSON".into(),
            Self::List(inner) => format!("[]{}", inner.go_name()),
            Self::Map(inner) => format!("map[string]{}", inner.go_name()),
            Self::Struct(name) => name.split_once('.').map_or(*name, |(_, rest)| rest).into(),
        }
    }

    /// The name of the struct, when it is one.
    pub fn struct_name(&self) -> Option<&'static str> {
        match self {
            Self::Struct(name) => Some(name),
            _ => None,
        }
    }
}
