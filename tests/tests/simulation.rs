//! The engine in a few hundred small worlds: each seed is a release, a weather, people and crashes.
//!
//! `LOCKSTEP_SEED` plays one seed and shows what happens; `LOCKSTEP_SEEDS` and `LOCKSTEP_FIRST_SEED` choose others.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lockstep_tests::cli::root;
use lockstep_tests::simulation::{Tally, simulate};

/// How many seeds the ordinary suite plays.
const SEEDS: u64 = 200;
/// How many mutants there are.
const MUTANTS: usize = 10;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Plays seeds side by side until one breaks; what was reached, and what broke by seed.
fn play(first: u64, count: u64) -> (Tally, BTreeMap<u64, Vec<String>>) {
    let (next, is_over) = (AtomicU64::new(first), AtomicBool::new(false));
    let (tally, broken) = (Mutex::new(Tally::default()), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let played = catch_unwind(AssertUnwindSafe(|| simulate(seed, &mut |_| {})));
                    match played.unwrap_or_else(|_| Err(vec!["a panic, see above".to_owned()])) {
                        Ok(reached) => tally.lock().unwrap().merge(&reached),
                        Err(sentences) => {
                            is_over.store(true, Ordering::Relaxed);
                            broken.lock().unwrap().insert(seed, sentences);
                        }
                    }
                }
            });
        }
    });
    (tally.into_inner().unwrap(), broken.into_inner().unwrap())
}

#[test]
fn the_engine_keeps_its_laws_in_every_world() {
    if let Some(seed) = variable("LOCKSTEP_SEED") {
        let outcome = simulate(seed, &mut |line| println!("{}", line.chars().take(400).collect::<String>()));
        println!("{}", outcome.unwrap_or_else(|sentences| panic!("seed {seed}: {sentences:#?}")));
        return;
    }
    let first = variable("LOCKSTEP_FIRST_SEED").unwrap_or(0);
    let count = variable("LOCKSTEP_SEEDS").unwrap_or(SEEDS);
    let (tally, broken) = play(first, count);
    println!("{tally}");
    if let Some((seed, sentences)) = broken.first_key_value() {
        panic!(
            "first failing seed: {seed}\n{sentences:#?}\n\
             LOCKSTEP_SEED={seed} cargo test -p lockstep-tests --test simulation -- --nocapture"
        );
    }
    let missing = tally.missing();
    assert!(missing.is_empty() || count < SEEDS, "never reached: {missing:?}");
}

#[test]
fn one_seed_gives_one_story() {
    let play = |seed| {
        let mut lines = Vec::new();
        let outcome = simulate(seed, &mut |line| lines.push(line.to_owned()));
        (outcome, lines)
    };
    let (one, two) = (play(2), play(2));
    assert_eq!(one.0, two.0);
    for (one, two) in one.1.iter().zip(&two.1) {
        assert_eq!(one, two);
    }
    assert_eq!(one.1.len(), two.1.len());
}

#[test]
fn all_mutants_still_apply() {
    let folder = root().join("tests/mutants");
    let mut patches: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    patches.sort();
    assert_eq!(patches.len(), MUTANTS, "{patches:?}");
    for patch in patches {
        let output = Command::new("git")
            .arg("-C")
            .arg(root())
            .args(["apply", "--check"])
            .arg(&patch)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {}", patch.display(), String::from_utf8_lossy(&output.stderr));
    }
}
