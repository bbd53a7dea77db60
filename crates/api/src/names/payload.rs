//! Names of the files of a release and of the keys in them.

/// Folders and files of a release.
pub mod file {
    /// Folder of the manifests that the operator's own image brings; its files are templates.
    pub const MANIFESTS: &str = "manifests";
    /// Folder of all other manifests.
    pub const RELEASE_MANIFESTS: &str = "release-manifests";
    /// Folder of the templates for the bootstrap machine.
    pub const BOOTSTRAP: &str = "bootstrap";
    /// The file with version, channels and address of a release, in [`RELEASE_MANIFESTS`].
    pub const RELEASE_METADATA: &str = "release-metadata";
    /// The file with the images of a release, in [`RELEASE_MANIFESTS`].
    pub const IMAGE_REFERENCES: &str = "image-references";

    /// Extensions, without the dot, of the files that are read as manifests; case matters.
    pub const MANIFEST_EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
    /// How the name of a file with run level and component begins.
    pub const RUN_LEVEL_PREFIX: &str = "0000_";
}

/// The kind and the keys of release-metadata.
pub mod metadata {
    /// The only known kind of the file.
    pub const KIND: &str = "cincinnati-metadata-v0";
    /// Where a person reads about the release.
    pub const URL: &str = "url";
    /// The architecture of the release; the only known value is [`ARCHITECTURE_MULTI`].
    pub const ARCHITECTURE: &str = "release.openshift.io/architecture";
    /// The value of [`ARCHITECTURE`] for a release of several architectures.
    pub const ARCHITECTURE_MULTI: &str = "multi";
    /// The channels of the release, separated by commas.
    pub const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";
}
