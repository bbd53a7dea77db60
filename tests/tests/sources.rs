//! Rules about the text of the sources: pure crates stay pure, files stay readable, nothing of one machine gets in.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockstep_tests::cli::root;

/// Crates that are values to values: no files, no clock, no processes, no environment, no printing.
const PURE: [&str; 6] = ["api", "schema", "view", "payload", "graph", "status"];
/// The one file of a pure crate that reads from disk.
const READS_FILES: &str = "crates/payload/src/files.rs";
/// What the outside world is reached by.
const OUTSIDE: [&str; 16] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::os",
    "env::var",
    "fs::",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "Zoned::now",
    "stdin(",
    "stdout(",
    "stderr(",
    "tokio",
    "thread::sleep",
];
/// The most lines that a source file may have.
const MAX_LINES: usize = 600;

fn read(file: &str) -> String {
    let bytes = fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Every file of the repository, and those that would be added to it.
fn files() -> Vec<String> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let output = Command::new("git").arg("-C").arg(root()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).unwrap();
    let found: Vec<String> = names.split_terminator('\0').map(str::to_owned).collect();
    assert!(found.len() > 100, "{}", found.len());
    // A file that was deleted and not yet committed is still listed.
    found.into_iter().filter(|file| root().join(file).exists()).collect()
}

fn rust_files() -> impl Iterator<Item = String> {
    files().into_iter().filter(|file| is_rust(file))
}

fn is_rust(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "rs")
}

/// Lines of all files that match, as `file:line: text`.
fn matches(files: impl IntoIterator<Item = String>, is_bad: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(read(&file).lines()) {
            if is_bad(&file, line) {
                found.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    found
}

/// A source without its tests: modules that only tests have stand at the end of a file or in one of their own.
fn without_tests(text: &str) -> String {
    let mut lines = text.lines().peekable();
    let mut kept = Vec::new();
    while let Some(line) = lines.next() {
        let opens_module = |next: &&str| next.contains("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(opens_module) {
            break;
        }
        kept.push(line);
    }
    kept.join("\n")
}

/// Files that are modules of tests: `#[cfg(test)]`, perhaps a `#[path = "…"]`, then `mod NAME;`.
fn test_modules(file: &str, text: &str) -> Vec<PathBuf> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let own = match file.rsplit('/').next() {
        Some("lib.rs" | "main.rs" | "mod.rs") => folder.to_owned(),
        _ => Path::new(file).with_extension(""),
    };
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            continue;
        }
        let next = lines.next().unwrap_or_default();
        if let Some(path) = next.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            found.push(folder.join(path));
        } else if let Some(name) = next.strip_suffix(';').and_then(|rest| rest.rsplit_once("mod ")) {
            found.push(own.join(format!("{}.rs", name.1)));
            found.push(own.join(name.1).join("mod.rs"));
        }
    }
    found
}

/// The sources of the pure crates without their tests.
fn pure_sources() -> Vec<(String, String)> {
    let prefixes = PURE.map(|name| format!("crates/{name}/src/"));
    let sources: Vec<(String, String)> = rust_files()
        .filter(|file| prefixes.iter().any(|prefix| file.starts_with(prefix)))
        .map(|file| (file.clone(), read(&file)))
        .collect();
    let tests: BTreeSet<PathBuf> = sources.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let is_test = |file: &str| tests.iter().any(|test| Path::new(file) == test);
    sources
        .into_iter()
        .filter(|(file, _)| !is_test(file))
        .map(|(file, text)| (file, without_tests(&text)))
        .collect()
}

#[test]
fn pure_crates_do_not_reach_outside() {
    let sources = pure_sources();
    assert!(sources.len() > 30, "{}", sources.len());
    let mut found = Vec::new();
    for (file, text) in sources.iter().filter(|(file, _)| file != READS_FILES) {
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            if let Some(word) = OUTSIDE.iter().find(|word| line.contains(**word)) {
                found.push(format!("{file}:{number}: {word}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_scan_sees_sources_and_leaves_their_tests_out() {
    let text = "use std::fs;\n#[cfg(test)]\nmod fixture;\nfn a() {}\n#[cfg(test)]\nmod tests {\n    use std::net;\n}\n";
    assert_eq!(without_tests(text), "use std::fs;\n#[cfg(test)]\nmod fixture;\nfn a() {}");
    let found = test_modules("crates/x/src/lib.rs", text);
    assert_eq!(found[0], Path::new("crates/x/src/fixture.rs"));
    let text = "#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\n";
    assert_eq!(test_modules("crates/x/src/a.rs", text), [Path::new("crates/x/src/a_tests.rs")]);
    assert_eq!(
        test_modules("crates/x/src/a.rs", "#[cfg(test)]\npub(crate) mod b;\n")[0],
        Path::new("crates/x/src/a/b.rs")
    );
    assert!(read(READS_FILES).contains("fs::"), "the exception is still needed");
}

#[test]
fn no_source_file_is_too_long() {
    let long: Vec<String> = rust_files()
        .map(|file| (read(&file).lines().count(), file))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, file)| format!("{file}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "more than {MAX_LINES} lines: {long:#?}");
}

#[test]
fn no_test_is_switched_off() {
    let found = matches(rust_files(), |_, line| line.trim_start().starts_with(concat!("#[", "ignore")));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_source_is_unsafe() {
    let words =
        ["{", "fn", "impl", "trait", "extern"].map(|next| format!("{} {next}", concat!("un", "safe")));
    let found = matches(rust_files(), |_, line| words.iter().any(|word| line.contains(word)));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    let folders = ["root", "home", "work", "Users"].map(|name| format!("/{name}/"));
    let found = matches(files(), |_, line| folders.iter().any(|folder| names_folder(line, folder)));
    assert!(found.is_empty(), "{found:#?}");
}

/// Whether a line has a path that starts with this folder; the same name further down a path is something else.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-}>*)".contains(before))
    })
}

#[test]
fn a_folder_of_one_machine_is_told_from_a_folder_of_that_name() {
    let folder = concat!("/", "home", "/");
    assert!(names_folder(&format!("cd {folder}someone"), folder));
    assert!(names_folder(&format!("\"{folder}x\""), folder));
    assert!(!names_folder("https://example.com/home/page", folder));
    assert!(!names_folder("tests/home/x", folder));
}

#[test]
fn no_file_names_the_host_of_a_package_registry() {
    // In two halves each, or this file would name them itself.
    let hosts = [
        ("crat", "es.io"),
        ("proxy.go", "lang.org"),
        ("sum.go", "lang.org"),
        ("registry.npm", "js.org"),
        ("py", "pi.org"),
        ("deb.deb", "ian.org"),
    ]
    .map(|(one, two)| format!("{one}{two}"));
    // The lockfile names the public index in every entry; that is its format.
    let files = files().into_iter().filter(|file| file != "Cargo.lock");
    let found = matches(files, |_, line| hosts.iter().any(|host| line.contains(host)));
    assert!(found.is_empty(), "{found:#?}");
    let lines = matches(["Cargo.lock".to_owned()], |_, line| line.starts_with("source = "));
    let foreign: Vec<_> =
        lines.iter().filter(|line| !line.contains("\"registry+https://github.com/rust-lang/")).collect();
    assert!(foreign.is_empty() && !lines.is_empty(), "{foreign:#?}");
}

#[test]
fn settings_of_package_managers_stay_outside() {
    let settings = ["[source.", "[registries", "replace-with", "index-url", "GOPROXY="];
    let is_settings =
        |file: &str| file.starts_with(".cargo/") || file.starts_with(".ci/") || file.ends_with("Cargo.toml");
    let files = files().into_iter().filter(|file| is_settings(file));
    let found = matches(files, |_, line| settings.iter().any(|setting| line.contains(setting)));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_relative_link_of_a_document_leads_somewhere() {
    let mut links = 0;
    let is_document = |file: &String| Path::new(file).extension().is_some_and(|extension| extension == "md");
    for file in files().into_iter().filter(is_document) {
        let folder = Path::new(&file).parent().unwrap_or(Path::new("")).to_owned();
        for link in read(&file).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            links += 1;
            assert!(root().join(&folder).join(path).exists(), "{file}: {link}");
        }
    }
    assert!(links > 30, "the scan sees the links");
}

#[test]
fn no_leftover_of_a_tool_is_part_of_the_source() {
    let leftovers = [".orig", ".rej", ".snap.new", ".bak"];
    let found: Vec<String> =
        files().into_iter().filter(|file| leftovers.iter().any(|end| file.ends_with(end))).collect();
    assert_eq!(found, Vec::<String>::new());
}
