//! Volumes of a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::meta::{Cursor, names};

use super::container::{VOLUME_FIELDS, field_ref, resource_ref};
use super::quantity::Quantity;
use super::scalars::{Errors, dns_label, local_path, no_back_steps, optional_one_of};

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const ONE_TYPE: &str = "may not specify more than 1 volume type";

/// The sources in the order in which the real server looks for them.
const SOURCES: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Checks the volumes and gives the well-formed ones by name.
pub(super) fn volumes<'v>(list: &Cursor<'_, 'v>, errors: &mut Errors) -> BTreeMap<&'v str, &'v Value> {
    let mut all: BTreeMap<&str, &Value> = BTreeMap::new();
    for volume in list.items() {
        let before = errors.len();
        source(&volume, errors);
        let name = volume.field("name");
        if name.is_empty() {
            errors.push(name.required(""));
        } else {
            dns_label(&name, errors);
        }
        if all.contains_key(name.text()) {
            errors.push(name.duplicate());
        }
        if errors.len() == before {
            all.insert(name.text(), volume.value());
        }
    }
    all
}

fn source(volume: &Cursor<'_, '_>, errors: &mut Errors) {
    let mut found = false;
    for name in SOURCES {
        let source = volume.field(name);
        if !source.is_set() {
            continue;
        }
        if found {
            // Two of them have another name in the message of the real server.
            let shown = match *name {
                "cephfs" => "cephFS",
                "downwardAPI" => "downwarAPI",
                name => name,
            };
            errors.push(volume.field(shown).forbidden(ONE_TYPE));
            continue;
        }
        found = true;
        one(name, &source, errors);
    }
    if !found {
        errors.push(volume.required("must specify a volume type"));
    }
}

fn one(name: &str, source: &Cursor<'_, '_>, errors: &mut Errors) {
    let required = |field: &str, errors: &mut Errors| {
        if source.field(field).is_empty() {
            errors.push(source.field(field).required(""));
        }
    };
    match name {
        "emptyDir" => size_limit(&source.field("sizeLimit"), errors),
        "hostPath" => host_path(source, errors),
        "secret" => {
            required("secretName", errors);
            mode(&source.field("defaultMode"), errors);
            items(&source.field("items"), errors);
        }
        "configMap" => {
            required("name", errors);
            mode(&source.field("defaultMode"), errors);
            items(&source.field("items"), errors);
        }
        "persistentVolumeClaim" => required("claimName", errors),
        "nfs" => {
            required("server", errors);
            required("path", errors);
            if source.field("path").text().bytes().next().is_some_and(|it| it != b'/') {
                errors.push(source.field("path").invalid("must be an absolute path"));
            }
        }
        "csi" => super::storage::driver_name(&source.field("driver"), errors),
        "downwardAPI" => {
            mode(&source.field("defaultMode"), errors);
            for file in source.field("items").items() {
                downward_file(source, &file, errors);
            }
        }
        "projected" => projected(source, errors),
        "ephemeral" => {
            let template = source.field("volumeClaimTemplate");
            if template.is_set() {
                super::storage::claim_spec(&template.field("spec"), errors);
            } else {
                errors.push(template.required(""));
            }
        }
        _ => {}
    }
}

fn size_limit(limit: &Cursor<'_, '_>, errors: &mut Errors) {
    if Quantity::of(limit.value()).is_some_and(Quantity::is_negative) {
        errors.push(limit.forbidden("SizeLimit field must be a valid resource quantity"));
    }
}

/// A path on the node.
pub(super) fn host_path(source: &Cursor<'_, '_>, errors: &mut Errors) {
    const TYPES: &[&str] = &[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let path = source.field("path");
    if path.is_empty() {
        errors.push(path.required(""));
        return;
    }
    no_back_steps(&path, path.text(), errors);
    optional_one_of(&source.field("type"), TYPES, errors);
}

fn mode(mode: &Cursor<'_, '_>, errors: &mut Errors) {
    if mode.number().is_some_and(|it| !(0..=0o777).contains(&it)) {
        errors.push(mode.invalid(MODE));
    }
}

fn items(items: &Cursor<'_, '_>, errors: &mut Errors) {
    for item in items.items() {
        key_to_path(&item, errors);
    }
}

fn key_to_path(item: &Cursor<'_, '_>, errors: &mut Errors) {
    for name in ["key", "path"] {
        if item.field(name).is_empty() {
            errors.push(item.field(name).required(""));
        }
    }
    local_path(&item.field("path"), item.field("path").text(), errors);
    mode(&item.field("mode"), errors);
}

/// A file of the downward API; messages name the volume, not the file.
fn downward_file(volume: &Cursor<'_, '_>, file: &Cursor<'_, '_>, errors: &mut Errors) {
    let path = file.field("path");
    if path.is_empty() {
        errors.push(volume.field("path").required(""));
    }
    local_path(&volume.field("path"), path.text(), errors);
    let (field, resource) = (file.field("fieldRef"), file.field("resourceFieldRef"));
    if field.is_set() {
        field_ref(&volume.field_with("fieldRef", field.value()), VOLUME_FIELDS, errors);
        if resource.is_set() {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.push(volume.invalid_as("resource", detail));
        }
    } else if resource.is_set() {
        resource_ref(&volume.field_with("resourceFieldRef", resource.value()), true, errors);
    } else {
        errors.push(volume.required("one of fieldRef and resourceFieldRef is required"));
    }
    mode(&volume.field_with("mode", file.field("mode").value()), errors);
}

fn projected(volume: &Cursor<'_, '_>, errors: &mut Errors) {
    mode(&volume.field("defaultMode"), errors);
    let mut paths = BTreeSet::new();
    for source in volume.field("sources").items() {
        let mut count = 0;
        for name in ["secret", "configMap"] {
            let part = source.field(name);
            if !part.is_set() {
                continue;
            }
            count += 1;
            if part.field("name").is_empty() {
                errors.push(part.field("name").required(""));
            }
            for item in part.field("items").items() {
                key_to_path(&item, errors);
                let path = item.field("path").text();
                if !path.is_empty() && !paths.insert(path.to_owned()) {
                    errors.push(volume.invalid_as(part.field("name").text(), "conflicting duplicate paths"));
                }
            }
        }
        let downward = source.field("downwardAPI");
        if downward.is_set() {
            count += 1;
            for file in downward.field("items").items() {
                downward_file(&downward, &file, errors);
                let path = file.field("path").text();
                if !path.is_empty() && !paths.insert(path.to_owned()) {
                    errors.push(volume.invalid_as(path, "conflicting duplicate paths"));
                }
            }
        }
        let token = source.field("serviceAccountToken");
        if token.is_set() {
            count += 1;
            let seconds = token.field("expirationSeconds");
            if seconds.number().is_some_and(|it| it < 600) {
                errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
            }
            if seconds.number().is_some_and(|it| it > 1 << 32) {
                errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
            }
            if token.field("path").is_empty() {
                errors.push(volume.field("path").required(""));
            } else {
                local_path(&volume.field("path"), token.field("path").text(), errors);
            }
        }
        for name in ["clusterTrustBundle", "podCertificate"] {
            count += usize::from(source.field(name).is_set());
        }
        if count > 1 {
            errors.push(source.forbidden("may not specify more than 1 volume type per source"));
        }
    }
}

/// The name of a host, for `hostAliases`.
pub(super) fn host_name(value: &Cursor<'_, '_>, errors: &mut Errors) {
    value.each_invalid(names::dns_subdomain(value.text()), errors);
}
