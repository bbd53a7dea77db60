//! Secrets in free text, made unreadable: what is told to events and logs may quote an address, a header or a file.

use std::borrow::Cow;

/// What stands in the place of a secret.
const SHOWN_AS: &str = "(secret)";
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_LABEL: &str = "PRIVATE KEY-----";
/// Names whose values nobody shall read.
const NAMES: [&str; 4] = ["password", "token", "secret", "auth"];
/// A word after `Basic` or `Bearer` that is shorter is one of a sentence.
const SHORTEST_CREDENTIAL: usize = 16;

/// The text without passwords in addresses, bearer tokens, JSON web tokens, private keys, and values by telling names.
///
/// It is the last net, not the first: whoever makes a text leaves secrets out of it.
pub fn masked(text: &str) -> Cow<'_, str> {
    let without_keys = without_private_keys(text);
    let mut shown = String::with_capacity(without_keys.len());
    let (mut before, mut gap_start) = ("", 0);
    for (start, word) in words(&without_keys) {
        let gap = &without_keys[gap_start..start];
        shown.push_str(gap);
        if is_secret(before, gap, word) {
            shown.push_str(SHOWN_AS);
        } else {
            push_without_secret_part(&mut shown, word);
        }
        gap_start = start + word.len();
        before = word;
    }
    shown.push_str(&without_keys[gap_start..]);
    if shown == text { text.into() } else { shown.into() }
}

/// Words with their places; what stands between is space, quotes, brackets and what separates parts of an address.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_between = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | ',' | ';' | '&' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>'
            )
    };
    let words = text.split(is_between).filter(|word| !word.is_empty() && *word != ":");
    words.map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

fn is_secret(before: &str, gap: &str, word: &str) -> bool {
    let is_credential = before.eq_ignore_ascii_case("bearer") || before.eq_ignore_ascii_case("basic");
    let is_value = gap.contains("\":") && is_telling(before);
    is_web_token(word) || is_value || is_credential && word.len() >= SHORTEST_CREDENTIAL
}

fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.split('.').count() == 3
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|end| name.ends_with(end))
}

/// A word with a value by a telling name, or an address with a user in it.
fn push_without_secret_part(shown: &mut String, word: &str) {
    if let Some((name, value)) = word.split_once('=')
        && is_telling(name)
        && !value.is_empty()
    {
        shown.extend([name, "=", SHOWN_AS]);
        return;
    }
    if let Some((scheme, rest)) = word.split_once("://") {
        let authority = rest.split('/').next().unwrap_or_default();
        if let Some((user, host)) = authority.rsplit_once('@')
            && !user.is_empty()
        {
            shown.extend([scheme, "://", SHOWN_AS, "@", host, &rest[authority.len()..]]);
            return;
        }
    }
    shown.push_str(word);
}

fn without_private_keys(text: &str) -> Cow<'_, str> {
    let Some(label) = text.find(KEY_LABEL) else { return text.into() };
    let begin = text[..label].rfind(KEY_BEGIN).unwrap_or(label);
    // A key whose end is cut off is one up to the end of the text.
    let rest = &text[label + KEY_LABEL.len()..];
    let rest = rest.find(KEY_LABEL).map_or("", |end| &rest[end + KEY_LABEL.len()..]);
    format!("{}{SHOWN_AS}{}", &text[..begin], without_private_keys(rest)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_every_sort_are_gone_and_the_rest_stays() {
        let key = "-----BEGIN EC PRIVATE KEY-----\nMIG\n-----END EC PRIVATE KEY-----";
        for (text, shown) in [
            (
                "GET https://jane:hunter2@registry.example.com/v2/: 401",
                "GET https://(secret)@registry.example.com/v2/: 401",
            ),
            ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer (secret)"),
            ("with `eyJhbGciOi.eyJzdWIi.c2ln`, no", "with `(secret)`, no"),
            (&format!("read {key} twice"), "read (secret) twice"),
            (&key[..40], "(secret)"),
            (
                "https://example.com/t?access_token=abc&scope=pull failed",
                "https://example.com/t?access_token=(secret)&scope=pull failed",
            ),
            (r#"{"auth": "amFuZQ==", "email":"a@b"}"#, r#"{"auth": "(secret)", "email":"a@b"}"#),
            (r#"{"password":"x y"}"#, r#"{"password":"(secret) y"}"#),
        ] {
            assert_eq!(masked(text), shown, "{text}");
        }
    }

    #[test]
    fn sentences_about_secrets_are_left_alone() {
        for text in [
            "",
            "getting a token: connection refused",
            "Secret openshift-config/pull-secret: not found",
            "Basic authentication is not allowed, a bearer token is",
            "quay.example.com/r@sha256:0123456789abcdef0123456789abcdef",
            "https://example.com/a@b",
            "Retrieving payload failed version=\"4.20.0\" image=\"r@sha256:1\"",
        ] {
            assert!(matches!(masked(text), Cow::Borrowed(same) if same == text), "{}", masked(text));
        }
    }
}
