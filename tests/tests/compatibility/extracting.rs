//! What comes out of a release.

use std::fs;

use lockstep_payload::{Folder, MemoryFiles};
use lockstep_release::extract::{Filter, Provider, extract};
use lockstep_release::image::{ImageManifest, media_type};
use lockstep_release::open::{Image, Layers};
use lockstep_release::store::Layout;
use lockstep_release::{BlobSource, Descriptor, Digest, PlatformFilter, RawManifest, Store, Which};
use lockstep_tests::cli::{lockstep, root};
use lockstep_tests::layouts::{EXAMPLE, files};

use super::Difference;

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "extract-keeps-bytes",
        title: "What is extracted has the bytes that the release has",
        decision: "always exact",
        case: "a manifest file `a.json`",
        reference: "---\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n",
        ours: "{\"kind\": \"A\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\"}}\n",
        why: "The reference writes every file anew: comments are lost, and a `.json` file holds YAML. Here a file is written anew \
              only when some of its documents are left out.",
        observe: || {
            let text = "{\"kind\": \"A\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\"}}\n";
            let files = MemoryFiles::new("r").with(Folder::ReleaseManifests, "a.json", text);
            let filter = Filter { selection: None, credentials_requests: false, provider: Provider::Any };
            extract(&files, &filter)
                .unwrap()
                .files
                .into_iter()
                .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
                .collect()
        },
    },
    Difference {
        id: "extract-of-a-broken-file",
        title: "A file that cannot be read changes the exit code",
        decision: "always say why",
        case: "`extract --included` of a release with a file `kind: [`",
        reference: "exit code 0",
        ours: "exit code 1",
        why: "A script that goes on with what is in the folder has one file less than the release, and cannot know it. The other \
              files are written.",
        observe: broken_file,
    },
    Difference {
        id: "included-without-credentials",
        title: "`--included` works for platforms that have no credentials",
        decision: "always exact",
        case: "`extract --included --install-config`, where the platform is `none`",
        reference: "unrecognized platform for CredentialsRequests: \"none\"",
        ours: "exit code 0",
        why: "Nothing about credentials was asked for. With `--credentials-requests` such a platform gets none.",
        observe: platform_none,
    },
    Difference {
        id: "link-among-manifests",
        title: "A link among the manifests of an image is refused",
        decision: "always say why",
        case: "an image where `manifests/a.yaml` is a symbolic link",
        reference: "left out",
        ours: "manifests/a.yaml is a link; a release has regular files only",
        why: "The release would lack a manifest, and nobody is told.",
        observe: link,
    },
];

fn broken_file() -> String {
    let folder = tempfile::tempdir().unwrap();
    let release = folder.path().join("release");
    for part in ["manifests", "release-manifests"] {
        fs::create_dir_all(release.join(part)).unwrap();
        for (name, bytes) in files(&root().join(EXAMPLE).join(part)) {
            fs::write(release.join(part).join(name), bytes).unwrap();
        }
    }
    fs::write(release.join("release-manifests/0000_99_bad_1.yaml"), "kind: [").unwrap();
    let (release, to) = (release.to_str().unwrap(), folder.path().join("to"));
    let run = lockstep(&["release", "extract", release, "--included", "--to", to.to_str().unwrap()]);
    assert!(run.stderr.contains("error parsing 0000_99_bad_1.yaml"), "{}", run.stderr);
    format!("exit code {}", run.code)
}

fn platform_none() -> String {
    let folder = tempfile::tempdir().unwrap();
    let (config, to) = (folder.path().join("install-config.yaml"), folder.path().join("to"));
    fs::write(&config, "apiVersion: v1\nplatform: {none: {}}\n").unwrap();
    let [config, to] = [&config, &to].map(|path| path.to_str().unwrap());
    let run =
        lockstep(&["release", "extract", EXAMPLE, "--included", "--install-config", config, "--to", to]);
    format!("exit code {}", run.code)
}

/// A tar with a symbolic link, and nothing else.
fn tar_of_link(path: &str, target: &str) -> Vec<u8> {
    let mut bytes = vec![0; 512 + 1024];
    let mut put = |at: usize, text: &str| bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
    let numbers =
        [(100, "0000777"), (108, "0000000"), (116, "0000000"), (124, "00000000000"), (136, "00000000000")];
    for (at, text) in numbers.into_iter().chain([(148, "        "), (156, "2"), (257, "ustar"), (263, "00")])
    {
        put(at, text);
    }
    put(0, path);
    put(157, target);
    let sum: u32 = bytes[..512].iter().map(|byte| u32::from(*byte)).sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bytes
}

fn link() -> String {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::Layout(Layout::create(folder.path()).await.unwrap());
        let write = async |media_type: &str, bytes: Vec<u8>| {
            let blob = Descriptor::new(media_type, Digest::of(&bytes), bytes.len() as u64);
            store.write_blob(&blob, &BlobSource::memory(bytes)).await.unwrap();
            blob
        };
        let manifest = ImageManifest {
            schema_version: 2,
            media_type: media_type::OCI_MANIFEST.to_owned(),
            config: write(media_type::OCI_CONFIG, b"{}".to_vec()).await,
            layers: vec![write(media_type::OCI_LAYER, tar_of_link("manifests/a.yaml", "b.yaml")).await],
            annotations: std::collections::BTreeMap::new(),
        };
        let raw = RawManifest::of(&manifest, media_type::OCI_MANIFEST);
        store.write_manifest(Some("1"), &raw).await.unwrap();
        let image = Image::open(&store, &Which::Tag("1".to_owned()), &PlatformFilter::Host).await.unwrap();
        match image.folder("manifests", Layers::All).await {
            Ok(files) => format!("{} files", files.len()),
            Err(error) => error.to_string().split(" is refused: ").last().unwrap_or_default().to_owned(),
        }
    })
}
