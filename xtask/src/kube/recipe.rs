//! What is built, from which versions, and the cache key that follows from both.

use std::fs;
use std::path::Path;

use crate::Error;
use crate::error::io_error;

/// A program of the private Kubernetes and the Go package that it is built from.
pub(crate) struct Binary {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// Everything that the suites need; the order is the order of the build.
pub(super) const BINARIES: [Binary; 5] = [
    Binary { name: "etcd", package: "go.etcd.io/etcd/server/v3" },
    Binary { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver" },
    Binary { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl" },
    Binary { name: "kube-controller-manager", package: "k8s.io/kubernetes/cmd/kube-controller-manager" },
    Binary { name: "kube-scheduler", package: "k8s.io/kubernetes/cmd/kube-scheduler" },
];

/// The environment of every `go` command; the lock files decide, not the user's settings.
pub(super) const GO_ENVIRONMENT: [(&str, &str); 4] =
    [("GOFLAGS", "-mod=readonly"), ("GOTOOLCHAIN", "local"), ("GOWORK", "off"), ("CGO_ENABLED", "0")];

/// The packages that hold the version which servers, `kubectl` and the user agent report.
const STAMPED: [&str; 2] = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];

/// One build: the versions that `go.mod` pins and the name of its folder in the cache.
#[derive(Debug, PartialEq)]
pub(super) struct Recipe {
    /// The version of Kubernetes, such as `v1.36.3`.
    pub(super) kubernetes: String,
    /// The folder name: both versions and a short hash of all that goes into the build.
    pub(super) key: String,
}

// === impl Recipe ===

impl Recipe {
    /// Reads the recipe from the folder of the Go module.
    pub(super) fn read(module: &Path) -> Result<Self, Error> {
        let text = |name: &str| {
            let file = module.join(name);
            fs::read_to_string(&file).map_err(io_error(format!("reading `{}`", file.display())))
        };
        Self::from_texts(&text("go.mod")?, &text("go.sum")?)
    }

    fn from_texts(go_mod: &str, go_sum: &str) -> Result<Self, Error> {
        let version = |module: &str| {
            required_version(go_mod, module).ok_or_else(|| Error::Data {
                from: "xtask/kube/go.mod".into(),
                what: format!("no line requires `{module}` at a version"),
            })
        };
        let kubernetes = version("k8s.io/kubernetes")?;
        let etcd = version("go.etcd.io/etcd/server/v3")?;
        let packages: Vec<&str> = BINARIES.iter().map(|binary| binary.package).collect();
        let inputs = [
            go_mod,
            go_sum,
            &packages.join(" "),
            &linker_flags(&kubernetes),
            &format!("{GO_ENVIRONMENT:?}"),
            std::env::consts::OS,
            std::env::consts::ARCH,
        ];
        let key = format!("kubernetes-{kubernetes}-etcd-{etcd}-{:08x}", short_hash(&inputs));
        Ok(Self { kubernetes, key })
    }

    /// The flags of the Go linker: no symbol tables, and the version stamp.
    pub(super) fn linker_flags(&self) -> String {
        linker_flags(&self.kubernetes)
    }
}

fn linker_flags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let stamp = [
        ("gitVersion", version),
        ("gitMajor", major),
        ("gitMinor", minor),
        ("gitTreeState", "clean"),
        // A fixed date, so that the same sources give the same bytes.
        ("buildDate", "1970-01-01T00:00:00Z"),
    ];
    let mut flags = vec!["-s -w".to_owned()];
    for package in STAMPED {
        flags.extend(stamp.iter().map(|(name, value)| format!("-X {package}.{name}={value}")));
    }
    flags.join(" ")
}

/// The version in the `require` line of a module; `replace` lines have an arrow where the version would be.
fn required_version(go_mod: &str, module: &str) -> Option<String> {
    go_mod.lines().find_map(|line| {
        let line = line.trim().trim_start_matches("require ");
        let version = line.strip_prefix(module)?.strip_prefix(' ')?.split_whitespace().next()?;
        version.starts_with('v').then(|| version.to_owned())
    })
}

/// FNV-1a folded to 32 bits: stable over compilers, which the hasher of the standard library does not promise.
fn short_hash(inputs: &[&str]) -> u32 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for input in inputs {
        // The separator keeps ("ab", "c") and ("a", "bc") apart.
        for byte in input.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    u32::try_from((hash >> 32) ^ (hash & 0xffff_ffff)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_MOD: &str = "module x\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.6.16 // indirect\n\
        \tk8s.io/kubernetes v1.36.3 // indirect\n)\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.36.3\n)\n";

    #[test]
    fn versions_come_from_the_require_lines() {
        assert_eq!(required_version(GO_MOD, "k8s.io/kubernetes").as_deref(), Some("v1.36.3"));
        assert_eq!(
            required_version("require k8s.io/kubernetes v1.2.3\n", "k8s.io/kubernetes").as_deref(),
            Some("v1.2.3")
        );
    }

    #[test]
    fn neither_a_replace_line_nor_a_longer_module_name_counts_as_required() {
        assert_eq!(required_version(GO_MOD, "k8s.io/api"), None);
        assert_eq!(required_version(GO_MOD, "k8s.io/kube"), None);
    }

    #[test]
    fn a_go_mod_without_kubernetes_is_refused_by_name() {
        let error = Recipe::from_texts("module x\n", "").unwrap_err().to_string();
        assert!(error.contains("xtask/kube/go.mod") && error.contains("`k8s.io/kubernetes`"), "{error}");
    }

    #[test]
    fn the_key_names_both_versions_and_changes_with_the_sums() {
        let key = |sums: &str| Recipe::from_texts(GO_MOD, sums).unwrap().key;
        assert!(key("a").starts_with("kubernetes-v1.36.3-etcd-v3.6.16-"), "{}", key("a"));
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
    }

    #[test]
    fn the_stamp_has_the_whole_version_and_its_two_numbers() {
        let flags = linker_flags("v1.36.3");
        for part in
            ["gitVersion=v1.36.3", "gitMajor=1 ", "gitMinor=36 ", "gitTreeState=clean", "buildDate=1970"]
        {
            assert!(flags.contains(&format!("k8s.io/component-base/version.{part}")), "{part} in {flags}");
        }
    }

    #[test]
    fn the_committed_module_can_be_read() {
        let recipe = Recipe::read(&super::super::go_module()).unwrap();
        assert!(recipe.kubernetes.starts_with("v1."), "{recipe:?}");
    }
}
