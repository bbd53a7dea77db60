//! One repository at one registry: the requests that are not about the content of blobs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, header};
use serde_json::Value;

use super::answer::{Answer, code, refusal};
use super::auth::Scope;
use super::host::{Ask, Host, Target};
use super::patience::pause;
use super::redirect;
use crate::digest::Digest;
use crate::image::{MAX_MANIFEST_BYTES, RawManifest, media_type};
use crate::reference::{HUB, PullSpec, check_tag};
use crate::store::{StoreError, Which};

/// How often a manifest that is not what it should be is fetched again, or sent again.
const MOST_TRIES: u32 = 4;
/// Most pages of tags that are read.
const MOST_PAGES: usize = 1000;
/// Largest page of tags, in bytes.
const MAX_PAGE_BYTES: u64 = 16 * 1024 * 1024;

/// One repository at one registry.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Without tag and digest.
    pub(super) spec: PullSpec,
    pub(super) host: Arc<Host>,
}

// === impl Place ===

impl Place {
    /// The repository as the registry knows it.
    pub(super) fn path(&self) -> String {
        self.spec.path()
    }

    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer, StoreError> {
        self.host.ask(ask, &self.spec).await
    }

    fn manifest_ask(&self, method: Method, which: &Which) -> Result<Ask, StoreError> {
        let name = match which {
            Which::Digest(digest) => digest.as_str(),
            Which::Tag(tag) => {
                check_tag(tag).map_err(StoreError::Refused)?;
                tag
            }
        };
        let scope = if method == Method::PUT { Scope::push(&self.path()) } else { Scope::pull(&self.path()) };
        let target = Target::Path(format!("{}/manifests/{name}", self.path()));
        Ok(Ask::new(method, target, scope, self.shown(which)))
    }

    /// The pull spec of an image.
    fn shown(&self, which: &Which) -> String {
        match which {
            Which::Tag(tag) => self.spec.with_tag(tag).to_string(),
            Which::Digest(digest) => self.spec.with_digest(digest).to_string(),
        }
    }

    fn not_found(&self, which: &Which) -> StoreError {
        StoreError::NotFound { what: which.to_string(), store: self.to_string() }
    }

    /// A manifest as it came; one whose digest is not what the request or the registry says is fetched again.
    pub(super) async fn manifest(&self, which: &Which) -> Result<RawManifest, StoreError> {
        let ask =
            self.manifest_ask(Method::GET, which)?.header(header::ACCEPT, &media_type::MANIFESTS.join(", "));
        let mut tries = self.host.patience.tries();
        loop {
            // What fails here was tried often enough.
            let answer = self.ask(&ask).await?;
            match self.manifest_of(answer, &ask, which).await {
                Err(error @ (StoreError::Mismatch { .. } | StoreError::Network { .. })) => {
                    if !tries.again(&error, None, MOST_TRIES, Duration::ZERO).await {
                        return Err(error);
                    }
                }
                outcome => return outcome,
            }
        }
    }

    async fn manifest_of(&self, answer: Answer, ask: &Ask, which: &Which) -> Result<RawManifest, StoreError> {
        match answer.status().as_u16() {
            200 => {}
            404 => return Err(self.not_found(which)),
            _ => return Err(answer.failed(&ask.what).await),
        }
        let format = answer.header("content-type").unwrap_or_default();
        let promised = answer.header("docker-content-digest").and_then(|text| Digest::parse(&text).ok());
        let length = answer.length();
        let bytes = answer.bytes(MAX_MANIFEST_BYTES, &ask.what).await?;
        if length.is_some_and(|length| length != bytes.len() as u64) {
            let why = "the answer broke off".to_owned();
            return Err(StoreError::Network { what: ask.what.clone(), why });
        }
        let manifest = RawManifest::new(bytes, &format);
        let wanted = match which {
            Which::Digest(digest) => Some(digest.clone()),
            Which::Tag(_) => promised,
        };
        match wanted {
            Some(wanted) if !wanted.is_of(&manifest.bytes) => Err(StoreError::Mismatch {
                what: format!("the manifest {wanted}"),
                store: self.to_string(),
                why: format!("the digest calculated from the content is {}", manifest.digest),
            }),
            _ => Ok(manifest),
        }
    }

    /// The digest of a manifest that is there.
    pub(super) async fn find(&self, which: &Which) -> Result<Option<Digest>, StoreError> {
        let ask =
            self.manifest_ask(Method::HEAD, which)?.header(header::ACCEPT, &media_type::MANIFESTS.join(", "));
        let answer = self.ask(&ask).await?;
        let promised = answer.header("docker-content-digest").and_then(|text| Digest::parse(&text).ok());
        match (answer.status().as_u16(), which, promised) {
            (404, ..) => Ok(None),
            (200, Which::Digest(digest), _) => Ok(Some(digest.clone())),
            (200, Which::Tag(_), Some(digest)) => Ok(Some(digest)),
            // Registries that do not say the digest, or do not answer to HEAD.
            (200 | 405, ..) => {
                // NB: the answer holds a place at the gate, and the next request needs one.
                drop(answer);
                match self.manifest(which).await {
                    Ok(manifest) => Ok(Some(manifest.digest)),
                    Err(error) if error.is_not_found() => Ok(None),
                    Err(error) => Err(error),
                }
            }
            _ => Err(answer.failed(&ask.what).await),
        }
    }

    pub(super) async fn blob_size(&self, digest: &Digest) -> Result<Option<u64>, StoreError> {
        let target = Target::Path(format!("{}/blobs/{digest}", self.path()));
        let what = format!("{self}: the blob {digest}");
        let ask = Ask::new(Method::HEAD, target, Scope::pull(&self.path()), &what);
        let answer = self.ask(&ask).await?;
        match answer.status().as_u16() {
            200 => match answer.length() {
                Some(length) => Ok(Some(length)),
                None => {
                    Err(StoreError::Answer { what, status: 200, why: "without Content-Length".to_owned() })
                }
            },
            404 => Ok(None),
            _ => Err(answer.failed(&what).await),
        }
    }

    /// All tags; pages are followed at the same registry only.
    pub(super) async fn tags(&self) -> Result<Vec<String>, StoreError> {
        let what = format!("{self}: the list of tags");
        let mut target = Target::Path(format!("{}/tags/list?n=1000", self.path()));
        let mut tags = Vec::new();
        for _ in 0..MOST_PAGES {
            let ask = Ask::new(Method::GET, target, Scope::pull(&self.path()), &what);
            let answer = self.ask(&ask).await?;
            match answer.status().as_u16() {
                200 => {}
                404 => {
                    return Err(StoreError::NotFound {
                        what: "the repository".to_owned(),
                        store: self.to_string(),
                    });
                }
                _ => return Err(answer.failed(&what).await),
            }
            let next = answer.header("link").as_deref().and_then(next_page).map(str::to_owned);
            let at = answer.response.url().clone();
            let page = answer.bytes(MAX_PAGE_BYTES, &what).await?;
            let page: Value = serde_json::from_slice(&page)
                .map_err(|error| StoreError::Refused(format!("{what}: {error}")))?;
            let page = page["tags"].as_array().into_iter().flatten();
            tags.extend(page.filter_map(|tag| tag.as_str().map(str::to_owned)));
            let Some(next) = next else {
                tags.sort();
                tags.dedup();
                return Ok(tags);
            };
            let refused = |why: String| StoreError::Refused(format!("{what}: {why}"));
            target = Target::Url(redirect::upload(&at, &next).map_err(refused)?);
        }
        Err(StoreError::Refused(format!("{what}: more than {MOST_PAGES} pages")))
    }

    /// Writes a manifest; the registry must agree about its digest.
    pub(super) async fn write_manifest(
        &self,
        tag: Option<&str>,
        manifest: &RawManifest,
    ) -> Result<(), StoreError> {
        let which = match tag {
            Some(tag) => Which::Tag(tag.to_owned()),
            None => Which::Digest(manifest.digest.clone()),
        };
        let mut ask =
            self.manifest_ask(Method::PUT, &which)?.header(header::CONTENT_TYPE, &manifest.media_type);
        ask.body = manifest.bytes.clone();
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.ask(&ask).await?;
            let status = answer.status().as_u16();
            if (200..300).contains(&status) {
                let kept = answer.header("docker-content-digest").and_then(|text| Digest::parse(&text).ok());
                return match kept {
                    Some(kept) if !kept.is_of(&manifest.bytes) => Err(StoreError::Mismatch {
                        what: format!("the manifest {}", manifest.digest),
                        store: self.to_string(),
                        why: format!("the registry keeps it as {kept}"),
                    }),
                    _ => Ok(()),
                };
            }
            let bytes = answer.bytes(refusal::MAX_BYTES, &ask.what).await.unwrap_or_default();
            // Some registries do not see at once what was uploaded a moment ago.
            let is_early = matches!(
                code(&bytes).as_deref(),
                Some("MANIFEST_BLOB_UNKNOWN" | "BLOB_UNKNOWN" | "MANIFEST_INVALID" | "MANIFEST_UNKNOWN")
            );
            if !is_early || tries == MOST_TRIES {
                let why = super::answer::said(&bytes);
                return Err(StoreError::Answer { what: ask.what, status, why });
            }
            tokio::time::sleep(pause(tries, None)).await;
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(formatter)
    }
}

/// Host and port of a registry.
pub(super) fn authority(spec: &PullSpec) -> String {
    match spec.registry.as_str() {
        "" | HUB | "index.docker.io" => "registry-1.docker.io".to_owned(),
        other => other.to_owned(),
    }
}

/// The address in `Link: </v2/a/tags/list?last=x>; rel="next"`.
fn next_page(link: &str) -> Option<&str> {
    let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found() {
        assert_eq!(
            next_page(r#"</v2/a/tags/list?last=x&n=1>; rel="next""#),
            Some("/v2/a/tags/list?last=x&n=1")
        );
        assert_eq!(next_page(r#"</v2/a>; rel="prev""#), None);
        assert_eq!(next_page(""), None);
    }

    #[test]
    fn names_of_the_hub_are_where_the_hub_listens() {
        let at = |text: &str| authority(&PullSpec::parse(text).unwrap());
        assert_eq!(at("debian"), "registry-1.docker.io");
        assert_eq!(at("docker.io/library/debian"), "registry-1.docker.io");
        assert_eq!(at("r.example.com:5000/a"), "r.example.com:5000");
    }
}
