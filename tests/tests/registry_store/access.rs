//! Passwords, tokens and certificates: they open the registry they are for, and nobody else sees them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockstep_release::store::Registries;
use lockstep_release::{Access, BlobSource, Store, StoreError, Which};
use serde_json::json;
use tokio::net::TcpListener;
use xtask::registry::{Auth, Options, PASSWORD, USER};

use crate::front::{Act, Front, Seen, says};
use crate::stage::{Stage, all, an_image, blob, registries, repository};

/// `lockstep:secret` in base64.
const BASIC: &str = "bG9ja3N0ZXA6c2VjcmV0";

fn write_auth(folder: &Path, keys: &[String], auth: &str) {
    let auths: serde_json::Map<String, serde_json::Value> =
        keys.iter().map(|key| (key.clone(), json!({ "auth": auth }))).collect();
    std::fs::write(folder.join("auth.json"), json!({ "auths": auths }).to_string())
        .expect("the stage is set");
}

#[tokio::test]
async fn a_password_opens_the_registry_and_the_refused_are_told_which_was_used() {
    assert_eq!((USER, PASSWORD), ("lockstep", "secret"));
    let stage = Stage::with(&Options { auth: Auth::Basic, ..Options::default() });
    let folder = stage.folder.path();
    let image = an_image(1);
    let key = format!("{}/team", stage.address());
    write_auth(folder, std::slice::from_ref(&key), BASIC);
    let open = stage.registries();
    let store = repository(&open, stage.address(), "team/app");
    image.write(&store, "1").await;
    image.check(&store).await;

    let error =
        repository(&open, stage.address(), "other/app").find(&Which::Tag("1".into())).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StoreError::Denied { .. }), "{text}");
    assert!(text.contains("401") && text.contains("no credentials were found for"), "{text}");
    assert!(text.contains(&format!("`{}/other`", stage.address())) && text.contains("auth.json"), "{text}");

    write_auth(folder, std::slice::from_ref(&key), "bG9ja3N0ZXA6d3Jvbmc=");
    let wrong = repository(&stage.registries(), stage.address(), "team/app");
    let text = wrong.manifest(&Which::Tag("1".into())).await.unwrap_err().to_string();
    assert!(text.contains(&format!("the entry `{key}` of ")) && !text.contains("wrong"), "{text}");
}

/// A front of a registry that wants tokens: the service is part of it. Each token is good for so many requests.
async fn token_front(upstream: SocketAddr, most: u64) -> (Front, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("the stage is set");
    let realm = format!("http://{}/token", listener.local_addr().expect("the stage is set"));
    let given = Arc::new(AtomicU64::new(0));
    let used = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&given);
    let act = move |seen: &Seen| {
        if seen.path.starts_with("/token") {
            if seen.authorization.as_deref() != Some(&format!("Basic {BASIC}")) {
                return says(401, &[], r#"{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}"#);
            }
            let number = given.fetch_add(1, Ordering::Relaxed) + 1;
            used.store(0, Ordering::Relaxed);
            return says(200, &[], &format!(r#"{{"access_token":"t{number}","expires_in":300}}"#));
        }
        let good = format!("Bearer t{}", given.load(Ordering::Relaxed));
        if seen.authorization.as_deref() == Some(&good) && used.fetch_add(1, Ordering::Relaxed) < most {
            return Act::Forward(upstream);
        }
        let challenge = format!(r#"Bearer realm="{realm}",service="front",scope="x""#);
        says(401, &[("www-authenticate", &challenge)], "")
    };
    (Front::on(listener, act), count)
}

#[tokio::test]
async fn a_token_is_fetched_once_for_many_requests() {
    let stage = Stage::start();
    let (front, given) = token_front(stage.address(), u64::MAX).await;
    write_auth(stage.folder.path(), &[front.address.to_string()], BASIC);
    let open = stage.registries();
    let store = repository(&open, front.address, "a/b");
    let image = an_image(2);
    for (descriptor, _) in &image.blobs {
        assert_eq!(store.blob_size(&descriptor.digest).await.unwrap(), None);
    }
    assert_eq!(given.load(Ordering::Relaxed), 1);
    let seen = front.seen();
    let asked = seen.iter().find(|seen| seen.path.starts_with("/token")).unwrap();
    assert!(asked.path.contains("service=front") && asked.path.contains("scope=repository%3Aa%2Fb%3Apull"));
}

#[tokio::test]
async fn a_token_that_ends_early_is_renewed_in_the_middle_of_everything() {
    let stage = Stage::start();
    let (front, given) = token_front(stage.address(), 5).await;
    write_auth(stage.folder.path(), &[front.address.to_string()], BASIC);
    let store = repository(&stage.registries(), front.address, "a/b");
    let image = an_image(3);
    image.write(&store, "1").await;
    image.check(&store).await;
    assert!(given.load(Ordering::Relaxed) > 2);
    assert!(front.seen().iter().any(|seen| seen.method == "PATCH"));

    write_auth(stage.folder.path(), &["other.example.com".to_owned()], BASIC);
    let nobody = repository(&stage.registries(), front.address, "a/b");
    let text = nobody.find(&Which::Tag("1".into())).await.unwrap_err().to_string();
    assert!(text.contains("/token") && text.contains("no credentials were found"), "{text}");
}

#[tokio::test]
async fn credentials_never_go_to_a_token_service_of_another_host_in_the_clear() {
    let thief = Front::start(|_| says(200, &[], r#"{"token":"t"}"#)).await;
    let realm = format!("Bearer realm=\"http://localhost:{}/token\",service=\"x\"", thief.address.port());
    let registry = Front::start(move |_| says(401, &[("www-authenticate", &realm)], "")).await;
    let folder = tempfile::tempdir().unwrap();
    write_auth(folder.path(), &[registry.address.to_string()], BASIC);
    let store = repository(&registries(folder.path(), |_| {}), registry.address, "a");
    let text = store.find(&Which::Tag("1".into())).await.unwrap_err().to_string();
    let (from, to) = (registry.address.to_string(), format!("localhost:{}", thief.address.port()));
    assert!(text.contains("refused") && text.contains(&from) && text.contains(&to), "{text}");
    assert!(thief.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_to_another_host_is_followed_without_credentials() {
    let bytes = b"from elsewhere";
    let descriptor = blob(bytes);
    let elsewhere = Front::start(|seen: &Seen| match seen.path.as_str() {
        "/blob" => says(200, &[], "from elsewhere"),
        _ => says(401, &[("www-authenticate", "Basic realm=x")], ""),
    })
    .await;
    let target = elsewhere.address;
    let registry = Front::start(move |seen: &Seen| {
        if seen.authorization.as_deref() != Some(&format!("Basic {BASIC}")) {
            return says(401, &[("www-authenticate", "Basic realm=x")], "");
        }
        let to = match seen.path.as_str() {
            "/v2/" => return says(200, &[], ""),
            path if path.starts_with("/v2/a/blobs/sha256:") => format!("http://{target}/blob"),
            path if path.starts_with("/v2/a/manifests/round") => path.to_owned(),
            path if path.starts_with("/v2/a/blobs/uploads") => {
                let to = format!("http://{target}/upload");
                return says(202, &[("location", &to)], "");
            }
            _ => format!("http://{target}/wants-credentials"),
        };
        says(307, &[("location", &to)], "")
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let keys = [registry.address.to_string(), elsewhere.address.to_string()];
    write_auth(folder.path(), &keys, BASIC);
    let store = repository(&registries(folder.path(), |_| {}), registry.address, "a");

    let read = all(BlobSource::store(store.clone()).checked(&descriptor)).await.unwrap();
    assert_eq!(read, bytes);
    let error = store.manifest(&Which::Tag("1".into())).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StoreError::Denied { .. }), "{text}");
    assert!(text.contains(&registry.address.to_string()) && text.contains(&target.to_string()), "{text}");
    let text = store.manifest(&Which::Tag("round".into())).await.unwrap_err().to_string();
    assert!(text.contains("more than 5 redirects"), "{text}");
    assert!(!elsewhere.seen().is_empty());
    assert!(elsewhere.seen().iter().all(|seen| seen.authorization.is_none()), "{:?}", elsewhere.seen());
}

#[tokio::test]
async fn the_next_page_of_tags_is_not_asked_for_elsewhere_with_credentials() {
    let page = |link: String| says(200, &[("link", &format!("<{link}>; rel=\"next\""))], r#"{"tags":["1"]}"#);
    let elsewhere = Front::start(move |_| page("/v2/a/tags/list?last=1".to_owned())).await;
    let target = elsewhere.address;
    let registry = Front::start(move |seen: &Seen| {
        if seen.authorization.as_deref() != Some(&format!("Basic {BASIC}")) {
            return says(401, &[("www-authenticate", "Basic realm=x")], "");
        }
        match seen.path.as_str() {
            path if path.starts_with("/v2/a/") => {
                says(307, &[("location", &format!("http://{target}{path}"))], "")
            }
            path if path.starts_with("/v2/b/") => page(format!("http://{target}{path}")),
            _ => says(200, &[], ""),
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    write_auth(folder.path(), &[registry.address.to_string()], BASIC);
    let open = registries(folder.path(), |_| {});
    for name in ["a", "b"] {
        let text = repository(&open, registry.address, name).tags().await.unwrap_err().to_string();
        assert!(text.contains("refused") && text.contains(&registry.address.to_string()), "{text}");
        assert!(text.contains(&target.to_string()), "{text}");
    }
    assert_eq!(elsewhere.seen().len(), 1, "the page that the registry sent us for");
    assert!(elsewhere.seen().iter().all(|seen| seen.authorization.is_none()), "{:?}", elsewhere.seen());
}

#[tokio::test]
async fn an_upload_that_is_sent_to_another_host_is_refused() {
    let thief = Front::start(|_| says(202, &[], "")).await;
    let target = thief.address;
    let registry = Front::start(move |seen: &Seen| match seen.method.as_str() {
        "POST" => says(202, &[("location", &format!("http://{target}/upload"))], ""),
        "HEAD" => says(404, &[], ""),
        _ => says(200, &[], ""),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    write_auth(folder.path(), &[], "");
    let store = repository(&registries(folder.path(), |_| {}), registry.address, "a");
    let text = store.write_blob(&blob(b"x"), &BlobSource::memory("x")).await.unwrap_err().to_string();
    assert!(text.contains("refused") && text.contains(&target.to_string()), "{text}");
    assert!(thief.seen().is_empty());
}

/// A certificate for this machine, its key, and the authority that clients need: itself.
fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("the stage is set");
    params.subject_alt_names.push(rcgen::SanType::IpAddress([127, 0, 0, 1].into()));
    let key = rcgen::KeyPair::generate().expect("the stage is set");
    let certificate = params.self_signed(&key).expect("the stage is set");
    let paths = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&paths.0, certificate.pem()).expect("the stage is set");
    std::fs::write(&paths.1, key.serialize_pem()).expect("the stage is set");
    paths
}

#[tokio::test]
async fn a_certificate_is_trusted_only_when_its_authority_is_named() {
    let certificates = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(certificates.path());
    let stage = Stage::with(&Options { tls: Some((certificate.clone(), key)), ..Options::default() });
    let store = |change: &dyn Fn(&mut Access)| {
        let open = stage.registries_with(|access| {
            access.plain_http = false;
            change(access);
        });
        repository(&open, stage.address(), "a")
    };
    let image = an_image(4);
    let trusting = store(&|access| access.certificate_authority = Some(certificate.clone()));
    image.write(&trusting, "1").await;
    image.check(&trusting).await;
    let careless = store(&|access| access.insecure = true);
    assert_eq!(careless.tags().await.unwrap(), ["1"]);
    let text = store(&|_| {}).tags().await.unwrap_err().to_string();
    assert!(
        text.contains("certificate is not trusted") && text.contains("--certificate-authority"),
        "{text}"
    );
}

#[tokio::test]
async fn plain_http_is_spoken_only_on_request() {
    let stage = Stage::start();
    let image = an_image(5);
    image.write(&stage.store("a"), "1").await;
    let tags = async |insecure: bool| {
        let open = stage.registries_with(|access| (access.plain_http, access.insecure) = (false, insecure));
        let store: Store = repository(&open, stage.address(), "a");
        store.tags().await.map_err(|error| error.to_string())
    };
    assert_eq!(tags(true).await, Ok(vec!["1".to_owned()]));
    let text = tags(false).await.unwrap_err();
    assert!(text.contains("does not speak TLS") && text.contains("--plain-http"), "{text}");
}

#[tokio::test]
async fn a_file_with_certificates_must_have_some() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("auth.json"), "{}").unwrap();
    std::fs::write(folder.path().join("ca.pem"), "no").unwrap();
    for name in ["ca.pem", "gone.pem"] {
        let access = Access {
            registry_config: Some(folder.path().join("auth.json")),
            certificate_authority: Some(folder.path().join(name)),
            ..Access::default()
        };
        let text = Registries::new(access).unwrap_err().to_string();
        assert!(text.starts_with("failed to read registry ca bundle: "), "{text}");
    }
}
