//! The merges and prunings of the specification.

use jiff::Timestamp;

use super::*;

fn at(second: i64) -> Time {
    Timestamp::from_second(second).unwrap().into()
}

fn release(version: &str, image: &str) -> Release {
    Release { version: version.to_owned(), image: image.to_owned(), ..Release::default() }
}

const WAY: Entry<'_> = Entry { is_complete: false, is_verified: false, accepted_risks: "" };
const DONE: Entry<'_> = Entry { is_complete: true, ..WAY };

/// `C` or `P` and a version, newest first; the image is `image:` and the version.
fn history(entries: &[&str]) -> Vec<UpdateHistory> {
    let entry = |text: &&str| {
        let (state, version) = text.split_at(1);
        let mut entry = UpdateHistory::begun(&release(version, &format!("image:{version}")), at(1));
        if state == "C" {
            entry.state = UpdateState::Completed;
            entry.completion_time = Some(at(2));
        }
        entry
    };
    entries.iter().map(entry).collect()
}

/// `C` or `P`, the version, and start and end, of each.
fn told(history: &[UpdateHistory]) -> Vec<String> {
    let one = |entry: &UpdateHistory| {
        let state = entry.state.as_str().chars().next().unwrap_or('?');
        let end =
            entry.completion_time.map_or("…".to_owned(), |time| time.timestamp().as_second().to_string());
        format!("{state}{} {}-{end}", entry.version, entry.started_time.timestamp().as_second())
    };
    history.iter().map(one).collect()
}

fn merged(mut history: Vec<UpdateHistory>, version: &str, entry: Entry<'_>, second: i64) -> Vec<String> {
    merge(&mut history, &release(version, &format!("image:{version}")), entry, at(second));
    told(&history)
}

#[test]
fn a_release_without_an_image_is_not_written() {
    let mut none = Vec::new();
    merge(&mut none, &release("4.0.1", ""), DONE, at(5));
    assert_eq!(none, []);
}

#[test]
fn the_first_release_begins_and_is_completed_once() {
    assert_eq!(merged(Vec::new(), "4.0.1", WAY, 5), ["P4.0.1 5-…"]);
    assert_eq!(merged(Vec::new(), "4.0.1", DONE, 5), ["C4.0.1 5-5"]);
    assert_eq!(merged(history(&["P4.0.1"]), "4.0.1", WAY, 5), ["P4.0.1 1-…"]);
    assert_eq!(merged(history(&["P4.0.1"]), "4.0.1", DONE, 5), ["C4.0.1 1-5"]);
    assert_eq!(merged(history(&["C4.0.1"]), "4.0.1", DONE, 5), ["C4.0.1 1-2"], "the end stays");
    assert_eq!(merged(history(&["C4.0.1"]), "4.0.1", WAY, 5), ["C4.0.1 1-2"], "what is complete stays so");
}

#[test]
fn another_release_ends_the_one_before_and_stands_first() {
    assert_eq!(merged(history(&["C4.0.1"]), "4.0.2", WAY, 5), ["P4.0.2 5-…", "C4.0.1 1-2"]);
    assert_eq!(
        merged(history(&["P4.0.2", "C4.0.1"]), "4.0.1", WAY, 5),
        ["P4.0.1 5-…", "P4.0.2 1-5", "C4.0.1 1-2"],
        "an update that is taken back"
    );
    assert_eq!(merged(history(&["P4.0.1"]), "4.0.2", DONE, 5), ["C4.0.2 5-5", "P4.0.1 1-5"]);
}

#[test]
fn same_releases_of_the_specification() {
    // Version and image of the entry, of the release, whether they are the same.
    let rows = [
        (("v1", "I1"), ("v1", "I1"), true),
        (("", "I1"), ("v1", "I1"), true),
        (("v1", "I1"), ("", "I1"), true),
        (("v1", "I1"), ("v1", ""), false),
        (("v1", "I1"), ("v1", "I2"), false),
        (("v1", "I1"), ("v2", "I1"), false),
        (("v1", ""), ("v1", "I1"), true),
        (("v1", ""), ("v2", "I1"), false),
    ];
    for ((version, image), (other_version, other_image), expected) in rows {
        let mut entry = UpdateHistory::begun(&release(version, image), at(1));
        let other = release(other_version, other_image);
        assert_eq!(is_same(&entry, &other), expected, "{version} {image} {other_version} {other_image}");
        assert_eq!(is_continued(&mut entry, &other), expected);
        let filled = if expected { ("v1", "I1") } else { (version, image) };
        assert_eq!((entry.version.as_str(), entry.image.as_str()), filled);
    }
}

#[test]
fn another_registry_with_the_same_digest_is_another_entry() {
    let mut history = vec![UpdateHistory::begun(&release("1", "a.example.com/r@sha256:d"), at(1))];
    merge(&mut history, &release("1", "b.example.com/r@sha256:d"), WAY, at(2));
    assert_eq!(history.len(), 2);
}

#[test]
fn an_entry_without_a_state_is_partial() {
    let mut history = history(&["P4.0.1"]);
    history[0].state = UpdateState::Other(String::new());
    assert_eq!(merged(history, "4.0.1", WAY, 5), ["P4.0.1 1-…"]);
}

#[test]
fn two_equal_entries_end_nobody() {
    let mut twice = history(&["P4.0.1", "P4.0.1"]);
    merge(&mut twice, &release("4.0.1", "image:4.0.1"), DONE, at(5));
    assert_eq!(told(&twice), ["C4.0.1 1-5", "P4.0.1 1-…"]);
}

#[test]
fn verified_and_accepted_risks_are_never_taken_back() {
    let mut history = history(&["P4.0.1"]);
    let same = release("4.0.1", "image:4.0.1");
    let with = |is_verified, accepted_risks| Entry { is_verified, accepted_risks, ..WAY };
    merge(&mut history, &same, with(true, "A"), at(5));
    assert_eq!((history[0].verified, history[0].accepted_risks.as_str()), (true, "A"));
    merge(&mut history, &same, with(false, ""), at(6));
    let reference = "";
    assert_ne!(history[0].accepted_risks, reference);
    assert_eq!((history[0].verified, history[0].accepted_risks.as_str()), (true, "A"));
    merge(&mut history, &same, with(false, "B"), at(7));
    assert_eq!(history[0].accepted_risks, "B");
    merge(&mut history, &release("4.0.2", "image:4.0.2"), with(false, "C"), at(8));
    let risks: Vec<_> = history.iter().map(|entry| entry.accepted_risks.as_str()).collect();
    assert_eq!((risks, history[0].verified), (vec!["C", "B"], false));
}

/// What pruning to ten entries takes out, with its rank in hundredths.
fn dropped(entries: &[&str]) -> (String, i64) {
    let full = history(entries);
    let mut kept = full.clone();
    prune(&mut kept, 10);
    assert_eq!(kept.len(), 10);
    let at = (0..full.len()).find(|&at| kept.get(at) != Some(&full[at])).unwrap();
    assert_eq!(kept[at..], full[at + 1..], "only one goes, and the order stays");
    (entries[at].to_owned(), rank(&full, at))
}

#[test]
fn prunings_of_the_specification() {
    let cases: [(&str, &str, i64); 5] = [
        ("C4.6.3 C4.5.3 C4.4.3 C4.3.3 C4.3.2 C4.3.1 C4.2.1 P4.1.4 P4.1.3 P4.1.2 C4.1.1", "P4.1.2", 1091),
        ("C4.5.3 C4.4.3 C4.4.3 C4.4.2 C4.1.10 C4.1.9 C4.1.4 P4.1.3 C4.1.2 P4.0.1 C4.0.1", "P4.1.3", -2707),
        ("C4.11.0 C4.10.0 C4.9.0 C4.8.0 C4.7.0 C4.6.0 C4.5.0 C4.4.0 C4.3.0 C4.2.0 C4.1.0", "C4.2.0", 2091),
        ("C4.11.0 P4.10.0 C4.9.0 C4.8.0 C4.7.0 P4.6.0 C4.5.0 C4.4.0 C4.3.0 C4.2.0 C4.1.0", "P4.6.0", 1495),
        ("C4.11.0 C4.10.0 C4.9.0 C4.8.0 C4.6.1 P4.6.1 C4.6.0 C4.4.0 P4.3.0 C4.2.0 C4.1.0", "P4.6.1", -2505),
    ];
    for (entries, expected, expected_rank) in cases {
        let entries: Vec<&str> = entries.split(' ').collect();
        assert_eq!(dropped(&entries), (expected.to_owned(), expected_rank));
    }
}

#[test]
fn ranks_of_entries_that_stay_are_those_of_the_specification() {
    let entries: Vec<&str> =
        "C4.5.3 C4.4.3 C4.4.3 C4.4.2 C4.1.10 C4.1.9 C4.1.4 P4.1.3 C4.1.2 P4.0.1 C4.0.1".split(' ').collect();
    assert_eq!(rank(&history(&entries), 5), -505, "C4.1.9");
    let entries: Vec<&str> =
        "C4.11.0 C4.10.0 C4.9.0 C4.8.0 C4.6.1 P4.6.1 C4.6.0 C4.4.0 P4.3.0 C4.2.0 C4.1.0".split(' ').collect();
    assert_eq!(rank(&history(&entries), 8), 1192, "P4.3.0");
}

#[test]
fn a_history_that_fits_is_left_alone_and_one_that_is_far_too_long_is_cut_at_once() {
    let mut long = history(&["C4.1.0"; 25]);
    prune(&mut long, 25);
    assert_eq!(long.len(), 25);
    prune(&mut long, 10);
    let reference = 24;
    assert_ne!(long.len(), reference);
    assert_eq!(long.len(), 10);
    let mut full: Vec<UpdateHistory> = history(&["C4.1.0"; 100]);
    merge(&mut full, &release("4.2.0", "image:4.2.0"), WAY, at(5));
    assert_eq!((full.len(), full[0].version.as_str()), (MAX_ENTRIES, "4.2.0"));
}

#[test]
fn pieces_of_versions_of_the_specification() {
    for (version, major, expected) in
        [("v4.7.12.3+foo", "v4", "7"), ("4.7", "4", "7"), ("something@very-differe", "", ""), ("", "", "")]
    {
        assert_eq!(minor(version), (major, expected), "{version}");
    }
    assert_ne!(minor("4.1.0"), minor("5.1.0"), "the reference takes them for one minor version");
}
