//! Which manifests of a release are wanted, as the bytes that the release has.

use std::sync::Arc;

use serde_json::Value;

use lockstep_api::names::file;
use lockstep_payload::file_name::is_manifest;
use lockstep_payload::manifest::read_file;
use lockstep_payload::{Exclusion, Files, FilesError, Folder, Manifest, Selection, yaml};

/// Group and kind of what an operator asks a cloud for.
const CREDENTIALS_GROUP: &str = "cloudcredential.openshift.io";
const CREDENTIALS_KIND: &str = "CredentialsRequest";

/// The clouds, and the kind of what is asked of each.
const CLOUDS: [(&str, &str); 10] = [
    ("alibabacloud", "AlibabaCloudProviderSpec"),
    ("aws", "AWSProviderSpec"),
    ("azure", "AzureProviderSpec"),
    ("gcp", "GCPProviderSpec"),
    ("ibmcloud", "IBMCloudProviderSpec"),
    ("nutanix", "NutanixProviderSpec"),
    ("openstack", "OpenStackProviderSpec"),
    ("ovirt", "OvirtProviderSpec"),
    ("powervs", "IBMCloudPowerVSProviderSpec"),
    ("vsphere", "VSphereProviderSpec"),
];

/// Of which cloud requests for credentials are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Provider {
    /// Of any.
    #[default]
    Any,
    /// Only those with this kind of `spec.providerSpec`.
    Only(&'static str),
    /// None: the platform has no credentials to ask for.
    Nobody,
}

/// What is wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only what a cluster would get.
    pub selection: Option<Selection>,
    /// Only requests for credentials.
    pub credentials_requests: bool,
    /// And of these only those of one cloud.
    pub provider: Provider,
}

/// Files to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Name and content, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that could not be understood, and so are not among them.
    pub problems: Vec<String>,
}

// === impl Provider ===

impl Provider {
    /// The names that `--cloud` takes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CLOUDS.iter().map(|(cloud, _)| *cloud)
    }

    /// Reads the name of a cloud; nothing for one that is not known.
    pub fn of_cloud(cloud: &str) -> Option<Self> {
        CLOUDS.iter().find(|(name, _)| *name == cloud).map(|(_, kind)| Self::Only(kind))
    }

    /// What a platform needs; on one that is no cloud nothing is asked for.
    pub fn of_platform(platform: &str) -> Self {
        Self::of_cloud(platform).unwrap_or(Self::Nobody)
    }
}

// === impl Filter ===

impl Filter {
    fn takes_everything(&self) -> bool {
        self.selection.is_none() && !self.credentials_requests && self.provider == Provider::Any
    }

    fn wants(&self, manifest: &Manifest) -> bool {
        let is_request = manifest.id.group == CREDENTIALS_GROUP && manifest.id.kind == CREDENTIALS_KIND;
        if self.credentials_requests && !is_request {
            return false;
        }
        let is_for_cloud = match self.provider {
            Provider::Any => true,
            Provider::Only(kind) => manifest.object["spec"]["providerSpec"]["kind"] == kind,
            Provider::Nobody => false,
        };
        if is_request && !is_for_cloud {
            return false;
        }
        match self.selection.as_ref().map(|selection| selection.check(manifest)) {
            None | Some(Ok(())) => true,
            // Requests were made before annotations were; an operator that forgot them still needs its credentials.
            Some(Err(Exclusion::NoAnnotations)) => self.credentials_requests,
            Some(Err(_)) => false,
        }
    }
}

/// The wanted files of `release-manifests/`.
///
/// A file of which every document is wanted keeps its bytes; of the others the wanted documents are written anew.
///
/// # Compatibility
/// The reference writes every file anew and YAML into `.json` files, leaves out what is no manifest, and ends well when a
/// file cannot be understood.
///
/// # Errors
/// When the files cannot be listed or read.
pub fn extract(files: &dyn Files, filter: &Filter) -> Result<Extracted, FilesError> {
    let mut names = files.list(Folder::ReleaseManifests)?;
    names.sort();
    let mut found = Extracted::default();
    for name in names {
        let is_special = [file::IMAGE_REFERENCES, file::RELEASE_METADATA].contains(&name.as_str());
        let is_whole = is_special || !is_manifest(&name);
        if is_whole && filter.credentials_requests {
            continue;
        }
        let bytes = files.read(Folder::ReleaseManifests, &name)?;
        if is_whole || filter.takes_everything() {
            found.files.push((name, bytes));
            continue;
        }
        match wanted_part(&name, bytes, filter) {
            Ok(Some(bytes)) => found.files.push((name, bytes)),
            Ok(None) => {}
            Err(problem) => found.problems.push(problem),
        }
    }
    Ok(found)
}

fn wanted_part(name: &str, bytes: Vec<u8>, filter: &Filter) -> Result<Option<Vec<u8>>, String> {
    let all = read_file(Folder::ReleaseManifests, &Arc::from(name), &bytes)
        .map_err(|error| format!("error parsing {name}: {error}"))?;
    let wanted: Vec<&Manifest> = all.iter().filter(|manifest| filter.wants(manifest)).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    if wanted.len() == all.len() {
        return Ok(Some(bytes));
    }
    let is_json = name.rsplit_once('.').is_some_and(|(_, extension)| extension == "json");
    let texts: Vec<String> = wanted.iter().map(|manifest| document(&manifest.object, is_json)).collect();
    // NB: one JSON document needs no mark before it, and a strict reader would refuse it.
    let separator = if is_json && texts.len() == 1 { "" } else { "---\n" };
    let parts: Vec<&str> = texts.iter().flat_map(|text| [separator, text]).collect();
    Ok(Some(parts.concat().into_bytes()))
}

fn document(object: &Value, is_json: bool) -> String {
    if is_json {
        return format!("{}\n", serde_json::to_string_pretty(object).unwrap_or_default());
    }
    yaml::write(object)
}

#[cfg(test)]
mod tests {
    use lockstep_payload::MemoryFiles;

    use super::*;

    const INCLUDED: &str = "annotations: {include.release.openshift.io/p: \"true\"}";

    fn request(name: &str, provider: &str, annotations: &str) -> String {
        format!(
            "# kept\napiVersion: cloudcredential.openshift.io/v1\nkind: CredentialsRequest\nmetadata: {{name: {name}, {annotations}}}\nspec: {{providerSpec: {{kind: {provider}}}}}\n"
        )
    }

    fn files() -> MemoryFiles {
        let map = |name: &str, more: &str| {
            format!("kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {name}, {more}}}\n")
        };
        let of = Folder::ReleaseManifests;
        MemoryFiles::new("r")
            .with(of, "release-metadata", "{ }")
            .with(of, "image-references", "{  }")
            .with(of, "notes.txt", "hello")
            .with(of, "a.yaml", format!("{}---\n{}", map("in", INCLUDED), map("out", "labels: {}")))
            .with(of, "b.yaml", format!("# comment\n{}", map("in", INCLUDED)))
            .with(of, "c.json", r#"{"kind":"X","apiVersion":"v1","metadata":{"name":"x"}}"#)
            .with(
                of,
                "d.yaml",
                format!(
                    "{}---\n{}",
                    request("aws", "AWSProviderSpec", INCLUDED),
                    request("gcp", "GCPProviderSpec", INCLUDED)
                ),
            )
            .with(of, "e.yaml", request("plain", "AWSProviderSpec", "labels: {}"))
    }

    fn names(filter: &Filter) -> Vec<String> {
        extract(&files(), filter).unwrap().files.into_iter().map(|(name, _)| name).collect()
    }

    fn included() -> Filter {
        let selection = Selection { profile: Some("p".to_owned()), ..Selection::default() };
        Filter { selection: Some(selection), ..Filter::default() }
    }

    #[test]
    fn everything_is_every_file_byte_for_byte() {
        let found = extract(&files(), &Filter::default()).unwrap();
        assert_eq!(found.files.len(), 8, "also what is no manifest");
        for (name, bytes) in found.files {
            assert_eq!(bytes, files().read(Folder::ReleaseManifests, &name).unwrap(), "{name}");
        }
    }

    #[test]
    fn a_file_keeps_its_bytes_unless_a_document_is_left_out() {
        let found = extract(&files(), &included()).unwrap();
        let text = |wanted: &str| {
            let file = found.files.iter().find(|(name, _)| name == wanted);
            file.map(|(_, bytes)| String::from_utf8(bytes.clone()).unwrap())
        };
        assert!(text("b.yaml").unwrap().starts_with("# comment\n"));
        assert!(text("a.yaml").unwrap().starts_with("---\napiVersion: v1\nkind: ConfigMap\n"));
        assert!(!text("a.yaml").unwrap().contains("name: out"));
        assert_eq!(text("c.json"), None, "without annotations");
        assert_eq!(text("e.yaml"), None, "a request without annotations counts only among requests");
        assert_eq!(text("notes.txt").as_deref(), Some("hello"));
    }

    #[test]
    fn what_is_left_of_a_json_file_is_json() {
        let two = concat!(
            r#"{"kind":"A","metadata":{"name":"a","annotations":{"include.release.openshift.io/p":"true"}}}"#,
            "\n---\n",
            r#"{"kind":"B","metadata":{"name":"b"}}"#
        );
        let files = MemoryFiles::new("r").with(Folder::ReleaseManifests, "a.json", two);
        let found = extract(&files, &included()).unwrap();
        let value: Value = serde_json::from_slice(&found.files[0].1).unwrap();
        assert_eq!(value["kind"], "A");
    }

    #[test]
    fn requests_are_chosen_by_cloud_and_nobody_has_none() {
        let requests = |provider| Filter { credentials_requests: true, provider, ..Filter::default() };
        assert_eq!(names(&requests(Provider::Any)), ["d.yaml", "e.yaml"]);
        let gcp = extract(&files(), &requests(Provider::of_cloud("gcp").unwrap())).unwrap();
        assert_eq!(gcp.files.len(), 1);
        assert!(!String::from_utf8_lossy(&gcp.files[0].1).contains("AWSProviderSpec"));
        assert_eq!(names(&requests(Provider::of_platform("baremetal"))), [""; 0]);
        assert_eq!(Provider::of_cloud("none"), None);
        let both = Filter { credentials_requests: true, ..included() };
        assert_eq!(names(&both), ["d.yaml", "e.yaml"], "without annotations, and a request");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_problem_and_the_others_are_there() {
        let files = files().with(Folder::ReleaseManifests, "bad.yaml", "kind: [");
        let found = extract(&files, &included()).unwrap();
        assert!(found.problems[0].starts_with("error parsing bad.yaml: "), "{:?}", found.problems);
        assert_eq!(found.files.len(), 6);
        assert_eq!(extract(&files, &Filter::default()).unwrap().files.len(), 9, "bytes need no reading");
    }
}
