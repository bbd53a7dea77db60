//! Starts a private Kubernetes, says where it is and waits to be killed; the suite about the fixture does that.
#![expect(clippy::print_stdout, reason = "the other side reads it")]

use std::thread;
use std::time::Duration;

use xtask::Error;
use xtask::kube::{Server, ServerOptions};

fn main() -> Result<(), Error> {
    let server = Server::start(&ServerOptions::default())?;
    let pids: Vec<String> = server.pids().iter().map(ToString::to_string).collect();
    println!("started {} {}", server.folder().display(), pids.join(" "));
    // Longer than the other side waits, so that only the kill can end it.
    thread::sleep(Duration::from_mins(1));
    Ok(())
}
