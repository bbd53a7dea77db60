//! A headless Chromium that opens one page and says what a script finds in it.
//!
//! Chromium cannot make its window narrower than 500 px, so the page is shown in a frame of exactly the wanted size.
//! All host names resolve to nothing: what a page tries to load is recorded and never sent.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::debian;
use crate::error::{Error, io_error};

/// The variable that names the browser to use.
pub const VARIABLE: &str = "LOCKSTEP_CHROMIUM";
/// Names of the browser on `PATH`, tried in this order.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Debian packages: without a font every text has the width 0.
const PACKAGES: [&str; 2] = ["chromium", "fonts-dejavu-core"];
/// A page of 3 MB with 1000 manifests takes about 3 s on two cores.
const PATIENCE: Duration = Duration::from_mins(2);

/// A Chromium that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Browser {
    binary: PathBuf,
}

/// The window that a page is looked at through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Inner width in CSS pixels.
    pub width: u32,
    /// Inner height in CSS pixels.
    pub height: u32,
    /// Whether the reader prefers a dark scheme.
    pub dark: bool,
}

/// What came of a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// What the script returned.
    pub result: Value,
    /// The addresses that the page tried to load over the network, from the browser's network log.
    pub requests: Vec<String>,
}

// === impl Browser ===

impl Browser {
    /// Finds Chromium; as root on Debian it is installed when it is missing.
    pub fn find_or_install() -> Result<Self, Error> {
        if let Some(found) = Self::find()? {
            return Ok(found);
        }
        install()?;
        Self::find()?.ok_or_else(|| missing("apt-get installed no `chromium`"))
    }

    /// Finds Chromium by [`VARIABLE`] or on `PATH`.
    pub fn find() -> Result<Option<Self>, Error> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            let binary = PathBuf::from(named);
            if binary.is_file() {
                return Ok(Some(Self { binary }));
            }
            return Err(missing(format!("{VARIABLE} names `{}`, which is no file", binary.display())));
        }
        Ok(NAMES.iter().find_map(|name| debian::on_path(name)).map(|binary| Self { binary }))
    }

    /// Opens the page and calls the script, a JavaScript function expression, with `argument` once it has loaded.
    pub fn visit(&self, html: &str, script: &str, argument: &Value, window: Window) -> Result<Visit, Error> {
        let folder = Folder::new()?;
        let page = with_script(html, script, argument);
        write(&folder.0.join("page.html"), &page)?;
        let frame = folder.0.join("frame.html");
        write(&frame, &frame_html(window))?;
        let (dom, log) = (folder.0.join("dom.html"), folder.0.join("net.json"));
        self.run(&folder.0, &frame, &dom, &log, window)?;
        let dom = read(&dom)?;
        let result = between(&dom, "<pre id=\"result\">", "</pre>").map(unescaped);
        let result = result.and_then(|json| serde_json::from_str(&json).ok()).ok_or_else(|| {
            let log = fs::read_to_string(folder.0.join("stderr")).unwrap_or_default();
            Error::Command { command: format!("{} --dump-dom", self.binary.display()), log }
        })?;
        Ok(Visit { result, requests: requests(&read(&log)?) })
    }

    fn run(&self, folder: &Path, page: &Path, dom: &Path, log: &Path, window: Window) -> Result<(), Error> {
        let create =
            |path: &Path| File::create(path).map_err(io_error(format!("creating {}", path.display())));
        let mut command = Command::new(&self.binary);
        command
            // The sandbox needs a kernel set-up that containers lack; the pages are our own.
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars"])
            // Lets the framed file write its result into the frame.
            .arg("--allow-file-access-from-files")
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("--log-net-log={}", log.display()))
            .arg(format!("--window-size={},{}", window.width.max(500), window.height))
            .args(window.dark.then_some("--force-dark-mode"))
            .arg("--dump-dom")
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .stdout(create(dom)?)
            .stderr(create(&folder.join("stderr"))?);
        let running = || io_error(format!("running {}", self.binary.display()));
        let mut child = command.spawn().map_err(running())?;
        let start = Instant::now();
        while child.try_wait().map_err(running())?.is_none() {
            if start.elapsed() > PATIENCE {
                child.kill().map_err(running())?;
                child.wait().map_err(running())?;
                let log = format!("not finished within {} s", PATIENCE.as_secs());
                return Err(Error::Command { command: format!("{} --dump-dom", self.binary.display()), log });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// The page with a script as its first, so that nothing of the page runs before it listens.
///
/// A load that the page's own security policy refuses never reaches the network log; it is reported to the script as
/// `argument.refused`.
fn with_script(html: &str, script: &str, argument: &Value) -> String {
    let script = format!(
        "<script>{{const refused = [];\n\
         addEventListener('securitypolicyviolation', (event) => refused.push(event.blockedURI));\n\
         addEventListener('load', () => {{\n\
         let result;\n\
         try {{ result = ({script})({{ ...{argument}, refused }}); }} catch (error) {{ result = {{ error: String(error) }}; }}\n\
         const out = parent.document.createElement('pre');\n\
         out.id = 'result';\n\
         out.textContent = JSON.stringify(result);\n\
         parent.document.body.append(out);\n\
         }});}}</script>\n"
    );
    // NB: before the doctype a script would put the page into quirks mode.
    let at = ["<head>", "<html>", "<!doctype html>"]
        .iter()
        .find_map(|tag| html.find(tag).map(|at| at + tag.len()));
    let (before, after) = html.split_at(at.unwrap_or(0));
    format!("{before}{script}{after}")
}

fn frame_html(Window { width, height, .. }: Window) -> String {
    format!(
        "<!doctype html><meta name=\"color-scheme\" content=\"light dark\"><body style=\"margin: 0\">\
         <iframe src=\"page.html\" style=\"border: 0; width: {width}px; height: {height}px\"></iframe>"
    )
}

/// The addresses that pages asked for. NB: the browser's own requests (time, updates) have no origin as initiator.
fn requests(log: &str) -> Vec<String> {
    let of_a_page = |line: &str| {
        // One event per line, followed by what joins or ends the list.
        let event: Value = serde_json::Deserializer::from_str(line).into_iter().next()?.ok()?;
        let initiator = event.pointer("/params/initiator")?.as_str()?;
        let url = event.pointer("/params/url")?.as_str()?;
        (initiator != "not an origin").then(|| url.to_owned())
    };
    log.lines().filter_map(of_a_page).collect()
}

fn install() -> Result<(), Error> {
    let by_hand =
        format!("install Debian's `{}` (or any Chromium and a font), or set {VARIABLE}", PACKAGES.join(" "));
    debian::install("Chromium", &PACKAGES, &by_hand)
}

fn missing(what: impl Into<String>) -> Error {
    Error::Data { from: "Chromium".to_owned(), what: what.into() }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inside, _)| inside)
}

/// Text content as a browser writes it back: it escapes these three and the no-break space.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&")
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(io_error(format!("writing {}", path.display())))
}

fn read(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(io_error(format!("reading {}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A folder of one visit, removed afterwards.
struct Folder(PathBuf);

// === impl Folder ===

impl Folder {
    fn new() -> Result<Self, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lockstep-browser-{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(io_error(format!("creating {}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left-overs in the system's folder for temporary files do no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_of_the_page_are_taken_from_the_log() {
        let log = "{\"constants\":{},\n\"events\": [\n\
            {\"params\":{\"initiator\":\"not an origin\",\"url\":\"https://update.example/\"},\"type\":2},\n\
            {\"params\":{\"initiator\":\"null\",\"url\":\"http://page.example/a.png\"},\"type\":2},\n\
            {\"params\":{\"initiator\":\"file://\",\"url\":\"http://page.example/b.png\"},\"type\":2}]}\n";
        assert_eq!(requests(log), ["http://page.example/a.png", "http://page.example/b.png"]);
    }

    #[test]
    fn the_script_comes_before_everything_of_the_page_but_its_doctype() {
        let page = with_script("<!doctype html><html><head><title>t</title>", "() => 1", &Value::Null);
        assert!(page.starts_with("<!doctype html><html><head><script>"), "{page}");
        assert!(
            with_script("<!doctype html><p>x", "() => 1", &Value::Null)
                .starts_with("<!doctype html><script>")
        );
    }
}
