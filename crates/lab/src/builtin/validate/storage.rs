//! Volumes, claims, storage classes and CSI drivers.

use serde_json::Value;

use crate::meta::{self, Cursor, names};

use super::quantity::Quantity;
use super::scalars::{Errors, amount_positive, immutable, optional_name, optional_one_of};
use super::volume::host_path;

const MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const ONE_TYPE: &str = "may not specify more than 1 volume type";

/// The sources of a volume in the order in which the real server looks for them.
const SOURCES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// A `PersistentVolume`.
pub(super) fn volume(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    access_modes(&spec.field("accessModes"), "", errors);
    let capacity = spec.field("capacity");
    if capacity.is_empty() {
        errors.push(capacity.required(""));
    }
    if !capacity.key("storage").is_set() || capacity.map().is_some_and(|map| map.len() > 1) {
        let shown = capacity.value().clone();
        errors.push(crate::status::FieldError::not_supported(capacity.path(), shown, &["storage"]));
    }
    for (name, _) in capacity.entries() {
        amount_positive(&capacity.key(name), errors);
    }
    let policy = spec.field("persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        optional_one_of(&policy, &["Delete", "Recycle", "Retain"], errors);
    }
    let mut found = false;
    for name in SOURCES {
        let source = spec.field(name);
        if !source.is_set() {
            continue;
        }
        if found {
            errors.push(source.forbidden(ONE_TYPE));
            continue;
        }
        found = true;
        match *name {
            "hostPath" => host_path(&source, errors),
            "nfs" => {
                for field in ["server", "path"] {
                    if source.field(field).is_empty() {
                        errors.push(source.field(field).required(""));
                    }
                }
            }
            "local" => {
                if source.field("path").is_empty() {
                    errors.push(source.field("path").required(""));
                }
                if !spec.field("nodeAffinity").is_set() {
                    errors.push(spec.field("nodeAffinity").required("Local volume requires node affinity"));
                }
            }
            "csi" => {
                driver_name(&source.field("driver"), errors);
                if source.field("volumeHandle").is_empty() {
                    errors.push(source.field("volumeHandle").required(""));
                }
            }
            _ => {}
        }
    }
    if !found {
        errors.push(spec.required("must specify a volume type"));
    }
    optional_name(&spec.field("storageClassName"), names::dns_subdomain, errors);
    optional_one_of(&spec.field("volumeMode"), &["Block", "Filesystem"], errors);
    if let Some(old) = old {
        let before = old.field("spec");
        if SOURCES.iter().any(|name| spec.field(name).value() != before.field(name).value()) {
            let at = spec.field("persistentvolumesource");
            errors.push(at.forbidden("spec.persistentvolumesource is immutable after creation"));
        }
        immutable(
            &new.field_with("volumeMode", spec.field("volumeMode").value()),
            &before.field("volumeMode"),
            errors,
        );
    }
}

fn access_modes(modes: &Cursor<'_, '_>, detail: &str, errors: &mut Errors) {
    if modes.is_empty() {
        errors.push(modes.required(detail));
    }
    let (mut once_pod, mut other) = (false, false);
    for mode in modes.list() {
        let text = mode.as_str().unwrap_or_default();
        if !MODES.contains(&text) {
            errors.push(crate::status::FieldError::not_supported(modes.path(), text, MODES));
        } else if text == "ReadWriteOncePod" {
            once_pod = true;
        } else {
            other = true;
        }
    }
    if once_pod && other {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

/// A `PersistentVolumeClaim`.
pub(super) fn claim(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    claim_spec(&spec, errors);
    let Some(old) = old else { return };
    let before = old.field("spec");
    let is_bound = new.field("status").field("phase").text() == "Bound";
    let fixed = |spec: &Cursor<'_, '_>| {
        let mut value = spec.value().clone();
        if is_bound {
            if let Some(requests) = value.pointer_mut("/resources/requests").and_then(Value::as_object_mut) {
                requests.remove("storage");
            }
            value.as_object_mut().map(|map| map.remove("volumeAttributesClassName"));
        }
        if before.field("volumeName").is_empty() {
            value.as_object_mut().map(|map| map.remove("volumeName"));
        }
        if !before.field("storageClassName").is_set() {
            value.as_object_mut().map(|map| map.remove("storageClassName"));
        }
        value
    };
    if fixed(&spec) != fixed(&before) {
        errors.push(spec.forbidden(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ));
    }
    let size = |spec: &Cursor<'_, '_>| {
        Quantity::of(spec.field("resources").field("requests").field("storage").value())
    };
    let has = Quantity::of(old.field("status").field("capacity").field("storage").value());
    if size(&spec) < size(&before) && size(&spec) <= has.or(Quantity::parse("0")) {
        let resources = spec.field("resources");
        let requests = resources.field("requests");
        errors.push(requests.field("storage").forbidden("field can not be less than status.capacity"));
    }
    immutable(
        &new.field_with("volumeMode", spec.field("volumeMode").value()),
        &before.field("volumeMode"),
        errors,
    );
}

/// The spec of a claim, also inside of templates.
pub(super) fn claim_spec(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    let modes = spec.field("accessModes");
    if modes.is_empty() {
        errors.push(modes.required("at least 1 access mode is required"));
    }
    meta::label_selector(&spec.field("selector"), errors);
    if !modes.is_empty() {
        access_modes(&modes, "", errors);
    }
    let resources = spec.field("resources");
    let requests = resources.field("requests");
    let storage = requests.field("storage");
    if storage.is_set() {
        if Quantity::of(storage.value()).is_none_or(|it| it.is_negative() || it.is_zero()) {
            errors.push(
                resources.key("storage").invalid_as(storage.value().clone(), "must be greater than zero"),
            );
        }
    } else {
        errors.push(resources.key("storage").required(""));
    }
    optional_name(&spec.field("storageClassName"), names::dns_subdomain, errors);
    optional_one_of(&spec.field("volumeMode"), &["Block", "Filesystem"], errors);
}

/// The name of a CSI driver.
pub(super) fn driver_name(name: &Cursor<'_, '_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(name.required(""));
        return;
    }
    if name.text().len() > 63 {
        errors.push(name.too_long(63));
    }
    name.each_invalid(names::dns_subdomain(&name.text().to_lowercase()), errors);
}

/// A `StorageClass`.
pub(super) fn class(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let provisioner = new.field("provisioner");
    if provisioner.is_empty() {
        errors.push(provisioner.required(""));
    } else {
        for sentence in names::qualified_name(&provisioner.text().to_lowercase()) {
            errors.push(provisioner.invalid_as(provisioner.text().to_lowercase(), sentence));
        }
    }
    optional_one_of(&new.field("reclaimPolicy"), &["Delete", "Retain"], errors);
    optional_one_of(&new.field("volumeBindingMode"), &["Immediate", "WaitForFirstConsumer"], errors);
    if let Some(old) = old {
        for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            immutable(&new.field(name), &old.field(name), errors);
        }
    }
}

/// A `CSIDriver`. One of its fields has another name in messages, as in the real server.
pub(super) fn driver(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    let attach = spec.field_with("attachedRequired", spec.field("attachRequired").value());
    if !attach.is_set() {
        errors.push(attach.required(""));
    }
    for name in ["podInfoOnMount", "storageCapacity"] {
        if !spec.field(name).is_set() {
            errors.push(spec.field(name).required(""));
        }
    }
    optional_one_of(&spec.field("fsGroupPolicy"), &["File", "None", "ReadWriteOnceWithFSType"], errors);
    let modes = spec.field("volumeLifecycleModes");
    for mode in modes.list() {
        let text = mode.as_str().unwrap_or_default();
        if !["Persistent", "Ephemeral"].contains(&text) {
            errors.push(crate::status::FieldError::not_supported(
                modes.path(),
                text,
                &["Persistent", "Ephemeral"],
            ));
        }
    }
    if !spec.field("seLinuxMount").is_set() {
        errors.push(spec.field("seLinuxMount").required(""));
    }
    if let Some(old) = old {
        let before = old.field("spec");
        immutable(&attach, &before.field("attachRequired"), errors);
        immutable(&modes, &before.field("volumeLifecycleModes"), errors);
    }
}
