//! The Go structs behind the types: when a field is written, whether it is a pointer, what its type is called.
//!
//! The API description does not say this. It is read from the sources line by line: one field per line, with its tag.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::openapi::Types;
use crate::Error;
use crate::error::io_error;
use crate::kube::module_sources;

/// All structs and aliases of one Go package.
#[derive(Debug, Default)]
struct Package {
    structs: BTreeMap<String, Vec<Line>>,
    /// Other names of a type: `type A = B`.
    aliases: BTreeMap<String, String>,
}

/// One field of a struct as its line says it.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    /// The name in JSON; empty for an embedded struct.
    name: String,
    /// The type as it is written.
    ty: String,
    omit: Omit,
    /// The number in protobuf, where it has one.
    number: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Omit {
    Empty,
    Zero,
    Never,
}

/// The packages that declare the types.
pub(super) struct Sources {
    roots: Roots,
    packages: BTreeMap<String, Package>,
}

/// Adds `omit`, `pointer`, `go` and `via` to the fields of all types.
pub(super) fn add(types: &mut Types, sources: &Sources) -> Result<(), Error> {
    let packages = &sources.packages;
    for (name, ty) in types.iter_mut() {
        let fields = fields_of(name, packages).ok_or_else(|| missing(name))?;
        for (field, facts) in ty.facts["fields"].as_object_mut().into_iter().flatten() {
            let (line, via, package) =
                fields.get(field).ok_or_else(|| missing(&format!("{name}.{field}")))?;
            describe(facts, line, via, package, packages);
        }
    }
    Ok(())
}

// === impl Sources ===

impl Sources {
    /// Reads the packages of these types.
    pub(super) fn read(types: &Types) -> Result<Self, Error> {
        let roots = Roots::find()?;
        let mut packages: BTreeMap<String, Package> = BTreeMap::new();
        for name in types.keys().filter_map(|name| package_of(name)).chain(["meta.v1", "core.v1"]) {
            if !packages.contains_key(name) {
                packages.insert(name.to_owned(), Package::read(&roots.folder(name))?);
            }
        }
        Ok(Self { roots, packages })
    }

    /// The packages, such as `core.v1`, and where they are.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        self.packages.keys().map(|name| (name.as_str(), self.roots.folder(name)))
    }

    /// The name in JSON of the field with this number in protobuf; empty for an embedded struct.
    pub(super) fn json_name(&self, type_name: &str, number: u32) -> Option<&str> {
        let (package, name) = type_name.rsplit_once('.')?;
        let lines = self.packages.get(package)?.structs.get(name)?;
        lines.iter().find(|line| line.number == Some(number)).map(|line| line.name.as_str())
    }
}

fn missing(what: &str) -> Error {
    Error::Data { from: what.into(), what: "it is not in the Go sources; teach the generator".into() }
}

/// `core.v1` of `core.v1.Pod`.
fn package_of(type_name: &str) -> Option<&str> {
    type_name.rsplit_once('.').map(|(package, _)| package)
}

/// Where the packages are.
struct Roots {
    api: PathBuf,
    machinery: PathBuf,
    extensions: PathBuf,
    aggregator: PathBuf,
}

impl Roots {
    fn find() -> Result<Self, Error> {
        Ok(Self {
            api: module_sources("k8s.io/api")?,
            machinery: module_sources("k8s.io/apimachinery")?,
            extensions: module_sources("k8s.io/apiextensions-apiserver")?,
            aggregator: module_sources("k8s.io/kube-aggregator")?,
        })
    }

    /// The folder of `core.v1`.
    fn folder(&self, package: &str) -> PathBuf {
        let path = package.replace('.', "/");
        match package.split('.').next() {
            Some("meta") => self.machinery.join("pkg/apis").join(path),
            Some("apiextensions") => self.extensions.join("pkg/apis").join(path),
            Some("apiregistration") => self.aggregator.join("pkg/apis").join(path),
            _ => self.api.join(path),
        }
    }
}

/// The fields of a struct by their name in JSON, those of embedded structs included: line, embedded path, package.
type Fields = BTreeMap<String, (Line, String, String)>;

fn fields_of(type_name: &str, packages: &BTreeMap<String, Package>) -> Option<Fields> {
    let (package, name) = type_name.rsplit_once('.')?;
    let mut fields = Fields::new();
    collect(package, name, "", packages, &mut fields)?;
    Some(fields)
}

fn collect(
    package: &str,
    name: &str,
    via: &str,
    packages: &BTreeMap<String, Package>,
    fields: &mut Fields,
) -> Option<()> {
    for line in packages.get(package)?.structs.get(name)? {
        if line.name.is_empty() {
            let (package, name) = match line.ty.split_once('.') {
                Some(("metav1", name)) => ("meta.v1", name),
                Some(("v1" | "corev1", name)) => ("core.v1", name),
                Some(_) => return None,
                None => (package, line.ty.as_str()),
            };
            let via = if via.is_empty() { name.to_owned() } else { format!("{via}.{name}") };
            collect(package, name, &via, packages, fields)?;
        } else {
            fields.insert(line.name.clone(), (line.clone(), via.to_owned(), package.to_owned()));
        }
    }
    Some(())
}

/// Writes down what does not follow from the type.
fn describe(facts: &mut Value, line: &Line, via: &str, package: &str, packages: &BTreeMap<String, Package>) {
    match line.omit {
        Omit::Empty => {}
        Omit::Zero => facts["omit"] = "zero".into(),
        Omit::Never => facts["omit"] = "never".into(),
    }
    let ty = line.ty.strip_prefix('*').unwrap_or(&line.ty);
    if ty.len() < line.ty.len() {
        facts["pointer"] = true.into();
    }
    let go = go_name(ty, package, packages);
    if go != usual_name(facts["type"].as_str().unwrap_or_default()) {
        facts["go"] = go.into();
    }
    // Every object embeds it, and nobody decodes the two fields with the rest.
    if !via.is_empty() && via != "TypeMeta" {
        facts["via"] = via.into();
    }
}

/// A type as Go itself names it: with the name of its package, without aliases.
fn go_name(ty: &str, package: &str, packages: &BTreeMap<String, Package>) -> String {
    for prefix in ["[]", "*", "map[string]"] {
        if let Some(inner) = ty.strip_prefix(prefix) {
            return format!("{prefix}{}", go_name(inner, package, packages));
        }
    }
    if let Some((key, inner)) = ty.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return format!("map[{}]{}", go_name(key, package, packages), go_name(inner, package, packages));
    }
    match ty.split_once('.') {
        // Imports of a version are renamed: `metav1`, `corev1`, `apiv1`.
        Some((renamed, name)) if renamed.ends_with("v1") => format!("v1.{name}"),
        Some(_) => ty.to_owned(),
        None if ty == "byte" => "uint8".into(),
        None if ty.starts_with(char::is_lowercase) => ty.to_owned(),
        None => {
            let alias = packages.get(package).and_then(|package| package.aliases.get(ty));
            let version = package.split('.').next_back().unwrap_or_default();
            format!("{version}.{}", alias.map_or(ty, String::as_str))
        }
    }
}

/// The name that `lockstep_schema::FieldType::go_name` gives.
fn usual_name(word: &str) -> String {
    if let Some(inner) = word.strip_prefix("[]") {
        return format!("[]{}", usual_name(inner));
    }
    if let Some(inner) = word.strip_prefix("{}") {
        return format!("map[string]{}", usual_name(inner));
    }
    match word {
        "bytes" => "[]uint8".into(),
        "time" => "v1.Time".into(),
        "integer" => "int32".into(),
        "number" => "float64".into(),
        "boolean" => "bool".into(),
        "quantity" => "resource.Quantity".into(),
        "int-or-string" => "intstr.IntOrString".into(),
        "object" => "runtime.RawExtension".into(),
        "any" => "v1.JSON".into(),
        other => other.split_once('.').map_or(other, |(_, rest)| rest).into(),
    }
}

// === impl Package ===

impl Package {
    fn read(folder: &Path) -> Result<Self, Error> {
        let mut package = Self::default();
        let doing = || format!("listing `{}`", folder.display());
        for entry in fs::read_dir(folder).map_err(io_error(doing()))? {
            let path = entry.map_err(io_error(doing()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // The other files hold no types of the API, or the same ones again.
            if name.ends_with(".go") && name.starts_with("types") && !name.contains("swagger") {
                let source = fs::read_to_string(&path);
                package.add(&source.map_err(io_error(format!("reading `{}`", path.display())))?);
            }
        }
        Ok(package)
    }

    fn add(&mut self, source: &str) {
        let mut open: Option<String> = None;
        for line in source.lines() {
            if let Some(rest) = line.strip_prefix("type ") {
                if let Some(name) = rest.strip_suffix(" struct {") {
                    self.structs.entry(name.to_owned()).or_default();
                    open = Some(name.to_owned());
                } else if let Some(name) = rest.strip_suffix(" struct{}") {
                    self.structs.insert(name.to_owned(), Vec::new());
                } else if let Some((name, other)) = rest.split_once(" = ") {
                    self.aliases.insert(name.to_owned(), other.trim().to_owned());
                }
            } else if line == "}" {
                open = None;
            } else if let (Some(name), Some(field)) = (&open, Line::parse(line)) {
                self.structs.entry(name.clone()).or_default().push(field);
            }
        }
    }
}

// === impl Line ===

impl Line {
    /// A line such as ``Name string `json:"name,omitempty"` ``.
    fn parse(line: &str) -> Option<Self> {
        let (before, tags) = line.trim().split_once('`')?;
        let (_, tag) = tags.split_once("json:\"")?;
        let (tag, _) = tag.split_once('"')?;
        let mut options = tag.split(',');
        let name = options.next()?;
        let options: Vec<&str> = options.collect();
        let words: Vec<&str> = before.split_whitespace().collect();
        if words.first().is_none_or(|word| word.starts_with("//")) || name == "-" {
            return None;
        }
        let has = |option: &str| options.contains(&option);
        let omit = match (has("omitzero"), has("omitempty")) {
            (true, _) => Omit::Zero,
            (false, true) => Omit::Empty,
            (false, false) => Omit::Never,
        };
        let number = tags
            .split_once("protobuf:\"")
            .and_then(|(_, tag)| tag.split(',').nth(1))
            .and_then(|number| number.parse().ok());
        Some(Self { name: name.to_owned(), ty: (*words.last()?).to_owned(), omit, number })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SOURCE: &str = r#"
type Policy string
type OldPolicy = Policy
type Inner struct {
	// Mode is `json:"not,this"`.
	Mode *int64 `json:"mode,omitempty" protobuf:"varint,1,opt,name=mode"`
}
type Outer struct {
	metav1.TypeMeta `json:",inline"`
	Inner `json:",inline" protobuf:"bytes,1,opt,name=inner"`
	// Old string `json:"old,omitempty"`
	Items []Inner `json:"items" protobuf:"bytes,2,rep,name=items"`
	When  metav1.MicroTime `json:"when,omitempty,omitzero"`
	Policy OldPolicy `json:"policy,omitempty"`
}
"#;

    fn described() -> Value {
        let mut package = Package::default();
        package.add(SOURCE);
        let mut meta = Package::default();
        meta.add("type TypeMeta struct {\n\tKind string `json:\"kind,omitempty\"`\n}\n");
        let packages = BTreeMap::from([("a.v1".to_owned(), package), ("meta.v1".to_owned(), meta)]);
        let fields = fields_of("a.v1.Outer", &packages).unwrap();
        let mut facts = json!({
            "kind": {"type": "string"}, "mode": {"type": "integer"}, "items": {"type": "[]a.v1.Inner"},
            "when": {"type": "time"}, "policy": {"type": "string"},
        });
        assert_eq!(fields.len(), 5);
        for (name, facts) in facts.as_object_mut().unwrap() {
            let (line, via, package) = &fields[name];
            describe(facts, line, via, package, &packages);
        }
        facts
    }

    #[test]
    fn only_what_does_not_follow_from_the_type_is_written_down() {
        assert_eq!(
            described(),
            json!({
                "kind": {"type": "string"},
                "mode": {"type": "integer", "pointer": true, "go": "int64", "via": "Inner"},
                "items": {"type": "[]a.v1.Inner", "omit": "never"},
                "when": {"type": "time", "omit": "zero", "go": "v1.MicroTime"},
                "policy": {"type": "string", "go": "v1.Policy"},
            })
        );
    }

    #[test]
    fn a_field_has_its_number_of_protobuf() {
        let line =
            Line::parse("Items []Inner `json:\"items\" protobuf:\"bytes,2,rep,name=things\"`").unwrap();
        assert_eq!((line.name.as_str(), line.number), ("items", Some(2)));
        assert_eq!(Line::parse("Inner `json:\",inline\"`").unwrap().number, None);
    }

    #[test]
    fn a_comment_is_no_field() {
        assert_eq!(Line::parse("\t// Old string `json:\"old,omitempty\"`"), None);
        assert_eq!(Line::parse("}"), None);
    }
}
