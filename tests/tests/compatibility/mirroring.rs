//! How a release is mirrored, and how registries are spoken to.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use lockstep_release::store::{Access, Layout, Registries};
use lockstep_release::{BlobSource, Descriptor, Digest, PullSpec, Store, Which};
use lockstep_tests::cli::{Run, lockstep};
use lockstep_tests::fault_proxy::{Fault, FaultProxy, Kind, Plan, When};
use lockstep_tests::made_release::{Made, Recipe};
use xtask::registry::{Options, Registry};

use super::Difference;

/// What forty requests take at least when five go at once and then five in a second.
const AT_FIVE_A_SECOND: Duration = Duration::from_secs(7);

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "upload-that-breaks",
        title: "An upload that breaks goes on where it was",
        decision: "always end well if it can be done",
        case: "a blob of 12 MB to a registry; the connection ends after 6 MB",
        reference: "unable to copy layer: unexpected EOF",
        ours: "written, 1 upload was begun",
        why: "The reference tries no upload again: one connection that breaks ends a mirror of hundreds of images. Downloads go on \
              where they were as well, and begin at byte 0 there.",
        observe: || run(upload()),
    },
    Difference {
        id: "requests-in-a-second",
        title: "A registry says itself when it is asked too often",
        decision: "always as fast as it goes",
        case: "forty questions to one repository, six at a time",
        reference: "7 s or more",
        ours: "less than 7 s",
        why: "The reference asks a repository five times in a second, whatever the registry can bear, and cannot be told otherwise. \
              Here so many requests go at a time (`--max-per-registry`), and a registry that answers 429 is given the time that it \
              asks for.",
        observe: || run(questions()),
    },
    Difference {
        id: "mirror-set",
        title: "What a cluster is told is an ImageDigestMirrorSet",
        decision: "nothing that is deprecated by default",
        case: "a mirror to a registry, without `--print-mirror-instructions`",
        reference: "kind: ImageContentSourcePolicy",
        ours: "kind: ImageDigestMirrorSet",
        why: "The other is deprecated, and the reference says so beside it; `--print-mirror-instructions icsp` still gives it.",
        observe: || {
            let kind = mirrored().run.stdout.lines().find(|line| line.starts_with("kind: "));
            kind.unwrap_or_default().to_owned()
        },
    },
    Difference {
        id: "list-of-one-image",
        title: "A manifest list of one image is mirrored as a list",
        decision: "always exact",
        case: "a release that names, by its digest, a list with one image",
        reference: "at the tag: the image",
        ours: "at the tag: the list",
        why: "The pull spec names the digest of the list, and a cluster that asks the mirror for it finds nothing. The reference needs \
              `--keep-manifest-list` for it; here lists are copied whole, always.",
        observe: || {
            let found = mirrored().list.as_ref() == mirrored().made.images.get("part-of-list");
            format!("at the tag: the {}", if found { "list" } else { "image" })
        },
    },
    Difference {
        id: "signatures-are-mirrored",
        title: "Signatures come along",
        decision: "a mirror is complete",
        case: "a release of which three images have a signature beside them",
        reference: "0 tags that end in .sig",
        ours: "3 tags that end in .sig",
        why: "A cluster whose policy asks for signatures cannot pull from a mirror without them. `--skip-signatures` leaves them out.",
        observe: || {
            let count = mirrored().tags.iter().filter(|tag| tag.strip_suffix(".sig").is_some()).count();
            format!("{count} tags that end in .sig")
        },
    },
    Difference {
        id: "mirror-is-verified",
        title: "What is at the destination is looked at when all is written, and mended",
        decision: "nothing is believed because it was written",
        case: "a second mirror to a folder where one bit of a layer has turned",
        reference: "exit code 0, the bit stays",
        ours: "exit code 0, the layer is right",
        why: "A registry is asked for every manifest, blob and tag, and on disk every byte is hashed again. What is missing or wrong \
              is written once more and told; if that does not help, the exit code is 1.",
        observe: || run(turned_bit()),
    },
];

/// A release that was mirrored by the command from a folder to a registry.
struct Mirrored {
    made: Made,
    run: Run,
    tags: Vec<String>,
    /// What the tag of the list of one image points to.
    list: Option<Digest>,
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn repository(address: impl std::fmt::Display, name: &str) -> Store {
    let access = Access { plain_http: true, per_registry: 6, ..Access::default() };
    let spec = PullSpec::parse(&format!("{address}/{name}")).unwrap();
    Store::Registry(Registries::new(access).unwrap().repository(&spec).unwrap())
}

async fn upload() -> String {
    let registry = Registry::start(&Options::default()).unwrap();
    let plan = Plan::seeded(0).with(Kind::UploadPatch, When::First(1), Fault::DropUpload(6_000_000));
    let proxy = FaultProxy::start(registry.address(), plan).await.unwrap();
    let bytes = vec![7; 12_000_000];
    let blob = Descriptor::new("", Digest::of(&bytes), bytes.len() as u64);
    let outcome = repository(proxy.address, "a").write_blob(&blob, &BlobSource::memory(bytes)).await;
    let counters = proxy.counters();
    assert_eq!(counters.faults, 1, "the connection ended");
    match outcome {
        Ok(_) => format!("written, {} upload was begun", counters.requests[&Kind::UploadStart]),
        Err(error) => error.to_string(),
    }
}

async fn questions() -> String {
    let registry = Registry::start(&Options::default()).unwrap();
    let store = repository(registry.address(), "a");
    let begin = Instant::now();
    let digests: Vec<Digest> = (0..40_u8).map(|number| Digest::of(&[number])).collect();
    let answers = futures::future::join_all(digests.iter().map(|digest| store.blob_size(digest))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_none()));
    if begin.elapsed() < AT_FIVE_A_SECOND { "less than 7 s" } else { "7 s or more" }.to_owned()
}

fn recipe() -> Recipe {
    Recipe { images: 5, layer: (1000, 2000), ..Recipe::small("4.20.0", "src.example.com/ocp/art-dev") }
}

async fn source(folder: &Path) -> (String, Made) {
    let path = folder.join("source");
    let store = Store::Layout(Layout::create(&path).await.unwrap());
    (format!("oci:{}:4.20.0", path.display()), recipe().make(&store).await.unwrap())
}

fn mirrored() -> &'static Mirrored {
    static MIRRORED: OnceLock<Mirrored> = OnceLock::new();
    MIRRORED.get_or_init(|| {
        run(async {
            let folder = tempfile::tempdir().unwrap();
            let (from, made) = source(folder.path()).await;
            let registry = Registry::start(&Options::default()).unwrap();
            let to = format!("{}/mirror", registry.address());
            let run = lockstep(&["release", "mirror", "--plain-http", &from, "--to", &to]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            let store = repository(registry.address(), "mirror");
            let tags = store.tags().await.unwrap();
            let list = store.find(&Which::Tag("4.20.0-x86_64-part-of-list".to_owned())).await.unwrap();
            Mirrored { made, run, tags, list }
        })
    })
}

async fn turned_bit() -> String {
    let folder = tempfile::tempdir().unwrap();
    let (from, made) = source(folder.path()).await;
    let path = folder.path().join("to");
    let to = format!("oci:{}", path.display());
    assert_eq!(lockstep(&["release", "mirror", &from, "--to", &to]).code, 0);
    let (digest, _) = made.blobs.iter().max_by_key(|(_, size)| **size).unwrap();
    let layer = path.join("blobs/sha256").join(digest.hex());
    let mut bytes = std::fs::read(&layer).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&layer, bytes).unwrap();
    let code = lockstep(&["release", "mirror", &from, "--to", &to]).code;
    let is_right = Digest::of(&std::fs::read(&layer).unwrap()) == *digest;
    format!("exit code {code}, {}", if is_right { "the layer is right" } else { "the bit stays" })
}
