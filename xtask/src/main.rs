//! `cargo xtask`: the project's own commands.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

use std::process::ExitCode;

use xtask::Error;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

Commands:
  kube              provide etcd, kube-apiserver, kubectl, kube-controller-manager and kube-scheduler;
                    the last line of the output is their folder
  schema [--check]  write crates/schema/data/kinds.json from a real API server; with --check only compare
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));

    let result = match command {
        "kube" => kube(rest),
        "schema" => schema(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        "" => return usage("no command"),
        _ => return usage(&format!("unknown command `{command}`")),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn kube(arguments: &[&str]) -> Result<ExitCode, Error> {
    if let [first, ..] = arguments {
        return Ok(usage(&format!("`kube` takes no argument, got `{first}`")));
    }
    println!("{}", xtask::kube::assets()?.display());
    Ok(ExitCode::SUCCESS)
}

fn schema(arguments: &[&str]) -> Result<ExitCode, Error> {
    let summary = match arguments {
        [] => xtask::schema::write()?,
        ["--check"] => xtask::schema::check()?,
        [first, ..] => return Ok(usage(&format!("`schema` does not know `{first}`"))),
    };
    println!("{summary}");
    Ok(ExitCode::SUCCESS)
}

/// Says what is wrong with the command line; exit code 2 tells it apart from a command that failed.
fn usage(problem: &str) -> ExitCode {
    eprint!("error: {problem}\n\n{USAGE}");
    ExitCode::from(2)
}
