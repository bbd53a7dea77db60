//! Programs inside the images of a release: which is where, and how it is handed out.

use std::collections::BTreeSet;

use lockstep_payload::images::{ImageReferences, ImageTag};

use super::archive::{Packed, tar_gz, zip};
use super::patch::{self, Replacement, patch};
use crate::location::Location;
use crate::open::{Image, LayerFile, OpenRelease, ReadError};
use crate::platform::{PlatformFilter, host_architecture};
use crate::reference::PullSpec;
use crate::store::{Registries, Store, StoreError, Which};

/// How much of a program is looked at at a time.
const BUFFER: usize = 1 << 20;
/// Stands for the architecture of the release.
const RELEASE: &str = "";
/// Stands in the name of an archive for the version of the release.
const VERSION: &str = "{version}";

/// A program for one system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// What it is called.
    pub command: &'static str,
    /// For which system.
    pub os: &'static str,
    /// For which processor; empty for that of the release.
    pub architecture: &'static str,
    /// The tag whose image holds it.
    pub component: &'static str,
    /// Where it is in that image.
    pub path: &'static str,
    /// The archive that it is handed out in.
    pub archive: &'static str,
    /// Whether it is left out unless it is asked for by name.
    pub is_optional: bool,
}

/// A system that a program is wanted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum System {
    /// All of them.
    All,
    /// This one.
    One {
        /// The operating system, in Go's words.
        os: String,
        /// The processor, in Go's words.
        architecture: String,
    },
}

/// What programs are told about their release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name of the release.
    pub version: String,
    /// Pull spec by digest, where it is known.
    pub release_image: Option<String>,
    /// Architecture of the release.
    pub architecture: String,
    /// The same as programs show it: `linux/amd64`, `multi (linux/amd64)`.
    pub platform: String,
}

const fn target(
    command: &'static str,
    os: &'static str,
    architecture: &'static str,
    component: &'static str,
    path: &'static str,
    archive: &'static str,
) -> Target {
    Target { command, os, architecture, component, path, archive, is_optional: false }
}

const fn optional(target: Target) -> Target {
    Target { is_optional: true, ..target }
}

/// The table of the specification, row by row.
pub const TARGETS: [Target; 25] = [
    target(
        "oc",
        "darwin",
        "amd64",
        "cli-artifacts",
        "usr/share/openshift/mac/oc",
        "openshift-client-mac-{version}.tar.gz",
    ),
    target(
        "oc",
        "darwin",
        "arm64",
        "cli-artifacts",
        "usr/share/openshift/mac_arm64/oc",
        "openshift-client-mac-arm64-{version}.tar.gz",
    ),
    target("oc", "linux", RELEASE, "cli", "usr/bin/oc", "openshift-client-linux-{version}.tar.gz"),
    target(
        "oc",
        "linux",
        "amd64",
        "cli-artifacts",
        "usr/share/openshift/linux_amd64/oc",
        "openshift-client-linux-amd64-{version}.tar.gz",
    ),
    target(
        "oc",
        "linux",
        "arm64",
        "cli-artifacts",
        "usr/share/openshift/linux_arm64/oc",
        "openshift-client-linux-arm64-{version}.tar.gz",
    ),
    target(
        "oc",
        "linux",
        "ppc64le",
        "cli-artifacts",
        "usr/share/openshift/linux_ppc64le/oc",
        "openshift-client-linux-ppc64le-{version}.tar.gz",
    ),
    target(
        "oc.rhel8",
        "linux",
        "amd64",
        "cli-artifacts",
        "usr/share/openshift/linux_amd64/oc.rhel8",
        "openshift-client-linux-amd64-rhel8-{version}.tar.gz",
    ),
    target(
        "oc.rhel8",
        "linux",
        "arm64",
        "cli-artifacts",
        "usr/share/openshift/linux_arm64/oc.rhel8",
        "openshift-client-linux-arm64-rhel8-{version}.tar.gz",
    ),
    target(
        "oc.rhel8",
        "linux",
        "ppc64le",
        "cli-artifacts",
        "usr/share/openshift/linux_ppc64le/oc.rhel8",
        "openshift-client-linux-ppc64le-rhel8-{version}.tar.gz",
    ),
    target(
        "oc.rhel8",
        "linux",
        "s390x",
        "cli-artifacts",
        "usr/share/openshift/linux_s390x/oc.rhel8",
        "openshift-client-linux-s390x-rhel8-{version}.tar.gz",
    ),
    target(
        "oc.rhel9",
        "linux",
        "amd64",
        "cli-artifacts",
        "usr/share/openshift/linux_amd64/oc.rhel9",
        "openshift-client-linux-amd64-rhel9-{version}.tar.gz",
    ),
    target(
        "oc.rhel9",
        "linux",
        "arm64",
        "cli-artifacts",
        "usr/share/openshift/linux_arm64/oc.rhel9",
        "openshift-client-linux-arm64-rhel9-{version}.tar.gz",
    ),
    target(
        "oc.rhel9",
        "linux",
        "ppc64le",
        "cli-artifacts",
        "usr/share/openshift/linux_ppc64le/oc.rhel9",
        "openshift-client-linux-ppc64le-rhel9-{version}.tar.gz",
    ),
    target(
        "oc.rhel9",
        "linux",
        "s390x",
        "cli-artifacts",
        "usr/share/openshift/linux_s390x/oc.rhel9",
        "openshift-client-linux-s390x-rhel9-{version}.tar.gz",
    ),
    target(
        "oc",
        "windows",
        "amd64",
        "cli-artifacts",
        "usr/share/openshift/windows/oc.exe",
        "openshift-client-windows-{version}.zip",
    ),
    target(
        "openshift-install",
        "darwin",
        "amd64",
        "installer-artifacts",
        "usr/share/openshift/mac/openshift-install",
        "openshift-install-mac-{version}.tar.gz",
    ),
    target(
        "openshift-install",
        "darwin",
        "arm64",
        "installer-artifacts",
        "usr/share/openshift/mac_arm64/openshift-install",
        "openshift-install-mac-arm64-{version}.tar.gz",
    ),
    target(
        "openshift-install",
        "linux",
        RELEASE,
        "installer",
        "usr/bin/openshift-install",
        "openshift-install-linux-{version}.tar.gz",
    ),
    target(
        "openshift-install",
        "linux",
        "amd64",
        "installer-artifacts",
        "usr/share/openshift/linux_amd64/openshift-install",
        "openshift-install-linux-amd64-{version}.tar.gz",
    ),
    target(
        "openshift-install",
        "linux",
        "arm64",
        "installer-artifacts",
        "usr/share/openshift/linux_arm64/openshift-install",
        "openshift-install-linux-arm64-{version}.tar.gz",
    ),
    optional(target(
        "openshift-baremetal-install",
        "linux",
        RELEASE,
        "baremetal-installer",
        "usr/bin/openshift-install",
        "openshift-baremetal-install-linux-{version}.tar.gz",
    )),
    optional(target(
        "openshift-install-fips",
        "linux",
        RELEASE,
        "baremetal-installer",
        "usr/bin/openshift-install",
        "openshift-install-rhel-{version}.tar.gz",
    )),
    target(
        "ccoctl",
        "linux",
        RELEASE,
        "cloud-credential-operator",
        "usr/bin/ccoctl",
        "ccoctl-linux-{version}.tar.gz",
    ),
    target(
        "ccoctl.rhel8",
        "linux",
        RELEASE,
        "cloud-credential-operator",
        "usr/bin/ccoctl.rhel8",
        "ccoctl-linux-rhel8-{version}.tar.gz",
    ),
    target(
        "ccoctl.rhel9",
        "linux",
        RELEASE,
        "cloud-credential-operator",
        "usr/bin/ccoctl.rhel9",
        "ccoctl-linux-rhel9-{version}.tar.gz",
    ),
];

// === impl System ===

impl System {
    /// Reads `--command-os`: `*`, `OS` or `OS/ARCH`; nothing is this machine.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: Option<&str>) -> Result<Self, String> {
        let one = |os: &str, architecture: &str| Self::One {
            os: if os == "mac" { "darwin" } else { os }.to_owned(),
            architecture: architecture.to_owned(),
        };
        match text {
            None => {
                let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
                Ok(one(os, host_architecture()))
            }
            Some("*") => Ok(Self::All),
            Some(text) => match text.split('/').collect::<Vec<_>>().as_slice() {
                [os] if !os.is_empty() => Ok(one(os, "amd64")),
                [os, architecture] if !os.is_empty() && !architecture.is_empty() => Ok(one(os, architecture)),
                _ => Err("invalid --command-os value".to_owned()),
            },
        }
    }
}

// === impl Target ===

impl Target {
    /// Whether nobody complains when the image does not have it: builds for one edition of a system came later.
    pub fn is_variant(&self) -> bool {
        self.command.contains(".rhel")
    }

    /// Whether it is for this processor.
    fn is_for(&self, architecture: &str, facts: &Facts) -> bool {
        let own = if self.architecture == RELEASE { &facts.architecture } else { self.architecture };
        own == architecture
    }

    /// What it is called in its archive.
    fn program(&self) -> String {
        let name = self.command.split_once(".rhel").map_or(self.command, |(name, _)| name);
        format!("{name}{}", self.extension())
    }

    fn extension(&self) -> &'static str {
        if self.os == "windows" { ".exe" } else { "" }
    }

    /// What it is called when it is written by itself.
    pub fn file_name(&self) -> String {
        format!("{}{}", self.command, self.extension())
    }

    /// The name of its archive for a release.
    pub fn archive_name(&self, version: &str) -> String {
        self.archive.replace(VERSION, version)
    }

    fn replacements(&self, facts: &Facts) -> Vec<Replacement> {
        let is_installer = self.path.ends_with("openshift-install");
        let mut all = Vec::new();
        if is_installer {
            all.extend(
                facts.release_image.as_deref().map(|image| Replacement::of(patch::RELEASE_IMAGE, image)),
            );
            all.push(Replacement::of(patch::RELEASE_ARCHITECTURE, &facts.platform));
        }
        if is_installer || self.program().starts_with("oc") {
            all.push(Replacement::of(patch::RELEASE_VERSION, &facts.version));
        }
        all
    }

    /// The program as it is handed out, and what the caller should be told about it.
    ///
    /// # Errors
    /// When something about the release is too long for the place that the program has for it.
    pub fn prepare(&self, bytes: &[u8], facts: &Facts) -> Result<(Vec<u8>, Vec<String>), ReadError> {
        let replacements = self.replacements(facts);
        let mut program = Vec::with_capacity(bytes.len());
        let open = patch(bytes, &mut program, BUFFER, &replacements)
            .map_err(|error| ReadError::Refused(format!("{}: {error}", self.command)))?;
        let mut told = Vec::new();
        if !open.is_empty() {
            told.push(format!(
                "Unable to make all expected replacements in {}.  Remaining: {}",
                self.command,
                open.join(", ")
            ));
        }
        let is_changed = open.len() < replacements.len();
        if is_changed && (self.os, self.architecture) == ("darwin", "arm64") {
            told.push(format!(
                "{} was told its release, and its signature no longer fits; sign it with `codesign --force --sign -` before it is run",
                self.command
            ));
        }
        Ok((program, told))
    }

    /// The program in its archive.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn pack(&self, program: &[u8], readme: &str, modified: u64) -> Result<Vec<u8>, ReadError> {
        let name = self.program();
        let is_windows = self.os == "windows";
        let readme = if is_windows { readme.replace('\n', "\r\n") } else { readme.to_owned() };
        let mut files = vec![
            Packed { name: "README.md", executable: false, content: Some(readme.as_bytes()) },
            Packed { name: &name, executable: true, content: Some(program) },
        ];
        if name == "oc" {
            files.push(Packed { name: "kubectl", executable: true, content: None });
        }
        Ok(if is_windows { zip(&files)? } else { tar_gz(&files, modified)? })
    }
}

/// The programs that are wanted: all, or one command.
///
/// # Errors
/// A command that there is not, not for that system, or whose image the release does not have.
pub fn choose(command: Option<&str>, system: &System, facts: &Facts) -> Result<Vec<&'static Target>, String> {
    let named = |target: &&Target| match command {
        Some(command) => target.command == command,
        None => !target.is_optional,
    };
    let all: Vec<&'static Target> = TARGETS.iter().filter(named).collect();
    let found: Vec<&'static Target> = match system {
        // The one for the release's own processor is the same program.
        System::All => {
            let is_twice = |target: &Target| {
                let own = |other: &&Target| {
                    other.command == target.command && other.os == target.os && other.architecture == RELEASE
                };
                target.architecture == facts.architecture && all.iter().copied().any(|other| own(&other))
            };
            all.iter().copied().filter(|target| !is_twice(target)).collect()
        }
        System::One { os, architecture } => {
            let fits = |target: &&Target| target.os == os && target.is_for(architecture, facts);
            let of_release =
                all.iter().copied().find(|target| fits(target) && target.architecture == RELEASE);
            of_release.or_else(|| all.iter().copied().find(fits)).into_iter().collect()
        }
    };
    match (command, system) {
        (Some(command), System::One { os, architecture }) if found.is_empty() => {
            if all.iter().any(|target| target.os == os) {
                return Err(format!(
                    "the command '{command}' is not available for {os}/{architecture} on {}",
                    facts.version
                ));
            }
            let known: BTreeSet<&str> = TARGETS.iter().map(|target| target.command).collect();
            let known: Vec<String> = known.into_iter().map(|name| format!("'{name}'")).collect();
            Err(format!(
                "command {command:?} does not exist in targets or does not support the operating system {os:?}; the supported commands are {}",
                known.join(", ")
            ))
        }
        (Some(command), System::All) if found.is_empty() => {
            Err(format!("command {command:?} does not exist in targets"))
        }
        _ => Ok(found),
    }
}

/// The tag of a release whose image holds a program.
///
/// # Errors
/// When the release has no such image.
pub fn tag<'a>(images: &'a ImageReferences, target: &Target) -> Result<&'a ImageTag, String> {
    images.tags.iter().find(|tag| tag.name == target.component && tag.pull_spec.is_some()).ok_or_else(|| {
        format!("the image {:?} containing the desired command is not available", target.component)
    })
}

/// The image of a tag: from where the release itself is, or else from the registry that its pull spec names.
///
/// # Errors
/// When it is in neither.
pub async fn component(
    release: &OpenRelease,
    registries: &Registries,
    filter: &PlatformFilter,
    tag: &ImageTag,
) -> Result<Image, ReadError> {
    let spec = tag.pull_spec.as_deref().unwrap_or_default();
    let spec = PullSpec::parse(spec).map_err(|error| ReadError::Refused(error.to_string()))?;
    if let (Some(image), Some(digest)) = (&release.image, &spec.digest) {
        let is_on_disk = matches!(release.location, Location::Layout { .. } | Location::Archive { .. });
        let which = Which::Digest(digest.clone());
        if is_on_disk {
            match Image::open(&image.store, &which, filter).await {
                Err(ReadError::Store(StoreError::NotFound { .. })) => {}
                found => return found,
            }
        }
    }
    let which = match (&spec.digest, &spec.tag) {
        (Some(digest), _) => Which::Digest(digest.clone()),
        (None, Some(tag)) => Which::Tag(tag.clone()),
        (None, None) => Which::Tag("latest".to_owned()),
    };
    Image::open(&Store::Registry(registries.repository(&spec)?), &which, filter).await
}

/// Reads programs out of the image of their component, in one pass; what it does not hold is `None`.
///
/// # Errors
/// When the image cannot be read.
pub async fn read(image: &Image, targets: &[&Target]) -> Result<Vec<Option<LayerFile>>, ReadError> {
    let paths: Vec<&str> = targets.iter().map(|target| target.path).collect();
    image.files(&paths).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            version: "4.20.0".to_owned(),
            release_image: Some("registry.example.com/r@sha256:1".to_owned()),
            architecture: "amd64".to_owned(),
            platform: "linux/amd64".to_owned(),
        }
    }

    fn one(command: &str, system: &str) -> Result<(&'static str, &'static str), String> {
        let found = choose(Some(command), &System::parse(Some(system)).unwrap(), &facts())?;
        assert_eq!(found.len(), 1);
        Ok((found[0].component, found[0].path))
    }

    #[test]
    fn a_command_is_chosen_by_system_and_processor() {
        assert_eq!(one("oc", "linux"), Ok(("cli", "usr/bin/oc")));
        assert_eq!(one("oc", "linux/arm64"), Ok(("cli-artifacts", "usr/share/openshift/linux_arm64/oc")));
        assert_eq!(one("oc", "mac"), Ok(("cli-artifacts", "usr/share/openshift/mac/oc")));
        assert_eq!(one("oc", "windows/amd64"), Ok(("cli-artifacts", "usr/share/openshift/windows/oc.exe")));
        assert_eq!(
            one("oc.rhel9", "linux/s390x"),
            Ok(("cli-artifacts", "usr/share/openshift/linux_s390x/oc.rhel9"))
        );
        assert_eq!(
            one("openshift-install-fips", "linux"),
            Ok(("baremetal-installer", "usr/bin/openshift-install"))
        );
        assert!(
            one("ccoctl", "linux/arm64")
                .unwrap_err()
                .starts_with("the command 'ccoctl' is not available for linux/arm64")
        );
        assert!(one("ccoctl", "mac").unwrap_err().starts_with(
            "command \"ccoctl\" does not exist in targets or does not support the operating system \"darwin\""
        ));
        for wrong in ["", "/", "linux/", "a/b/c"] {
            assert_eq!(System::parse(Some(wrong)).unwrap_err(), "invalid --command-os value", "{wrong}");
        }
    }

    #[test]
    fn all_tools_are_each_once_and_without_the_optional_ones() {
        let all = choose(None, &System::All, &facts()).unwrap();
        let names: Vec<String> = all.iter().map(|target| target.archive_name("4.20.0")).collect();
        assert!(names.contains(&"openshift-client-linux-4.20.0.tar.gz".to_owned()));
        assert!(
            !names.contains(&"openshift-client-linux-amd64-4.20.0.tar.gz".to_owned()),
            "the same program"
        );
        assert!(names.contains(&"openshift-client-linux-arm64-4.20.0.tar.gz".to_owned()));
        assert!(
            !names
                .iter()
                .any(|name| name.contains("baremetal") || name.starts_with("openshift-install-rhel"))
        );
        let unique: BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
    }

    #[test]
    fn an_installer_learns_image_version_and_architecture_and_a_program_without_markers_is_told() {
        let installer = TARGETS
            .iter()
            .find(|target| target.command == "openshift-install" && target.architecture == RELEASE)
            .unwrap();
        let markers = [patch::RELEASE_IMAGE, patch::RELEASE_VERSION, patch::RELEASE_ARCHITECTURE];
        let program: Vec<u8> =
            markers.iter().flat_map(|marker| Replacement::of(*marker, "").marker).collect();
        let (bytes, told) = installer.prepare(&program, &facts()).unwrap();
        assert_eq!((bytes.len(), told), (program.len(), Vec::<String>::new()));
        for value in ["registry.example.com/r@sha256:1\0", "4.20.0\0", "linux/amd64\0"] {
            assert!(bytes.windows(value.len()).any(|part| part == value.as_bytes()), "{value}");
        }
        let (same, told) = installer.prepare(b"nothing", &facts()).unwrap();
        assert_eq!(same, b"nothing");
        assert_eq!(
            told,
            [
                "Unable to make all expected replacements in openshift-install.  Remaining: release image, release architecture, release name"
            ]
        );
        let mac =
            TARGETS.iter().find(|target| (target.os, target.architecture) == ("darwin", "arm64")).unwrap();
        assert!(mac.prepare(&program, &facts()).unwrap().1[0].contains("codesign"));
        let long = Facts { version: "4".repeat(100), ..facts() };
        assert!(
            mac.prepare(&program, &long)
                .unwrap_err()
                .to_string()
                .contains("has 100 bytes, but the maximum replacement length is 92")
        );
    }
}
