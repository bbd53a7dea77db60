//! Annotation keys of manifests and of the objects made from them.

/// Prefix of the key that includes a manifest in a cluster profile; the value must be `true`.
pub const INCLUDE_PREFIX: &str = "include.release.openshift.io/";
/// Prefix of the key that excludes a manifest for an exclude identifier; only the value `true` counts.
pub const EXCLUDE_PREFIX: &str = "exclude.release.openshift.io/";
/// The feature sets that a manifest belongs to, separated by commas.
pub const FEATURE_SET: &str = "release.openshift.io/feature-set";
/// The feature gates that must be on, or off when written `-Name`, separated by commas.
pub const FEATURE_GATE: &str = "release.openshift.io/feature-gate";
/// The major versions of a release that a CRD or feature gate belongs to, separated by commas.
pub const MAJOR_VERSION: &str = "release.openshift.io/major-version";
/// The capabilities that a manifest needs, joined by `+`.
pub const CAPABILITY: &str = "capability.openshift.io/name";

/// Value `true`: the object is to be deleted from the cluster.
pub const DELETE: &str = "release.openshift.io/delete";
/// Value `true`: the object is created when missing and never changed afterwards.
pub const CREATE_ONLY: &str = "release.openshift.io/create-only";
/// Marks a manifest that the bootstrap machine needs as well.
pub const BOOTSTRAP_REQUIRED: &str = "release.openshift.io/bootstrap-required";
/// Marks the `ConfigMap` that carries the keys and stores for verifying the next release.
pub const VERIFICATION_CONFIG_MAP: &str = "release.openshift.io/verification-config-map";
/// On image-references: the release that this one was made from.
pub const FROM_RELEASE: &str = "release.openshift.io/from-release";
/// On image-references: the image stream that this release was made from.
pub const FROM_IMAGE_STREAM: &str = "release.openshift.io/from-image-stream";

/// The containers, by name and separated by commas, that get the proxy environment of the cluster.
pub const INJECT_PROXY: &str = "config.openshift.io/inject-proxy";
/// Value `true`: the `ConfigMap` gets the TLS settings of the cluster.
pub const INJECT_TLS: &str = "config.openshift.io/inject-tls";
/// Value `true`: someone else writes the CA bundle of this object, so we leave it alone.
pub const INJECT_CABUNDLE: &str = "service.beta.openshift.io/inject-cabundle";
/// The description that a person reads, repeated from the manifest of many kinds.
pub const DESCRIPTION: &str = "kubernetes.io/description";
/// The description of a Namespace or Template in the web console.
pub const OPENSHIFT_DESCRIPTION: &str = "openshift.io/description";
/// The pull request that approved an API, on CRDs.
pub const API_APPROVED: &str = "api-approved.openshift.io";
/// Says that a CRD was merged from parts by feature gate.
pub const MERGED_BY_FEATURE_GATES: &str = "api.openshift.io/merged-by-featuregates";
/// The security context constraint that a pod must run under.
pub const REQUIRED_SCC: &str = "openshift.io/required-scc";

/// Value `true` on the ClusterVersion: nothing new starts, drift repair goes on.
pub const PAUSED: &str = "lockstep.dev/paused";
/// On a paused ClusterVersion: why, for people.
pub const PAUSE_REASON: &str = "lockstep.dev/pause-reason";
/// Value `true` on the Deployment of a release: it runs this operator, which hands its work over to it.
pub const OPERATOR: &str = "lockstep.dev/operator";
/// On a tag of `image-references`: the operators whose manifests use the image, comma-separated.
pub const USED_BY: &str = "lockstep.dev/used-by";
/// On layers of a release image: which of the two folders of a release it holds. Where one layer has it, all that hold one have it.
pub const HOLDS: &str = "lockstep.dev/holds";
/// On a release image in a layout or an archive: the repository that it was mirrored from.
pub const PULLED_FROM: &str = "lockstep.dev/pulled-from";

/// Commit of the source that an image was built from.
pub const BUILD_COMMIT_ID: &str = "io.openshift.build.commit.id";
/// Branch or tag of the source that an image was built from.
pub const BUILD_COMMIT_REF: &str = "io.openshift.build.commit.ref";
/// Repository of the source that an image was built from.
pub const BUILD_SOURCE_LOCATION: &str = "io.openshift.build.source-location";
/// Component versions of an image, as `key=version` separated by commas.
pub const BUILD_VERSIONS: &str = "io.openshift.build.versions";
/// Display names of the component versions of an image.
pub const BUILD_VERSION_DISPLAY_NAMES: &str = "io.openshift.build.version-display-names";
/// Value `true` on a tag of image-references: the image was replaced by hand.
pub const RELEASE_OVERRIDE: &str = "io.openshift.release.override";
