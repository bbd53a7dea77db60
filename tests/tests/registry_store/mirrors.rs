//! Where else images are: mirrors are asked for what is read, in their order, and never for what a destination has.

use std::path::PathBuf;

use lockstep_release::mirror::copy::Limits;
use lockstep_release::mirror::report::ImageResult;
use lockstep_release::mirror::{Mirror, Parts, Request};
use lockstep_release::store::Registries;
use lockstep_release::{Location, PlatformFilter, PullSpec, Wanted, Which, open, store};
use lockstep_tests::made_release::{Made, Recipe};

use crate::front::{Act, Front, Seen, says};
use crate::stage::{Stage, an_image, repository_of};

/// A file with one rule.
fn rule(stage: &Stage, source: &str, mirrors: &[String], policy: &str) -> PathBuf {
    let path = stage.path("sets.yaml");
    let text = format!(
        "kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n  - source: {source}\n    mirrors: {mirrors:?}\n    mirrorSourcePolicy: {policy}\n",
    );
    std::fs::write(&path, text).expect("the stage is set");
    path
}

fn registries_with(stage: &Stage, sets: PathBuf) -> Registries {
    stage.registries_with(|access| access.mirror_sets = Some(sets))
}

fn location(name: &str) -> Location {
    Location::Registry(PullSpec::parse(name).expect("the stage is set"))
}

/// A small release whose pull specs name a repository; its images are in that of the same path at the registry.
async fn release(stage: &Stage, repository: &str) -> Made {
    let recipe = Recipe { images: 5, layer: (1000, 2000), ..Recipe::small("4.20.0", repository) };
    recipe.make(&stage.store("ocp/app")).await.expect("the stage is set")
}

async fn plan(from: &str, to: Location, registries: &Registries) -> Mirror {
    let wanted = Wanted::ReleaseManifests;
    let release = open::release(&location(from), registries, &PlatformFilter::Host, wanted).await;
    let request = Request {
        to,
        to_release_image: None,
        parts: Parts::All,
        signatures: true,
        dry_run: true,
        space_check: false,
        limits: Limits { parallel: 2, continue_on_error: false },
    };
    let planned = Mirror::plan(&release.expect("the stage is set"), request, registries, &mut |_| {}).await;
    planned.expect("a plan")
}

#[tokio::test]
async fn what_a_mirror_has_is_read_there_and_the_source_is_never_asked() {
    let stage = Stage::start();
    let image = an_image(6);
    image.write(&stage.store("mirror/app"), "1").await;
    let source = Front::start(|_| says(500, &[], "")).await;
    let mirrors = [format!("{}/mirror", stage.address())];
    let sets = rule(&stage, &format!("{}/team", source.address), &mirrors, "NeverContactSource");
    let store = repository_of(&registries_with(&stage, sets), &format!("{}/team/app", source.address));
    let by_digest = Which::Digest(image.manifest.digest.clone());
    assert_eq!(store.manifest(&by_digest).await.unwrap(), image.manifest);
    assert_eq!(store.find(&by_digest).await.unwrap(), Some(image.manifest.digest.clone()));
    image.check(&store).await;
    assert!(source.seen().is_empty());
}

#[tokio::test]
async fn what_a_mirror_has_is_not_at_the_destination() {
    let stage = Stage::start();
    let image = an_image(7);
    image.write(&stage.store("mirror/app"), "1").await;
    let destination = Stage::start();
    let upstream = stage.address();
    let mirror = Front::start(move |_| Act::Forward(upstream)).await;
    let name = format!("{}/team/app", destination.address());
    let sets = rule(&stage, &name, &[format!("{}/mirror/app", mirror.address)], "NeverContactSource");
    let registries = registries_with(&stage, sets);
    let (store, _) = store::create(&location(&name), &registries).await.unwrap();
    let by_digest = Which::Digest(image.manifest.digest.clone());
    assert_eq!(store.find(&by_digest).await.unwrap(), None);
    assert!(store.manifest(&by_digest).await.unwrap_err().is_not_found());
    assert_eq!(store.blob_size(&image.blobs[0].0.digest).await.unwrap(), None);
    assert_eq!(image.write(&store, "1").await, image.blobs.len());
    image.check(&store).await;
    assert!(mirror.seen().is_empty(), "{:?}", mirror.seen());
}

#[tokio::test]
async fn a_dry_run_asks_the_destination_itself() {
    let stage = Stage::start();
    let repository = format!("{}/ocp/app", stage.address());
    let made = release(&stage, &repository).await;
    let to = format!("{}/new/app", stage.address());
    let sets = rule(&stage, &to, std::slice::from_ref(&repository), "AllowContactingSource");
    let registries = registries_with(&stage, sets);
    let planned = plan(&format!("{repository}:4.20.0"), location(&to), &registries).await;
    assert_eq!(planned.report().totals.missing_bytes, made.bytes());
}

#[tokio::test]
async fn signatures_are_looked_for_where_images_are_and_other_tags_are_not() {
    let stage = Stage::start();
    let source = Front::start(|seen: &Seen| says(if seen.path == "/v2/" { 200 } else { 404 }, &[], "")).await;
    let name = format!("{}/ocp/app", source.address);
    let made = release(&stage, &name).await;
    let empty = format!("{}/empty/app", stage.address());
    let mirrors = [empty, format!("{}/ocp/app", stage.address())];
    let signature = Which::Tag(made.signatures[0].clone());

    let sets = rule(&stage, &name, &mirrors, "NeverContactSource");
    let store = repository_of(&registries_with(&stage, sets), &name);
    let found = store.find(&signature).await.unwrap();
    assert!(found.is_some());
    assert_eq!(store.manifest(&signature).await.unwrap().digest, found.unwrap());
    let none = Which::Tag(format!("{}.sig", made.images["image-00"].dashed()));
    assert_eq!(store.find(&none).await.unwrap(), None);
    assert!(source.seen().is_empty(), "{:?}", source.seen());

    // What a tag like any other points to is for the repository itself to say.
    assert_eq!(store.find(&Which::Tag("4.20.0".into())).await.unwrap(), None);
    assert!(!source.seen().is_empty());

    let sets = rule(&stage, &name, &mirrors[..1], "AllowContactingSource");
    let store = repository_of(&registries_with(&stage, sets), &name);
    let before = source.seen().len();
    assert_eq!(store.find(&signature).await.unwrap(), None);
    assert!(source.seen().len() > before, "the source comes last");
}

#[tokio::test]
async fn a_signature_that_cannot_be_looked_for_is_the_problem_of_its_image_alone() {
    let stage = Stage::start();
    let upstream = stage.address();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let repository = format!("{}/ocp/app", listener.local_addr().unwrap());
    let made = release(&stage, &repository).await;
    let bad = format!("{}.sig", made.images["image-02"].dashed());
    let _front = Front::on(listener, move |seen: &Seen| {
        if seen.path.ends_with(&bad) { says(400, &[], "") } else { Act::Forward(upstream) }
    });
    let to = Location::Layout { path: stage.path("to"), tag: None };
    let planned = plan(&format!("{repository}:4.20.0"), to, &stage.registries()).await;
    let images = &planned.report().images;
    let failed: Vec<_> = images.iter().filter(|image| image.result == ImageResult::Failed).collect();
    assert_eq!(failed.iter().map(|image| image.name.as_str()).collect::<Vec<_>>(), ["image-02"]);
    let why = failed[0].error.as_deref().unwrap();
    assert!(why.contains("signature") && why.contains("400"), "{why}");
    assert_eq!(images.len(), made.images.len() + made.signatures.len() + 1);
}
