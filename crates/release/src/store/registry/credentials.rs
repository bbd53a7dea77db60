//! Credentials from the files where `podman` and `docker` keep them.
//!
//! A file that was named must be there and be right. In the usual places what is missing or cannot be read is passed over, and
//! is told to whoever is then refused.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::Value;

use super::helper;
use crate::reference::{HUB, PullSpec};
use crate::store::StoreError;

/// The name of the hub in credential files.
const HUB_KEY: &str = "index.docker.io";
/// The name of the hub for credential helpers.
const HUB_URL: &str = "https://index.docker.io/v1/";

/// All credentials that are known, and where they were looked for.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    files: Vec<AuthFile>,
    /// Files that were looked for, each with what came of it.
    looked: Vec<String>,
}

/// One file.
#[derive(Debug, Default)]
struct AuthFile {
    path: PathBuf,
    entries: BTreeMap<String, Secret>,
    /// Programs that know the credentials of a host.
    helpers: BTreeMap<String, String>,
    /// The program that knows all others.
    store: Option<String>,
}

/// What proves who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Secret {
    /// A name and a password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// What a token service takes instead of a password.
    Identity(String),
    /// A token for the registry itself.
    Token(String),
}

/// A secret, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) secret: Secret,
    /// Key and file, for messages.
    pub(super) origin: String,
}

/// Where the usual places are.
type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

// === impl Credentials ===

impl Credentials {
    /// Reads the named file, or else the one that the environment names, or else all usual places.
    pub(super) fn load(named: Option<&Path>, variables: Variables<'_>) -> Result<Self, StoreError> {
        let variable = |name: &str| variables(name).filter(|value| !value.is_empty());
        let from_environment = variable("REGISTRY_AUTH_FILE").map(PathBuf::from);
        let (chosen, how) = match (named, &from_environment) {
            (Some(path), _) => (Some(path), "--registry-config"),
            (None, Some(path)) => (Some(path.as_path()), "${REGISTRY_AUTH_FILE}"),
            (None, None) => (None, ""),
        };
        if let Some(path) = chosen {
            let file = AuthFile::load(path).map_err(|why| {
                StoreError::Refused(format!("unable to load {how}: {}: {why}", path.display()))
            })?;
            return Ok(Self { files: vec![file], looked: vec![path.display().to_string()] });
        }
        let mut credentials = Self::default();
        for path in usual_places(&variable) {
            let shown = path.display();
            if !path.is_file() {
                credentials.looked.push(format!("{shown} (not there)"));
                continue;
            }
            match AuthFile::load(&path) {
                Ok(file) => {
                    credentials.looked.push(shown.to_string());
                    credentials.files.push(file);
                }
                Err(why) => credentials.looked.push(format!("{shown} (cannot be read: {why})")),
            }
        }
        Ok(credentials)
    }

    /// Reads the pull secret of a cluster: then nothing else is looked at, and no program is asked.
    pub(super) fn of_pull_secret(secret: Option<&[u8]>) -> Result<Self, StoreError> {
        const NAME: &str = "the pull secret of the cluster";
        let Some(bytes) = secret else {
            return Ok(Self { files: Vec::new(), looked: vec![format!("{NAME} (not there)")] });
        };
        let refused = |why: String| StoreError::Refused(format!("{NAME} cannot be read: {why}"));
        // NB: the error of the parser would quote the secret.
        let value = serde_json::from_slice(bytes).map_err(|_| refused("it is no JSON".to_owned()))?;
        let mut file = AuthFile::read(Path::new(NAME), &value).map_err(refused)?;
        (file.helpers, file.store) = (BTreeMap::new(), None);
        Ok(Self { files: vec![file], looked: vec![NAME.to_owned()] })
    }

    /// The credentials for a repository: the file that comes first, and in it the most exact key.
    ///
    /// A helper is a program: this may take a while and must not be called where others wait.
    pub(super) fn find(&self, spec: &PullSpec) -> Result<Option<Found>, StoreError> {
        for file in &self.files {
            if let Some(found) = file.find(spec).map_err(StoreError::Refused)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Where one looked in vain, for whoever was refused.
    pub(super) fn nothing_found(&self, spec: &PullSpec) -> String {
        if self.looked.is_empty() {
            return "no credentials were found, there is no place to look for them".to_owned();
        }
        let keys: Vec<String> = keys(spec).iter().map(|key| format!("`{key}`")).collect();
        format!("no credentials were found for {} in {}", keys.join(", "), self.looked.join(", "))
    }
}

// === impl AuthFile ===

impl AuthFile {
    fn load(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Self::read(path, &value)
    }

    fn read(path: &Path, value: &Value) -> Result<Self, String> {
        // The oldest format is the map of credentials alone.
        let is_oldest = path.file_name().is_some_and(|name| name == ".dockercfg");
        let auths = if is_oldest { value } else { &value["auths"] };
        let mut entries = BTreeMap::new();
        for (key, entry) in auths.as_object().into_iter().flatten() {
            if let Some(secret) = Secret::read(entry).map_err(|why| format!("the entry {key:?}: {why}"))? {
                entries.insert(key.clone(), secret);
            }
        }
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let helpers = value["credHelpers"].as_object().into_iter().flatten();
        Ok(Self {
            path: path.to_owned(),
            entries,
            helpers: helpers.filter_map(|(host, name)| Some((host.clone(), text(name)?))).collect(),
            store: text(&value["credsStore"]),
        })
    }

    fn find(&self, spec: &PullSpec) -> Result<Option<Found>, String> {
        let host = host(spec);
        let server = if spec.is_hub() { HUB_URL } else { &host };
        if let Some(name) = self.helpers.get(&host).or_else(|| self.helpers.get(server)) {
            return self.ask(name, server);
        }
        if let Some((key, secret)) = self.entry(spec) {
            let origin = format!("the entry `{key}` of {}", self.path.display());
            return Ok(Some(Found { secret: secret.clone(), origin }));
        }
        match &self.store {
            Some(name) => self.ask(name, server),
            None => Ok(None),
        }
    }

    /// The most exact key, then keys in the form of an address.
    fn entry(&self, spec: &PullSpec) -> Option<(&String, &Secret)> {
        let exact = keys(spec).into_iter().find_map(|key| self.entries.get_key_value(&key));
        exact.or_else(|| {
            let wanted = hub_key(&host(spec)).to_owned();
            self.entries.iter().find(|(key, _)| hub_key(&host_of_key(key)) == wanted)
        })
    }

    fn ask(&self, name: &str, server: &str) -> Result<Option<Found>, String> {
        let origin = format!("docker-credential-{name} (named in {})", self.path.display());
        let secret = helper::get(name, server).map_err(|why| format!("{origin}: {why}"))?;
        Ok(secret.map(|secret| Found { secret, origin }))
    }
}

// === impl Secret ===

impl Secret {
    /// Reads an entry; an empty one only says that a helper knows more.
    fn read(entry: &Value) -> Result<Option<Self>, String> {
        let text = |key: &str| entry[key].as_str().filter(|text| !text.is_empty());
        if let Some(token) = text("registrytoken") {
            return Ok(Some(Self::Token(token.to_owned())));
        }
        if let Some(token) = text("identitytoken") {
            return Ok(Some(Self::Identity(token.to_owned())));
        }
        if let Some(auth) = text("auth") {
            let wrong = || "`auth` is not the base64 of `user:password`".to_owned();
            let bytes = base64::engine::general_purpose::STANDARD.decode(auth.trim()).map_err(|_| wrong())?;
            let text = String::from_utf8(bytes).map_err(|_| wrong())?;
            let (user, password) = text.split_once(':').ok_or_else(wrong)?;
            // Some writers pad the password with NUL.
            let password = password.trim_end_matches('\0').to_owned();
            return Ok(Some(Self::Basic { user: user.to_owned(), password }));
        }
        Ok(text("username")
            .zip(text("password"))
            .map(|(user, password)| Self::Basic { user: user.to_owned(), password: password.to_owned() }))
    }
}

/// The usual places, in the order in which they are looked at.
fn usual_places(variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from);
    let home = folder("HOME");
    let run = folder("XDG_RUNTIME_DIR").map(|run| run.join("containers")).or_else(run_folder);
    let config = folder("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let podman = [run, config.map(|config| config.join("containers"))].into_iter().flatten();
    let podman = podman.map(|folder| folder.join("auth.json"));
    let docker = folder("DOCKER_CONFIG").or_else(|| home.as_ref().map(|home| home.join(".docker")));
    let docker = docker.map(|folder| folder.join("config.json"));
    let docker = docker.into_iter().chain(home.map(|home| home.join(".dockercfg")));
    if variable("REGISTRY_AUTH_PREFERENCE").is_some_and(|value| value == "docker") {
        return docker.chain(podman).collect();
    }
    podman.chain(docker).collect()
}

/// Where `podman` keeps credentials without a session: the number of the user is that of our own process.
fn run_folder() -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let user = std::fs::metadata("/proc/self").ok()?.uid();
    Some(PathBuf::from(format!("/run/containers/{user}")))
}

fn host(spec: &PullSpec) -> String {
    if spec.registry.is_empty() { HUB.to_owned() } else { spec.registry.clone() }
}

/// `host/a/b`, `host/a`, `host`.
fn keys(spec: &PullSpec) -> Vec<String> {
    let mut key = format!("{}/{}", host(spec), spec.path());
    let mut keys = vec![key.clone()];
    while let Some(at) = key.rfind('/') {
        key.truncate(at);
        keys.push(key.clone());
    }
    keys
}

/// The host of a key that is an address; other keys are left as they are, or a key for one path would serve all.
fn host_of_key(key: &str) -> String {
    let bare = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
    let is_old_address = [("/v1/"), ("/v2/"), ("/v1"), ("/v2")].iter().any(|end| key.ends_with(end));
    match bare {
        Some(rest) => rest.split('/').next().unwrap_or_default().to_owned(),
        None if is_old_address => key.split('/').next().unwrap_or_default().to_owned(),
        None => key.to_owned(),
    }
}

/// One name for all names of the hub.
fn hub_key(host: &str) -> &str {
    match host {
        HUB | "registry-1.docker.io" => HUB_KEY,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn encoded(user: &str) -> String {
        base64::engine::general_purpose::STANDARD.encode(format!("{user}:p:w"))
    }

    fn file(auths: &[&str]) -> AuthFile {
        let auths: serde_json::Map<String, Value> =
            auths.iter().map(|key| ((*key).to_owned(), json!({"auth": encoded(key)}))).collect();
        AuthFile::read(Path::new("/auth.json"), &json!({ "auths": auths })).unwrap()
    }

    /// The key that serves a repository.
    fn served(keys: &[&str], repository: &str) -> Option<String> {
        let spec = PullSpec::parse(repository).unwrap();
        file(keys).entry(&spec).map(|(key, _)| key.clone())
    }

    #[test]
    fn all_names_of_the_hub_serve_all_names_of_the_hub() {
        for key in ["index.docker.io", "docker.io", "registry-1.docker.io", "https://index.docker.io/v1/"] {
            for repository in ["debian", "docker/docker", "docker.io/library/debian"] {
                assert_eq!(served(&[key], repository).as_deref(), Some(key), "{repository}");
            }
            assert_eq!(served(&[key], "r.example.com/debian"), None);
        }
    }

    #[test]
    fn ports_must_be_the_same() {
        assert!(served(&["localhost:5000"], "localhost:5000/a").is_some());
        assert!(served(&["localhost:5000"], "localhost/a").is_none());
        assert!(served(&["localhost:5000"], "localhost:5001/a").is_none());
        assert!(served(&["https://localhost"], "localhost/a").is_some());
        assert!(served(&["localhost:80"], "localhost/a").is_none());
        assert!(served(&["localhost"], "localhost:443/a").is_none());
    }

    #[test]
    fn the_most_exact_key_serves_and_a_path_serves_only_itself() {
        let keys = ["h.io", "h.io/a", "h.io/a/b"];
        for (repository, key) in [("h.io/a/b", "h.io/a/b"), ("h.io/a/c", "h.io/a"), ("h.io/x", "h.io")] {
            assert_eq!(served(&keys, repository).as_deref(), Some(key));
        }
        assert_eq!(served(&["h.io/a"], "h.io/b"), None);
        assert_eq!(served(&["h.io/a"], "h.io/ab"), None);
        assert_eq!(served(&["https://h.io/v2/"], "h.io/b").as_deref(), Some("https://h.io/v2/"));
    }

    #[test]
    fn an_entry_is_a_password_an_identity_or_nothing() {
        let read = |entry: Value| Secret::read(&entry);
        let basic = Secret::Basic { user: "u".to_owned(), password: "p:w".to_owned() };
        assert_eq!(read(json!({"auth": encoded("u")})), Ok(Some(basic)));
        assert_eq!(
            read(json!({"auth": encoded("u"), "identitytoken": "t"})),
            Ok(Some(Secret::Identity("t".to_owned())))
        );
        assert_eq!(read(json!({})), Ok(None));
        assert!(read(json!({"auth": "?"})).unwrap_err().contains("base64"));
    }

    #[test]
    fn places_come_in_the_order_of_podman_and_docker() {
        let places = |more: &[(&str, &str)]| {
            let mut values = BTreeMap::from([("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]);
            values.extend(more.iter().copied());
            let variable = |name: &str| values.get(name).map(OsString::from);
            let places = usual_places(&variable);
            places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>()
        };
        let usual = [
            "/r/containers/auth.json",
            "/h/.config/containers/auth.json",
            "/h/.docker/config.json",
            "/h/.dockercfg",
        ];
        assert_eq!(places(&[]), usual);
        let moved = places(&[
            ("XDG_CONFIG_HOME", "/c"),
            ("DOCKER_CONFIG", "/d"),
            ("REGISTRY_AUTH_PREFERENCE", "docker"),
        ]);
        assert_eq!(
            moved,
            ["/d/config.json", "/h/.dockercfg", "/r/containers/auth.json", "/c/containers/auth.json"]
        );
    }

    #[test]
    fn a_named_file_must_be_there_and_be_right() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        let load = |named: Option<&Path>, variable: Option<&Path>| {
            let variable = variable.map(|path| path.as_os_str().to_owned());
            let variables = |name: &str| variable.clone().filter(|_| name == "REGISTRY_AUTH_FILE");
            Credentials::load(named, &variables).map_err(|error| error.to_string())
        };
        assert!(load(Some(&path), None).unwrap_err().starts_with("unable to load --registry-config: "));
        assert!(load(None, Some(&path)).unwrap_err().starts_with("unable to load ${REGISTRY_AUTH_FILE}: "));
        std::fs::write(&path, json!({"auths": {"h.io": {"auth": "?"}}}).to_string()).unwrap();
        assert!(load(Some(&path), None).unwrap_err().contains("the entry \"h.io\""));
        std::fs::write(&path, json!({"auths": {"h.io": {"auth": encoded("u")}}}).to_string()).unwrap();
        let credentials = load(Some(&path), None).unwrap();
        let found = credentials.find(&PullSpec::parse("h.io/a").unwrap()).unwrap().unwrap();
        assert_eq!(found.origin, format!("the entry `h.io` of {}", path.display()));
        let missing = PullSpec::parse("other.io/a").unwrap();
        assert_eq!(credentials.find(&missing).unwrap(), None);
        let text = credentials.nothing_found(&missing);
        assert!(text.contains("`other.io/a`, `other.io`") && text.contains("auth.json"), "{text}");
    }

    #[test]
    fn the_oldest_format_is_read() {
        let value = json!({"h.io": {"auth": encoded("u")}});
        let file = AuthFile::read(Path::new("/h/.dockercfg"), &value).unwrap();
        assert!(file.entry(&PullSpec::parse("h.io/a").unwrap()).is_some());
    }
}
