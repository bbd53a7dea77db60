//! Two releases compared: the counts of the real ones, the three forms, the exit codes, and the page in a real browser.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;

use lockstep_tests::cli::lockstep;
use lockstep_tests::corpus::corpus;
use lockstep_tests::page::{LAPTOP, LAPTOP_IN_THE_DARK, TELEPHONE, check_page_in, visit};
use serde_json::{Value, json};
use xtask::browser::Window;

const FIRST: &str = "examples/releases/1.0.0";
const SECOND: &str = "examples/releases/1.1.0";
/// The smallest window that a page has to be readable in.
const SMALL_TELEPHONE: Window = Window { width: 320, height: 640, dark: true };

fn diff(arguments: &[&str]) -> String {
    let all: Vec<&str> = ["release", "diff"].iter().chain(arguments).copied().collect();
    let run = lockstep(&all);
    assert_eq!(run.code, 1, "there are differences: {}", run.stderr);
    run.stdout
}

fn diff_json(arguments: &[&str]) -> Value {
    let all: Vec<&str> = arguments.iter().chain(&["-o", "json"]).copied().collect();
    serde_json::from_str(&diff(&all)).unwrap()
}

/// The two real releases, where they are at hand.
fn real(suite: &str) -> Option<[String; 2]> {
    let corpus = corpus(suite)?;
    Some(["4.20.0", "4.21.0"].map(|version| corpus.join(version).display().to_string()))
}

#[test]
fn the_examples_differ_as_the_snapshot_says() {
    insta::assert_snapshot!(diff(&[FIRST, SECOND]));
}

#[test]
fn a_release_equals_itself_and_the_way_back_swaps_added_and_removed() {
    assert_eq!(lockstep(&["release", "diff", FIRST, FIRST]).code, 0);
    let (there, back) = (diff_json(&[FIRST, SECOND]), diff_json(&[SECOND, FIRST]));
    assert_eq!(
        (there["apiVersion"].as_str(), there["kind"].as_str()),
        (Some("lockstep.dev/v1"), Some("ReleaseDiff"))
    );
    assert_eq!(there["releaseManifests"]["added"], back["releaseManifests"]["removed"]);
    assert_eq!(there["releaseManifests"]["changed"], back["releaseManifests"]["changed"]);
}

#[test]
fn filters_keep_what_they_name() {
    let all = diff_json(&[FIRST, SECOND]);
    let of = |change: &str| {
        let objects = all["objects"].as_array().unwrap().iter();
        objects.filter(|object| object["change"] == change).cloned().collect::<Vec<_>>()
    };
    assert_eq!(diff_json(&[FIRST, SECOND, "--only", "changed"])["objects"], json!(of("changed")));
    let one = &of("changed")[0];
    let name = format!("{}/{}", one["kind"].as_str().unwrap(), one["name"].as_str().unwrap());
    let found = diff_json(&[FIRST, SECOND, "--object", &name]);
    assert!(found["objects"].as_array().unwrap().contains(one));
    assert!(found["objects"].as_array().unwrap().iter().all(|object| object["name"] == one["name"]));
    assert_eq!(
        lockstep(&["release", "diff", FIRST, SECOND, "--object", "Pod/no-such"]).code,
        0,
        "nothing of it differs"
    );
}

#[test]
fn the_real_releases_differ_by_the_counts_of_the_corpus() {
    let Some([from, to]) = real("the counts of two real releases") else { return };
    let found = diff_json(&[&from, &to]);
    assert_eq!(found["releaseManifests"], json!({"added": 21, "removed": 15, "changed": 218}));
    assert_eq!(
        found["manifests"],
        json!({"added": 0, "removed": 0, "changed": 2}),
        "the operator's own are templates"
    );
    let mut counted: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for object in found["objects"].as_array().unwrap() {
        *counted
            .entry((object["folder"].as_str().unwrap(), object["change"].as_str().unwrap()))
            .or_default() += 1;
    }
    assert_eq!(counted[&("release-manifests", "changed")], 218, "each is listed");
    assert_eq!(
        (counted[&("release-manifests", "added")], counted[&("release-manifests", "removed")]),
        (21, 15)
    );
    assert_eq!(golden_counts(&from, &to), (21, 15, 218), "and the lists of the corpus say the same");
}

/// The same counted from `objects.tsv`, without any code of ours: by group, kind, namespace and name.
fn golden_counts(from: &str, to: &str) -> (usize, usize, usize) {
    let read = |folder: &str| {
        let text = std::fs::read_to_string(format!("{folder}/objects.tsv")).unwrap();
        let mut objects: BTreeMap<[String; 4], Vec<String>> = BTreeMap::new();
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            let group = cells[4].split_once('/').map_or("", |(group, _)| group);
            let key = [group, cells[5], cells[6], cells[7]].map(str::to_owned);
            objects.entry(key).or_default().push(cells[8].to_owned());
        }
        for sums in objects.values_mut() {
            sums.sort();
        }
        objects
    };
    let (old, new) = (read(from), read(to));
    let without = |a: &BTreeMap<_, Vec<String>>, b: &BTreeMap<_, Vec<String>>| {
        a.keys().filter(|key| !b.contains_key(*key)).count()
    };
    let changed = old.iter().filter(|(key, sums)| new.get(*key).is_some_and(|other| other != *sums)).count();
    (without(&new, &old), without(&old, &new), changed)
}

#[test]
fn the_real_releases_show_what_is_incompatible_and_what_is_only_images() {
    let Some([from, to]) = real("incompatible changes of two real releases") else { return };
    let found = diff_json(&[&from, &to, "--only", "incompatible"]);
    let objects = found["objects"].as_array().unwrap();
    let rules: Vec<(&str, &str)> = objects
        .iter()
        .flat_map(|object| {
            let all = object["incompatible"].as_array().unwrap().iter();
            all.map(|one| (object["name"].as_str().unwrap(), one["rule"].as_str().unwrap()))
        })
        .collect();
    assert_eq!(found["incompatible"], rules.len());
    assert!(rules.contains(&("apiservers.config.openshift.io", "field-removed")), "{rules:?}");
    assert!(rules.contains(&("machinepools.cluster.x-k8s.io", "definition-removed")), "{rules:?}");
    let all = diff_json(&[&from, &to, "--only", "changed"]);
    let causes = |cause: &str| {
        all["objects"].as_array().unwrap().iter().filter(|object| object["cause"] == cause).count()
    };
    let trivial = causes("images") + causes("version") + causes("images-and-version");
    assert!(trivial > 50 && causes("content") > 50, "{trivial} trivial, {} not", causes("content"));
}

#[test]
fn the_page_of_the_real_releases_is_sound_in_light_dark_and_narrow() {
    let Some([from, to]) = real("the page of two real releases") else { return };
    let html = diff(&[&from, &to, "-o", "html"]);
    let report = check_page_in(&html, &[LAPTOP, LAPTOP_IN_THE_DARK, TELEPHONE, SMALL_TELEPHONE]).unwrap();
    assert!(report.problems.is_empty(), "{report}");
    assert!(report.texts > 2000, "{report}");
}

#[test]
fn the_page_of_the_examples_is_sound_and_can_be_searched_and_used_without_a_mouse() {
    let html = diff(&[FIRST, SECOND, "-o", "html"]);
    let report = check_page_in(&html, &[LAPTOP, LAPTOP_IN_THE_DARK, TELEPHONE, SMALL_TELEPHONE]).unwrap();
    assert!(report.problems.is_empty() && report.texts > 30, "{report}");
    let script = "() => {
        const find = document.querySelector('#find');
        const type = (text) => { find.value = text; find.dispatchEvent(new Event('input')); };
        const rows = () => document.querySelectorAll('section > ul > li:not([hidden])').length;
        const press = (key) => document.dispatchEvent(new KeyboardEvent('keydown', { key }));
        const before = rows();
        press('/');
        const focused = document.activeElement === find;
        type('no such thing at all');
        const nothing = [rows(), document.querySelectorAll('section:not([hidden])').length];
        press('Escape');
        const first = document.querySelector('summary');
        first.focus();
        const reached = document.activeElement === first;
        first.click();
        const unlabelled = [...document.querySelectorAll('input')].filter((input) => !input.labels.length).length;
        return [focused, nothing, rows() === before, reached, unlabelled];
    }";
    let result = visit(&html, script, &json!({}), LAPTOP).unwrap().result;
    assert_eq!(result, json!([true, [0, 0], true, true, 0]));
}
