//! `cargo xtask`: the project's own commands.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

use std::io;
use std::process::ExitCode;

use xtask::Error;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test [--only STEP]... [--list]
                    run every check and every test; the last line is `N passed, M failed`
  soak NAME [AMOUNT] | --list
                    run one of the suites that find more the longer they run
  bench payload     measure how fast and in how much memory a release is read
  bench lab         measure how fast the lab takes a release, beside a real API server
  bench kube [--only pairs|flood|steady|large]... [--pairs N] [--minutes N] [--changes N] [--seed N]
                    measure an installation beside a bare flood of the same objects, and what it costs to stay
                    installed, on real API servers
  bench mirror      measure a mirror between two registries beside `skopeo copy` of the same images
  bench operator    measure `lockstep operator` on a real API server: to begin, to stay, to be replaced; it stays for
                    LOCKSTEP_BENCH_MINUTES (10)
  bench why         measure `lockstep why` on a real API server with 5,000 Pods
  kube              provide etcd, kube-apiserver, kubectl, kube-controller-manager and kube-scheduler;
                    the last line of the output is their folder
  schema [--check]  write the files in crates/schema/data from a real API server; with --check only compare
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));

    let result = match command {
        "test" => test(rest),
        "soak" => soak(rest),
        "bench" => bench(rest),
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

fn test(arguments: &[&str]) -> Result<ExitCode, Error> {
    let mut only = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match (*argument, rest.as_slice().first()) {
            ("--list", _) => {
                print!("{}", xtask::test::list()?);
                return Ok(ExitCode::SUCCESS);
            }
            ("--only", Some(step)) => {
                only.push(*step);
                rest.next();
            }
            ("--only", None) => return Ok(usage("`--only` wants the name of a step")),
            (other, _) => return Ok(usage(&format!("`test` does not know `{other}`"))),
        }
    }
    Ok(code(xtask::test::run(&only, &mut io::stdout())?))
}

fn soak(arguments: &[&str]) -> Result<ExitCode, Error> {
    match arguments {
        ["--list"] => {
            print!("{}", xtask::soak::list());
            Ok(ExitCode::SUCCESS)
        }
        [name] => Ok(code(xtask::soak::run(name, None, &mut io::stdout())?)),
        [name, amount] => match amount.parse() {
            Ok(amount) => Ok(code(xtask::soak::run(name, Some(amount), &mut io::stdout())?)),
            Err(_) => Ok(usage(&format!("`{amount}` is no amount; use a whole number"))),
        },
        _ => Ok(usage("`soak` wants one name and perhaps an amount, or `--list`")),
    }
}

fn bench(arguments: &[&str]) -> Result<ExitCode, Error> {
    match arguments {
        ["payload"] => Ok(code(xtask::bench::payload(&mut io::stdout())?)),
        ["lab"] => Ok(code(xtask::bench::lab(&mut io::stdout())?)),
        ["mirror"] => Ok(code(xtask::bench::mirror(&mut io::stdout())?)),
        ["operator"] => Ok(code(xtask::bench::operator(&mut io::stdout())?)),
        ["why"] => Ok(code(xtask::bench::why(&mut io::stdout())?)),
        ["kube", rest @ ..] => Ok(code(xtask::bench::kube(rest, &mut io::stdout())?)),
        _ => Ok(usage("`bench` wants `payload`, `lab`, `mirror`, `operator`, `why` or `kube`")),
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

fn code(is_well: bool) -> ExitCode {
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says what is wrong with the command line; exit code 2 tells it apart from a command that failed.
fn usage(problem: &str) -> ExitCode {
    eprint!("error: {problem}\n\n{USAGE}");
    ExitCode::from(2)
}
