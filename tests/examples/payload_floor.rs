//! The least that reading a release could take: its bytes from disk, and the same objects parsed as JSON.
//!
//! Prints milliseconds, the best of several runs on one thread; `cargo xtask bench payload` compares with it.
#![expect(clippy::print_stdout, reason = "the other side reads it")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lockstep_payload::{DiskFiles, LoadOptions, Release};
use serde_json::{Value, json};

const RUNS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: payload_floor RELEASE")?);
    let release = Release::load(&DiskFiles::open(&folder)?, &LoadOptions::default())?;
    let objects: Vec<String> = release.manifests.iter().map(|manifest| manifest.object.to_string()).collect();

    let mut read = f64::INFINITY;
    let mut parse = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        black_box(read_all(&folder)?);
        read = read.min(milliseconds(start));

        let start = Instant::now();
        for object in &objects {
            black_box(serde_json::from_str::<Value>(object)?);
        }
        parse = parse.min(milliseconds(start));
    }
    println!("{}", json!({"readMs": read, "parseMs": parse, "objects": objects.len()}));
    Ok(())
}

fn read_all(folder: &Path) -> Result<Vec<Vec<u8>>, std::io::Error> {
    let mut files = Vec::new();
    for name in ["manifests", "release-manifests"] {
        for entry in fs::read_dir(folder.join(name))? {
            files.push(fs::read(entry?.path())?);
        }
    }
    Ok(files)
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
