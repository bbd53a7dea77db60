//! Release folders that are broken, huge, endless or meant to do harm: an error that names the file, soon, and no panic.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lockstep_payload::limits::{MAX_DEPTH, MAX_FILES};
use lockstep_payload::{DiskFiles, LoadOptions, Release};
use tempfile::TempDir;

/// How long any of these may take; most take milliseconds, the rest is for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
const BAD: &str = "0000_50_bad_01_file.yaml";
const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: good\n";
const METADATA: &str = r#"{"kind": "cincinnati-metadata-v0", "version": "1.0.0"}"#;
const IMAGES: &str =
    r#"{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "1.0.0"}}"#;

/// A release folder with one good manifest.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for name in ["manifests", "release-manifests"] {
            fs::create_dir(folder.0.path().join(name)).unwrap();
        }
        folder
            .with("release-metadata", METADATA)
            .with("image-references", IMAGES)
            .with("0000_10_good_01_namespace.yaml", NAMESPACE)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("release-manifests").join(name)
    }

    fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    /// Loads the folder in a thread of its own, so that a reader that blocks is a failure and not the end of the suite.
    fn load(&self) -> Result<usize, String> {
        load(self.0.path())
    }

    /// What is wrong with the folder; it has to name this file.
    fn error(&self, name: &str) -> String {
        match self.load() {
            Ok(count) => panic!("{name}: {count} objects were loaded"),
            Err(error) if error.contains(name) => error,
            Err(error) => panic!("{name} is not named in: {error}"),
        }
    }
}

fn load(folder: &Path) -> Result<usize, String> {
    let (send, receive) = mpsc::channel();
    let folder = folder.to_owned();
    thread::spawn(move || {
        let result = DiskFiles::open(&folder).map_err(|error| error.to_string()).and_then(|files| {
            Release::load(&files, &LoadOptions::default()).map_err(|error| error.to_string())
        });
        send.send(result.map(|release| release.manifests.len()))
    });
    receive.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("no answer after {PATIENCE:?}: {error}"))
}

/// The error for a manifest file with this content.
fn error_for(content: impl AsRef<[u8]>) -> String {
    Folder::new().with(BAD, content).error(BAD)
}

#[test]
fn the_good_folder_is_loaded() {
    assert_eq!(Folder::new().load(), Ok(1));
}

#[test]
fn every_cut_of_a_manifest_is_loaded_or_names_the_file() {
    let whole =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {b: \"c\"}}\ndata:\n  d: |\n    e\n";
    let mut refused = 0;
    for end in 0..whole.len() {
        let folder = Folder::new().with(BAD, &whole[..end]);
        if let Err(error) = folder.load() {
            assert!(error.contains(BAD), "{end}: {error}");
            assert!(error.contains("line "), "{end}: {error}");
            refused += 1;
        }
    }
    assert!(refused > 40, "{refused}");
}

#[test]
fn a_cut_json_file_is_refused_with_its_last_line() {
    let error = error_for("{\"apiVersion\": \"v1\",\n\"kind\": \"ConfigMap\",\n\"metadata\": {\"name\":");
    assert!(error.contains("line 3: JSON: EOF"), "{error}");
}

#[test]
fn binary_content_is_refused_with_its_line() {
    assert!(error_for(b"\x7fELF\x02\x01\x01\x00\x00").contains("line 1: "), "a program");
    assert!(error_for(b"\x1f\x8b\x08\x00\x00\x00\x00\x00").contains("line 1: not UTF-8"), "an archive");
    let error = error_for(b"kind: ConfigMap\ndata: \xc3\x28\n");
    assert!(error.contains("line 2: not UTF-8 text (is this a binary file?)"), "{error}");
    assert!(error_for(vec![0; 1_000_000]).contains("line 1: control characters"), "zeros");
}

#[test]
fn a_file_that_claims_a_gigabyte_is_refused_by_its_size() {
    for name in [BAD, "release-metadata", "image-references"] {
        let folder = Folder::new();
        File::create(folder.path(name)).unwrap().set_len(1 << 30).unwrap();
        let error = folder.error(name);
        assert!(error.contains("1073741824 bytes, more than the "), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused_in_every_notation() {
    const DEPTH: usize = 100_000;
    let block: String = (0..2_000).map(|depth| " ".repeat(depth) + "a:\n").collect();
    let cases = [
        ("block mapping", block),
        ("block sequence", "- ".repeat(DEPTH)),
        ("flow sequence", "[".repeat(DEPTH)),
        ("closed flow sequence", format!("a: {}{}", "[".repeat(DEPTH), "]".repeat(DEPTH))),
        ("flow mapping", format!("x: {}", "{a: ".repeat(DEPTH))),
        ("JSON object", r#"{"a":"#.repeat(DEPTH)),
        ("JSON list", format!("{{\"a\": {}{}}}", "[".repeat(DEPTH), "]".repeat(DEPTH))),
    ];
    for (what, text) in cases {
        let error = error_for(&text);
        assert!(error.contains("line "), "{what}: {error}");
        assert!(error.len() < 1_000, "{what}: an error of {} bytes", error.len());
    }
    let edge = |depth: usize| {
        format!("kind: A\nmetadata: {{name: a}}\nx: {}{}\n", "[".repeat(depth), "]".repeat(depth))
    };
    assert!(error_for(edge(MAX_DEPTH + 1)).contains("line 3"));
    assert_eq!(Folder::new().with(BAD, edge(MAX_DEPTH - 2)).load(), Ok(2));
}

#[test]
fn aliases_cannot_grow_without_end() {
    let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let previous = format!("*a{}, ", level - 1).repeat(9);
        let _ = writeln!(bomb, "a{level}: &a{level} [{}]", previous.trim_end_matches(", "));
    }
    let error = error_for(&bomb);
    assert!(error.contains("line ") && error.contains("alias"), "{error}");
    assert!(error_for("a: &a [*a]\n").contains("line 1"), "an alias of itself");
}

#[test]
fn a_link_that_leads_nowhere_or_in_circles_is_refused_and_named() {
    let folder = Folder::new();
    symlink("nowhere.yaml", folder.path(BAD)).unwrap();
    assert!(folder.error(BAD).contains("No such file"));

    let folder = Folder::new();
    symlink("other.yaml", folder.path(BAD)).unwrap();
    symlink(BAD, folder.path("other.yaml")).unwrap();
    let error = folder.error(BAD);
    assert!(error.contains("symbolic link") && error.contains("other.yaml"), "{error}");
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    for name in [BAD, "release-metadata", "image-references"] {
        let folder = Folder::new();
        let path = folder.path(name);
        drop(fs::remove_file(&path));
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = folder.error(name);
        assert!(error.contains("not a regular file"), "{error}");
    }
}

#[test]
fn an_endless_device_is_refused_and_not_read() {
    let folder = Folder::new();
    symlink("/dev/zero", folder.path(BAD)).unwrap();
    assert!(folder.error(BAD).contains("not a regular file"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    // A file of this folder that even root cannot read from its beginning.
    let folder = Folder::new();
    symlink("/proc/self/mem", folder.path(BAD)).unwrap();
    folder.error(BAD);

    let folder = Folder::new().with(BAD, NAMESPACE);
    fs::set_permissions(folder.path(BAD), Permissions::from_mode(0o000)).unwrap();
    // Root reads it all the same; then it is a good file.
    match File::open(folder.path(BAD)) {
        Ok(_) => assert_eq!(folder.load(), Ok(2)),
        Err(_) => assert!(folder.error(BAD).contains("ermission")),
    }
}

#[test]
fn a_folder_with_the_name_of_a_manifest_is_left_out_and_a_link_to_one_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path(BAD)).unwrap();
    assert_eq!(folder.load(), Ok(1));

    let folder = Folder::new();
    symlink(".", folder.path(BAD)).unwrap();
    assert!(folder.error(BAD).contains("not a regular file"));
}

#[test]
fn a_name_that_is_no_text_is_shown_as_well_as_it_can_be() {
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"0000_50_bad_\xff.yaml");
    fs::write(folder.0.path().join("release-manifests").join(name), NAMESPACE).unwrap();
    folder.error("0000_50_bad_\u{fffd}.yaml");
}

#[test]
fn a_folder_with_too_many_files_is_refused() {
    let folder = Folder::new();
    let there = fs::read_dir(folder.path("")).unwrap().count();
    for number in there..=MAX_FILES {
        File::create(folder.path(&format!("{number}.yaml"))).unwrap();
    }
    let error = folder.error("release-manifests");
    assert!(error.contains(&format!("more than {MAX_FILES} files")), "{error}");
}

#[test]
fn all_bad_files_are_named_at_once() {
    let folder =
        Folder::new().with("0000_50_a_01.yaml", "[").with("0000_50_b_01.json", "{").with("c.yml", "\u{1}");
    let error = folder.error("0000_50_a_01.yaml");
    assert!(error.contains("0000_50_b_01.json") && error.contains("c.yml"), "{error}");
}

#[test]
fn broken_special_files_are_named() {
    let deep = r#"{"kind":"#.repeat(100_000);
    let contents: [&[u8]; 5] = [b"", b"{", b"\xff\xfe", b"[1]", deep.as_bytes()];
    for name in ["release-metadata", "image-references"] {
        for content in contents {
            let error = Folder::new().with(name, content).error(name);
            assert!(error.len() < 1_000, "an error of {} bytes", error.len());
        }
    }
}

#[test]
fn what_is_no_release_folder_says_what_is_missing() {
    let empty = tempfile::tempdir().unwrap();
    assert!(load(empty.path()).unwrap_err().contains("manifests is missing"));
    assert!(load(&empty.path().join("none")).unwrap_err().contains("no such folder"));
    let folder = Folder::new();
    fs::remove_file(folder.path("image-references")).unwrap();
    assert!(load(folder.0.path()).unwrap_err().contains("release-manifests/image-references is missing"));
}

#[test]
fn quoted_text_far_to_the_right_cannot_grow_without_bound() {
    let text = format!("m:\n  a:{}'x{}'\n", " ".repeat(200_000), "\ny".repeat(100_000));
    let error = Folder::new().with(BAD, text).error(BAD);
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn thousands_of_badly_indented_quotes_end_in_an_error_or_a_release() {
    let quotes = (0..990).fold(String::new(), |text, index| text + &format!("  k{index}: 'a\n  b'\n"));
    let filler = format!("# {}\n", "x".repeat(100)).repeat(20_000);
    let error = Folder::new().with(BAD, format!("{NAMESPACE}spec:\n{filler}{quotes}")).error(BAD);
    assert!(error.contains("badly indented"), "{error}");
}

#[test]
fn anchors_inside_anchors_are_refused() {
    let open = (0..120).fold(String::new(), |text, level| text + &format!("&a{level} ["));
    let text = format!("{NAMESPACE}spec: {open}{}{}\n", "x,".repeat(150_000), "]".repeat(120));
    let error = Folder::new().with(BAD, text).error(BAD);
    assert!(error.contains("excessive aliasing"), "{error}");
}

#[test]
fn many_small_documents_in_one_file_are_read_in_one_go() {
    let document = |index: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{index}}}\n");
    let text = (0..20_000).map(document).collect::<Vec<_>>().join("---\n");
    assert_eq!(Folder::new().with(BAD, text).load(), Ok(20_001));
    let json: String = (0..200_000).map(|_| "{\"k\":1}\n").collect();
    let error = Folder::new().with(BAD, json).error(BAD);
    assert!(error.contains("'Kind' is missing"), "{error}");
}

#[test]
fn a_template_with_very_many_or_very_large_actions_is_read_in_one_go() {
    let folder = Folder::new();
    let template = folder.0.path().join("manifests/0000_00_own_01_file.yaml");
    fs::write(&template, format!("# {}\n{}", "{{\"\"}}".repeat(300_000), NAMESPACE.replace("good", "own")))
        .unwrap();
    assert_eq!(folder.load(), Ok(2));
    let tag = format!(r#"{{"name":"a","from":{{"kind":"DockerImage","name":"{}"}}}}"#, "x".repeat(1 << 20));
    let images = IMAGES.trim_end_matches('}').to_owned() + &format!(r#"}}, "spec": {{"tags": [{tag}]}}}}"#);
    fs::write(&template, "{{.Images.a}}\n".repeat(10_000)).unwrap();
    let error = folder.with("image-references", images).error("0000_00_own_01_file.yaml");
    assert!(error.contains("renders to more than"), "{error}");
}
