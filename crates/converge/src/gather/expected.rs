//! What a release brings, as far as a diagnosis asks for it.

use lockstep_api::names::{annotation, kind, profile};
use lockstep_api::object;
use lockstep_health::why::snapshot::{Expected, Workload};
use lockstep_payload::{Manifest, Release, Selection};

/// The operators, Deployments and Jobs of a release for a usual cluster; which capabilities are on, the cluster itself says.
pub fn expected(release: &Release) -> Expected {
    let selection = Selection {
        profile: Some(profile::SELF_MANAGED_HIGH_AVAILABILITY.to_owned()),
        ..Selection::default()
    };
    let mut expected = Expected { version: release.metadata.version.to_string(), ..Expected::default() };
    for manifest in release.manifests.iter().filter(|manifest| selection.check(manifest).is_ok()) {
        expected.manifests += 1;
        let list = match manifest.id.kind.as_str() {
            _ if manifest.is_cluster_operator() => &mut expected.operators,
            kind::DEPLOYMENT => &mut expected.deployments,
            kind::JOB => &mut expected.jobs,
            _ => continue,
        };
        list.push(workload(manifest));
    }
    expected
}

fn workload(manifest: &Manifest) -> Workload {
    let run_level = manifest.run_level.as_ref();
    Workload {
        namespace: manifest.id.namespace.clone(),
        name: manifest.id.name.clone(),
        component: run_level.map(|it| it.component.clone()).unwrap_or_default(),
        run_level: run_level.and_then(|it| it.level.parse().ok()).unwrap_or_default(),
        capability: object::annotation(&manifest.object, annotation::CAPABILITY)
            .unwrap_or_default()
            .to_owned(),
    }
}
