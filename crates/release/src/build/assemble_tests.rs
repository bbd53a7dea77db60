use super::super::naming::DEFAULT_PREFIX;
use super::super::stream::Tag;
use super::*;

const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

fn component(name: &str, files: &[(&str, &str)]) -> Component {
    let file = |(name, text): &(&str, &str)| {
        let source = SourceFile { bytes: Bytes::copy_from_slice(text.as_bytes()), modified: None };
        ((*name).to_owned(), source)
    };
    Component { name: name.to_owned(), files: files.iter().map(file).collect() }
}

fn stream(tags: &[&str]) -> Stream {
    let image = |tag: &&str| Tag::image(tag, &format!("r.example.com/release@sha256:{tag}"));
    Stream { tags: tags.iter().map(image).collect(), ..Stream::default() }
}

fn rules() -> Rules {
    Rules {
        prefix: DEFAULT_PREFIX.to_owned(),
        allow_missing_images: false,
        allow_undeclared_images: false,
        skip_manifest_check: false,
        keep: BTreeSet::from(["cluster-version-operator".to_owned()]),
    }
}

fn metadata() -> Metadata {
    Metadata { version: "1.2.3".to_owned(), ..Metadata::default() }
}

fn references(tags: &[(&str, &str)]) -> String {
    let tag = |(name, literal): &(&str, &str)| {
        format!("  - name: {name}\n    from: {{kind: DockerImage, Name: {literal}}}\n")
    };
    let tags: String = tags.iter().map(tag).collect();
    format!("kind: ImageStream\napiVersion: image.openshift.io/v1\nspec:\n  tags:\n{tags}")
}

fn problems(components: Vec<Component>, tags: &[&str]) -> Vec<String> {
    match assemble(components, stream(tags), &metadata(), None, &rules()) {
        Err(BuildError::Problems(problems)) => problems.iter().map(ToString::to_string).collect(),
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn the_worked_example_of_the_specification() {
    let components = vec![
        component("zeta", &[("0000_20_alpha-operator_10_deploy.yaml", MANIFEST)]),
        component(
            "alpha-operator",
            &[
                ("00_ns.yaml", MANIFEST),
                ("0000_20_alpha-operator_10_deploy.yaml", MANIFEST),
                ("README.md", "uses r/beta:1"),
                ("image-references", &references(&[("beta", "r/beta")])),
            ],
        ),
    ];
    let tags = ["alpha-operator", "beta", "cluster-version-operator", "unused"];
    let payload = assemble(components, stream(&tags), &metadata(), Some(60), &rules()).unwrap();
    let names: Vec<&str> = payload.files.iter().map(|file| file.name.as_str()).collect();
    let wanted = [
        "0000_20_alpha-operator_10_deploy.yaml",
        "0000_50_alpha-operator_00_ns.yaml",
        "0000_50_alpha-operator_README.md",
        "0000_20_alpha-operator_10_deploy_2.yaml",
    ];
    assert_eq!(names, wanted);
    assert_eq!(payload.files[2].bytes, "uses r.example.com/release@sha256:beta");
    assert_eq!(payload.notes, ["Included 3 images from 2 input operators into the release"]);
    let written = Stream::read(&payload.image_references).unwrap();
    let kept: Vec<&str> = written.tags.iter().map(|tag| tag.name.as_str()).collect();
    assert_eq!(kept, ["alpha-operator", "beta", "cluster-version-operator"]);
    assert_eq!(
        written.tag("beta").unwrap().annotations.as_ref().unwrap()[annotation::USED_BY],
        "alpha-operator"
    );
    assert_eq!(written.created.as_deref(), Some("1970-01-01T00:01:00Z"));
    assert_eq!(written.name, "1.2.3");
}

#[test]
fn every_problem_is_told_with_file_and_line() {
    let deployment =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: r/other:1\n";
    let components = vec![
        component("a", &[("image-references", &references(&[("gone", "r/gone")])), ("x.yaml", MANIFEST)]),
        component(
            "b",
            &[
                ("bad.yaml", "a: 1\n"),
                ("v.yaml", &format!("{MANIFEST}  version: 0.0.1-snapshot-kubernetes\n")),
            ],
        ),
        component("c", &[("pod.yaml", deployment)]),
    ];
    let told = problems(components, &["a"]);
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!(
        told[0],
        "a/image-references:5: operator \"a\" contained an invalid image-references file: no input image tag named \"gone\""
    );
    assert!(told[1].starts_with("b/bad.yaml:1: manifests must contain"), "{}", told[1]);
    assert_eq!(told[2], "b/v.yaml:5: unknown version reference \"kubernetes\"");
    assert!(
        told[3].starts_with("c/pod.yaml:6: undeclared image \"r/other:1\" in the field image"),
        "{}",
        told[3]
    );
}

#[test]
fn rules_relax_what_they_name() {
    let deployment =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: r/other:1\n";
    let components = vec![component(
        "a",
        &[
            ("image-references", &references(&[("gone", "r/gone")])),
            ("x.yaml", "a: 1"),
            ("y.yaml", deployment),
        ],
    )];
    let relaxed = Rules {
        allow_missing_images: true,
        allow_undeclared_images: true,
        skip_manifest_check: true,
        prefix: "99".to_owned(),
        ..rules()
    };
    let payload = assemble(components, stream(&[]), &metadata(), None, &relaxed).unwrap();
    assert_eq!(payload.files[0].name, "99_a_x.yaml");
    assert!(payload.warnings[0].starts_with("a/y.yaml:6: undeclared image"), "{:?}", payload.warnings);
}

#[test]
fn hostile_names_are_refused() {
    let told = problems(vec![component("../a", &[("x\n.yaml", MANIFEST)])], &["b/c"]);
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told[0].contains("\"b/c\" cannot be part of a file name"), "{}", told[0]);
}

#[test]
fn the_default_versions_of_the_stream_serve_who_names_no_image() {
    let text = format!("{MANIFEST}  v: 0.0.1-snapshot-kubernetes\n");
    let mut with_default = stream(&[]);
    with_default.annotations.insert(annotation::BUILD_VERSIONS.to_owned(), "kubernetes=1.36.2".to_owned());
    let components = vec![component("a", &[("x.yaml", &text)])];
    let payload = assemble(components, with_default, &metadata(), None, &rules()).unwrap();
    assert!(payload.files[0].bytes.ends_with(b"v: 1.36.2\n"));
}

#[test]
fn a_release_is_as_old_as_its_newest_file_unless_somebody_says_so() {
    let mut one = component("a", &[("x.yaml", MANIFEST)]);
    one.files.get_mut("x.yaml").unwrap().modified = Some(100);
    let made = |created| assemble(vec![one.clone()], stream(&[]), &metadata(), created, &rules()).unwrap();
    assert_eq!((made(None).created, made(Some(7)).created, made(Some(7)).newest), (100, 7, 100));
    let empty = assemble(Vec::new(), stream(&[]), &metadata(), None, &rules()).unwrap();
    assert_eq!((empty.created, empty.warnings.len()), (0, 1));
}
