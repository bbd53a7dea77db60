//! Programs that know credentials: `docker-credential-NAME`.

use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::credentials::Secret;

/// The name that marks a secret as an identity token.
const TOKEN_USER: &str = "<token>";

/// Asks a program for the credentials of a server; it may know none.
pub(super) fn get(name: &str, server: &str) -> Result<Option<Secret>, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.bytes().all(is_plain) {
        return Err("the name of a helper has only letters, digits, `-`, `_` and `.`".to_owned());
    }
    ask(&format!("docker-credential-{name}"), server)
}

fn ask(program: &str, server: &str) -> Result<Option<Secret>, String> {
    let mut command = Command::new(program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{program} is not on PATH"),
        _ => error.to_string(),
    })?;
    if let Some(mut input) = child.stdin.take() {
        // One that does not read its input says why in its own words.
        let _ = input.write_all(server.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        if said.contains("credentials not found") {
            return Ok(None);
        }
        let said = format!("{} {}", said.trim(), String::from_utf8_lossy(&output.stderr).trim());
        return Err(format!("it failed: {}", said.trim()));
    }
    read(&said)
}

fn read(said: &str) -> Result<Option<Secret>, String> {
    // NB: the answer is secret and never part of a message.
    let value: Value = serde_json::from_str(said).map_err(|_| "its answer is no JSON".to_owned())?;
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    Ok(match (text("Username"), text("Secret")) {
        (_, secret) if secret.is_empty() => None,
        (user, secret) if user == TOKEN_USER => Some(Secret::Identity(secret)),
        (user, password) => Some(Secret::Basic { user, password }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_password_an_identity_or_nothing() {
        let basic = Secret::Basic { user: "u".to_owned(), password: "p".to_owned() };
        assert_eq!(read(r#"{"ServerURL":"s","Username":"u","Secret":"p"}"#), Ok(Some(basic)));
        let token = read(r#"{"Username":"<token>","Secret":"t"}"#);
        assert_eq!(token, Ok(Some(Secret::Identity("t".to_owned()))));
        assert_eq!(read(r#"{"Username":"u","Secret":""}"#), Ok(None));
        assert!(!read("hunter2").unwrap_err().contains("hunter2"));
    }

    #[test]
    fn a_program_is_asked_for_a_server_and_may_know_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docker-credential-x");
        let script = "#!/bin/sh\nread -r server || true\n[ \"$1 $server\" = 'get h.io' ] || { echo credentials not found in native keychain; exit 1; }\necho '{\"Username\":\"u\",\"Secret\":\"p\"}'\n";
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let ask = |server: &str| ask(path.to_str().unwrap(), server);
        assert_eq!(ask("h.io"), Ok(Some(Secret::Basic { user: "u".to_owned(), password: "p".to_owned() })));
        assert_eq!(ask("other.io"), Ok(None));
    }

    #[test]
    fn a_helper_that_is_not_there_or_has_an_odd_name_says_so() {
        assert!(get("no-such-helper", "h.io").unwrap_err().contains("docker-credential-no-such-helper"));
        assert!(get("../evil", "h.io").unwrap_err().contains("only letters"));
    }
}
