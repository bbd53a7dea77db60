//! The kubeconfig of a lab: made, written, recognised, removed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use lockstep_payload::yaml;

use super::certificates::Certificates;

/// How the administrator of a kubeconfig logs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// With a bearer token.
    #[default]
    Token,
    /// With a client certificate.
    Certificate,
}

/// Why a kubeconfig cannot be written or removed.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file has something else in it.
    #[error(
        "`{}` is there and is not a kubeconfig of a lab, so it is left alone; name another file with --kubeconfig, or \
         move it away",
        .0.display()
    )]
    Foreign(PathBuf),
    /// The file that is there cannot be read.
    #[error("reading `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The file cannot be written.
    #[error("writing `{}`", .0.display())]
    Write(PathBuf, #[source] io::Error),
    /// The file cannot be removed.
    #[error("removing `{}`", .0.display())]
    Remove(PathBuf, #[source] io::Error),
}

/// The name of the cluster, the context and the mark; `kubectl config` keeps the mark when it edits the file.
const NAME: &str = "lockstep-lab";
const MARK: &str = "lockstep.dev/lab";

/// The kubeconfig as YAML.
pub(super) fn text(url: &str, token: &str, certificates: &Certificates, login: Login) -> String {
    let encode = |pem: &str| STANDARD.encode(pem);
    let user = match login {
        Login::Token => json!({"token": token}),
        Login::Certificate => {
            let (certificate, key) = certificates.admin();
            json!({"client-certificate-data": encode(&certificate), "client-key-data": encode(key)})
        }
    };
    yaml::write(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": NAME,
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "clusters": [{"name": NAME, "cluster": {
            "server": url,
            "certificate-authority-data": encode(certificates.authority()),
        }}],
        "users": [{"name": NAME, "user": user}],
        "extensions": [{"name": MARK, "extension": {"server": url}}],
    }))
}

/// Writes a file that only its owner can read. A kubeconfig of another lab is replaced, anything else is left alone.
pub(super) fn write(path: &Path, text: &str) -> Result<Option<String>, KubeconfigError> {
    let replaced = match read(path)? {
        Some(old) if !old.is_empty() => {
            Some(lab_of(&old).ok_or_else(|| KubeconfigError::Foreign(path.to_owned()))?)
        }
        _ => None,
    };
    let failed = |error| KubeconfigError::Write(path.to_owned(), error);
    // Beside the file, then moved: whoever reads sees the old one or the new one.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = path.with_file_name(name);
    let written = (|| {
        // Whatever has this name is a leftover, and must not lead elsewhere or be read by others.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    })();
    written.map(|()| replaced).map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// Removes the kubeconfig of the lab with this address; says whether it did.
pub(super) fn remove(path: &Path, url: &str) -> Result<bool, KubeconfigError> {
    let is_ours = read(path)?.and_then(|text| lab_of(&text)).is_some_and(|lab| lab == url);
    if is_ours {
        fs::remove_file(path).map_err(|error| KubeconfigError::Remove(path.to_owned(), error))?;
    }
    Ok(is_ours)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, KubeconfigError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(KubeconfigError::Read(path.to_owned(), error)),
    }
}

/// The address of the lab that a kubeconfig is of; `None` when it is something else or has more than that in it.
fn lab_of(text: &[u8]) -> Option<String> {
    let documents = yaml::documents(text).ok()?;
    let [document] = documents.as_slice() else {
        return None;
    };
    let config = &document.value;
    let has_one = |key: &str| config[key].as_array().is_some_and(|all| all.len() == 1);
    let mark = config["extensions"].as_array()?.iter().find(|it| it["name"] == MARK)?;
    let url = mark["extension"]["server"].as_str()?;
    (has_one("clusters") && has_one("users") && config["kind"] == "Config").then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn a_kubeconfig(url: &str, login: Login) -> String {
        text(url, "secret", &Certificates::make(std::net::Ipv4Addr::LOCALHOST.into()).unwrap(), login)
    }

    #[test]
    fn the_file_is_for_its_owner_alone_and_replaces_that_of_another_lab() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lab.kubeconfig");
        let first = write(&path, &a_kubeconfig("https://127.0.0.1:1", Login::Token)).unwrap();
        let second = write(&path, &a_kubeconfig("https://127.0.0.1:2", Login::Token)).unwrap();
        assert_eq!((first, second.as_deref()), (None, Some("https://127.0.0.1:1")));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&path).unwrap().contains("https://127.0.0.1:2"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_link_under_the_name_beside_it_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("lab.kubeconfig"), folder.path().join("other"));
        fs::write(&other, "mine").unwrap();
        let beside = folder.path().join(format!("lab.kubeconfig.{}.tmp", std::process::id()));
        std::os::unix::fs::symlink(&other, beside).unwrap();
        write(&path, &a_kubeconfig("https://127.0.0.1:1", Login::Token)).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn what_is_not_of_a_lab_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let ours = a_kubeconfig("https://127.0.0.1:1", Login::Token);
        let with_more = ours.replace("clusters:\n", "clusters:\n- name: other\n  cluster: {server: x}\n");
        assert_ne!(with_more, ours);
        let without_mark = ours.replace(MARK, "something.else");
        for foreign in ["apiVersion: v1\nkind: Config\n", "{ not yaml", &with_more, &without_mark] {
            fs::write(&path, foreign).unwrap();
            let error = write(&path, "new").unwrap_err();
            assert!(matches!(error, KubeconfigError::Foreign(_)), "{foreign}");
            assert!(error.to_string().contains("--kubeconfig"));
            assert!(!remove(&path, "https://127.0.0.1:1").unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
    }

    #[test]
    fn only_the_file_of_the_same_lab_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        write(&path, &a_kubeconfig("https://127.0.0.1:1", Login::Certificate)).unwrap();
        assert!(!remove(&path, "https://127.0.0.1:2").unwrap());
        assert!(remove(&path, "https://127.0.0.1:1").unwrap());
        assert!(!path.exists());
        assert!(!remove(&path, "https://127.0.0.1:1").unwrap(), "a missing file is fine");
    }

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let error = write(Path::new("missing/lab.kubeconfig"), "x").unwrap_err();
        assert!(error.to_string().contains("missing/lab.kubeconfig"), "{error}");
    }
}
