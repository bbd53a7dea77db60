//! Volumes, claims and their sources.

use serde_json::{Value, json};

use super::pod::pull_policy;
use super::{Object, Rule, inside, part, text, unset, zero};

/// `rw-r--r--`, the mode of files made from a Secret, a `ConfigMap` or a projection.
const FILE_MODE: i32 = 0o644;

pub(super) fn rule(type_name: &str) -> Option<Rule> {
    Some(match type_name {
        "core.v1.Volume" => volume,
        "core.v1.SecretVolumeSource"
        | "core.v1.ConfigMapVolumeSource"
        | "core.v1.DownwardAPIVolumeSource"
        | "core.v1.ProjectedVolumeSource" => |source| unset(source, "defaultMode", FILE_MODE),
        "core.v1.ServiceAccountTokenProjection" => |token| unset(token, "expirationSeconds", 3600),
        "core.v1.HostPathVolumeSource" => |source| unset(source, "type", ""),
        "core.v1.ISCSIVolumeSource" | "core.v1.ISCSIPersistentVolumeSource" => {
            |source| zero(source, "iscsiInterface", "default")
        }
        "core.v1.RBDVolumeSource" | "core.v1.RBDPersistentVolumeSource" => |source| {
            zero(source, "pool", "rbd");
            zero(source, "user", "admin");
            zero(source, "keyring", "/etc/ceph/keyring");
        },
        "core.v1.AzureDiskVolumeSource" => |source| {
            unset(source, "cachingMode", "ReadWrite");
            unset(source, "fsType", "ext4");
            unset(source, "readOnly", false);
            unset(source, "kind", "Shared");
        },
        "core.v1.ScaleIOVolumeSource" | "core.v1.ScaleIOPersistentVolumeSource" => |source| {
            zero(source, "storageMode", "ThinProvisioned");
            zero(source, "fsType", "xfs");
        },
        "core.v1.PersistentVolume" => |volume| {
            zero(inside(volume, "status"), "phase", "Pending");
            let spec = inside(volume, "spec");
            zero(spec, "persistentVolumeReclaimPolicy", "Retain");
            unset(spec, "volumeMode", "Filesystem");
        },
        "core.v1.PersistentVolumeClaim" => |claim| zero(inside(claim, "status"), "phase", "Pending"),
        "core.v1.PersistentVolumeClaimSpec" => |spec| unset(spec, "volumeMode", "Filesystem"),
        _ => return None,
    })
}

/// A volume without any source is an empty folder.
fn volume(volume: &mut Object) {
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".into(), json!({}));
    }
    if let Some(image) = part(volume, "image") {
        let policy = Value::from(pull_policy(text(image, "reference")));
        zero(image, "pullPolicy", policy);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;
    use super::*;

    #[test]
    fn every_source_gets_its_own_defaults() {
        let pod = filled(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [], "volumes": [
            {"name": "empty"},
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "host", "hostPath": {"path": "/"}},
            {"name": "mode", "configMap": {"name": "c", "defaultMode": 0}},
            {"name": "projected", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}},
                {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}},
            {"name": "image", "image": {"reference": "a:1"}},
            {"name": "claim", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        ]}}));
        assert_eq!(
            pod["spec"]["volumes"],
            json!([
                {"name": "empty", "emptyDir": {}},
                {"name": "secret", "secret": {"secretName": "s", "defaultMode": 420}},
                {"name": "host", "hostPath": {"path": "/", "type": ""}},
                {"name": "mode", "configMap": {"name": "c", "defaultMode": 0}},
                {"name": "projected", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
                    {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}]}}]}},
                {"name": "image", "image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}},
                {"name": "claim", "ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": {"resources": {}, "volumeMode": "Filesystem"}}}},
            ])
        );
    }
}
