//! The patterns of schemas: regular expressions in Go's syntax, run by the `regex` crate.
//!
//! Both engines come from RE2, but they read some signs differently: classes such as `\d` are ASCII in Go, `[` inside a
//! class is a plain sign there, a `{` that starts no repetition too, and several escapes exist on one side only.

use std::iter::Peekable;
use std::str::CharIndices;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// How large a compiled pattern may get, in bytes; `.{0,1000}` over all of Unicode needs some.
const SIZE_LIMIT: usize = 64 << 20;
/// Go's limit of a repetition count.
const MAX_REPEAT: u32 = 1000;

/// A pattern that is compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The pattern as the schema has it.
    pub(crate) source: Box<str>,
    compiled: OnceLock<Result<Regex, String>>,
}

// === impl Pattern ===

impl Pattern {
    pub(crate) fn new(source: &str) -> Self {
        Self { source: source.into(), compiled: OnceLock::new() }
    }

    /// Whether the text matches; the error is Go's, about the pattern.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, &str> {
        match self.compiled.get_or_init(|| compile(&self.source)) {
            Ok(regex) => Ok(regex.is_match(text)),
            Err(error) => Err(error),
        }
    }
}

/// Reads a pattern of Go without compiling it; the error has the words of Go's `regexp.Compile`.
pub(crate) fn parse(source: &str) -> Result<(), String> {
    Translator::new(source).run().map(|_| ())
}

fn compile(source: &str) -> Result<Regex, String> {
    let translated = Translator::new(source).run()?;
    RegexBuilder::new(&translated)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|_| format!("error parsing regexp: invalid character class range: `{source}`"))
}

/// Rewrites a pattern of Go for the `regex` crate.
struct Translator<'a> {
    source: &'a str,
    rest: Peekable<CharIndices<'a>>,
    out: String,
    /// Flags such as `(?i)` that are read but not written: Go lets a repetition look through them.
    flags: String,
    /// How many groups are open.
    depth: usize,
}

/// A piece of a character class.
enum Item {
    /// One sign; it can begin or end a range.
    Sign(char),
    /// A class within the class, already translated.
    Class(String),
}

// === impl Translator ===

impl<'a> Translator<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            rest: source.char_indices().peekable(),
            out: String::with_capacity(source.len()),
            flags: String::new(),
            depth: 0,
        }
    }

    fn run(mut self) -> Result<String, String> {
        // What the next repetition operator would repeat: nothing, something, or another repetition (from its place on).
        let mut before = Before::Nothing;
        while let Some((at, sign)) = self.rest.next() {
            let is_repetition = matches!(sign, '*' | '+' | '?') || (sign == '{' && self.counts(at).is_some());
            if !is_repetition && sign != '(' {
                self.write_flags();
            }
            before = match sign {
                '\\' => self.escape(at)?,
                '[' => self.class(at).map(|()| Before::Something)?,
                '(' if self.open(at)? => Before::Nothing,
                '(' => before.seen_through_flags(),
                ')' if self.depth == 0 => return Err(error("unexpected )", self.source)),
                ')' => {
                    self.depth -= 1;
                    self.out.push(')');
                    Before::Something
                }
                '|' => {
                    self.out.push('|');
                    Before::Nothing
                }
                '*' | '+' | '?' => {
                    self.out.push(sign);
                    self.repetition(at, at + 1, &before)?
                }
                '{' => {
                    if let Some(end) = self.counts(at) {
                        self.check_counts(at, end)?;
                        self.out.push_str(&self.source[at..end]);
                        self.skip_to(end);
                        self.repetition(at, end, &before)?
                    } else {
                        self.out.push_str("\\{");
                        Before::Something
                    }
                }
                '}' | ']' => {
                    self.out.push('\\');
                    self.out.push(sign);
                    Before::Something
                }
                other => {
                    self.out.push(other);
                    Before::Something
                }
            };
        }
        if self.depth > 0 { Err(error("missing closing )", self.source)) } else { Ok(self.out) }
    }

    /// After a repetition operator from `start` to `end`: an optional `?`, and the rules about what may stand before.
    fn repetition(&mut self, start: usize, mut end: usize, before: &Before) -> Result<Before, String> {
        if self.rest.next_if(|(_, sign)| *sign == '?').is_some() {
            self.out.push('?');
            end += 1;
        }
        match before {
            Before::Nothing => {
                Err(error("missing argument to repetition operator", &self.source[start..end]))
            }
            Before::Repetition(first) => {
                Err(error("invalid nested repetition operator", &self.source[*first..end]))
            }
            Before::Something => Ok(Before::Repetition(start)),
        }
    }

    /// The end of `{n}`, `{n,}` or `{n,m}` at this place.
    fn counts(&self, at: usize) -> Option<usize> {
        let inside = self.source.get(at + 1..)?;
        let (inside, _) = inside.split_once('}')?;
        let (low, high) = inside.split_once(',').unwrap_or((inside, ""));
        let is_count = |text: &str| text.chars().all(|sign| sign.is_ascii_digit());
        (!low.is_empty() && is_count(low) && is_count(high)).then_some(at + inside.len() + 2)
    }

    fn check_counts(&self, at: usize, end: usize) -> Result<(), String> {
        let whole = &self.source[at..end];
        let inside = &whole[1..whole.len() - 1];
        let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
        let low: u32 = low.parse().unwrap_or(u32::MAX);
        let high: u32 = if high.is_empty() { low } else { high.parse().unwrap_or(u32::MAX) };
        if low > MAX_REPEAT || high > MAX_REPEAT || low > high {
            return Err(error("invalid repeat count", whole));
        }
        Ok(())
    }

    /// A group: `(`, `(?:`, `(?flags:`, `(?P<name>` or `(?<name>`, or only `(?flags)`. Whether a group is open then.
    fn open(&mut self, at: usize) -> Result<bool, String> {
        if self.rest.next_if(|(_, sign)| *sign == '?').is_none() {
            self.write_flags();
            self.depth += 1;
            self.out.push('(');
            return Ok(true);
        }
        let after = &self.source[at + 2..];
        let named = after.strip_prefix("P<").or_else(|| after.strip_prefix('<'));
        if let Some(name) = named {
            let Some((name, _)) = name.split_once('>') else {
                return Err(error("invalid named capture", &self.source[at..]));
            };
            let end = after.find('>').map_or(self.source.len(), |found| at + 2 + found + 1);
            if name.is_empty() || !name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_') {
                return Err(error("invalid named capture", &self.source[at..end]));
            }
            // Names are of no use here, and Go takes some that the crate refuses.
            self.skip_to(end);
            self.write_flags();
            self.depth += 1;
            self.out.push('(');
            return Ok(true);
        }
        let flags = after.find(|sign: char| !matches!(sign, 'i' | 'm' | 's' | 'U' | '-'));
        let Some(end) = flags else {
            return Err(error("invalid or unsupported Perl syntax", &self.source[at..]));
        };
        let dash = after[..end].find('-');
        let second = dash.and_then(|dash| after[dash + 1..end].find('-').map(|found| dash + 1 + found));
        let (end, sign) = match second {
            Some(second) => (second, b'-'),
            // A dash must be followed by a flag.
            None if end > 0 && dash == Some(end - 1) => (end, b'-'),
            None => (end, after.as_bytes()[end]),
        };
        match sign {
            b':' => {
                self.write_flags();
                self.depth += 1;
                self.out.push_str("(?");
                self.out.push_str(&after[..=end]);
                self.skip_to(at + 2 + end + 1);
                Ok(true)
            }
            b')' => {
                if end > 0 {
                    self.flags.push_str(&self.source[at..=at + 2 + end]);
                }
                self.skip_to(at + 2 + end + 1);
                Ok(false)
            }
            _ => {
                let sign = after[end..].chars().next().map_or(0, char::len_utf8);
                Err(error("invalid or unsupported Perl syntax", &self.source[at..at + 2 + end + sign]))
            }
        }
    }

    /// An escape outside a class.
    fn escape(&mut self, at: usize) -> Result<Before, String> {
        let Some(&(_, sign)) = self.rest.peek() else {
            return Err("error parsing regexp: trailing backslash at end of expression: ``".to_owned());
        };
        let assertion = match sign {
            'A' | 'z' => Some(format!("\\{sign}")),
            'b' => Some("(?-u:\\b)".to_owned()),
            'B' => Some("(?-u:\\B)".to_owned()),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.rest.next();
            self.out.push_str(&assertion);
            return Ok(Before::Something);
        }
        if sign == 'Q' {
            self.rest.next();
            let from = at + 2;
            let end = self.source[from..].find("\\E").map_or(self.source.len(), |found| from + found);
            self.out.push_str(&regex::escape(&self.source[from..end]));
            self.skip_to((end + 2).min(self.source.len()));
            return Ok(Before::Something);
        }
        match self.escaped(at)? {
            Item::Sign(sign) => self.out.push_str(&literal(sign)),
            Item::Class(class) => self.out.push_str(&class),
        }
        Ok(Before::Something)
    }

    /// The sign or class that an escape stands for, inside and outside classes.
    fn escaped(&mut self, at: usize) -> Result<Item, String> {
        let Some((_, sign)) = self.rest.next() else {
            return Err("error parsing regexp: trailing backslash at end of expression: ``".to_owned());
        };
        let class = |text: &str| Ok(Item::Class(text.to_owned()));
        match sign {
            'd' => class("[0-9]"),
            'D' => class("[^0-9]"),
            's' => class("[\\t\\n\\x0C\\r ]"),
            'S' => class("[^\\t\\n\\x0C\\r ]"),
            'w' => class("[0-9A-Za-z_]"),
            'W' => class("[^0-9A-Za-z_]"),
            'p' | 'P' => self.unicode_class(at),
            'a' => Ok(Item::Sign('\u{7}')),
            'f' => Ok(Item::Sign('\u{c}')),
            'n' => Ok(Item::Sign('\n')),
            'r' => Ok(Item::Sign('\r')),
            't' => Ok(Item::Sign('\t')),
            'v' => Ok(Item::Sign('\u{b}')),
            'x' => self.hexadecimal(at),
            '0' => Ok(self.octal('0')),
            '1'..='7' if self.rest.peek().is_some_and(|(_, next)| ('0'..='7').contains(next)) => {
                Ok(self.octal(sign))
            }
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(Item::Sign(other)),
            other => Err(error("invalid escape sequence", &self.source[at..at + 1 + other.len_utf8()])),
        }
    }

    fn octal(&mut self, first: char) -> Item {
        let mut code = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            let Some((_, digit)) = self.rest.next_if(|(_, sign)| sign.is_digit(8)) else { break };
            code = code * 8 + digit.to_digit(8).unwrap_or_default();
        }
        Item::Sign(char::from_u32(code).unwrap_or_default())
    }

    fn hexadecimal(&mut self, at: usize) -> Result<Item, String> {
        let after = &self.source[at + 2..];
        let (digits, end) = match after.strip_prefix('{') {
            Some(braced) => braced.find('}').map_or(("", 0), |end| (&braced[..end], at + 2 + end + 2)),
            None => (after.get(..2).unwrap_or(""), at + 4),
        };
        let sign = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        match sign {
            Some(sign) if digits.chars().all(|digit| digit.is_ascii_hexdigit()) => {
                self.skip_to(end);
                Ok(Item::Sign(sign))
            }
            _ => Err(error("invalid escape sequence", self.source.get(at..at + 2).unwrap_or_default())),
        }
    }

    fn unicode_class(&mut self, at: usize) -> Result<Item, String> {
        let after = &self.source[at + 2..];
        let end = match after.chars().next() {
            Some('{') => after.find('}').map(|end| at + 2 + end + 1),
            Some(letter) => Some(at + 2 + letter.len_utf8()),
            None => None,
        };
        let Some(end) = end else {
            return Err(error("invalid character class range", &self.source[at..]));
        };
        let class = &self.source[at..end];
        if Regex::new(class).is_err() {
            return Err(error("invalid character class range", class));
        }
        self.skip_to(end);
        Ok(Item::Class(class.to_owned()))
    }

    /// A character class from its `[` on.
    fn class(&mut self, at: usize) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if(|(_, sign)| *sign == '^').is_some() {
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            let Some(&(place, sign)) = self.rest.peek() else {
                return Err(error("missing closing ]", &self.source[at..]));
            };
            if sign == ']' && !is_first {
                self.rest.next();
                self.out.push(']');
                return Ok(());
            }
            is_first = false;
            if let Some(end) = self.posix_class(place) {
                self.out.push_str(&self.source[place..end]);
                self.skip_to(end);
                continue;
            }
            match self.class_item(at, place)? {
                Item::Class(class) => self.out.push_str(&class),
                Item::Sign(low) => {
                    let high = self.range_end(at)?;
                    if let Some(high) = high
                        && high < low
                    {
                        let end = self.rest.peek().map_or(self.source.len(), |(end, _)| *end);
                        return Err(error("invalid character class range", &self.source[place..end]));
                    }
                    self.out.push_str(&class_literal(low));
                    if let Some(high) = high {
                        self.out.push('-');
                        self.out.push_str(&class_literal(high));
                    }
                }
            }
        }
    }

    fn class_item(&mut self, class: usize, place: usize) -> Result<Item, String> {
        match self.rest.next() {
            Some((_, '\\')) => self.escaped(place),
            Some((_, sign)) => Ok(Item::Sign(sign)),
            None => Err(error("missing closing ]", &self.source[class..])),
        }
    }

    /// The end of a range, when a `-` and something other than `]` follow.
    fn range_end(&mut self, class: usize) -> Result<Option<char>, String> {
        let mut ahead = self.rest.clone();
        if ahead.next().is_none_or(|(_, sign)| sign != '-')
            || ahead.next().is_none_or(|(_, sign)| sign == ']')
        {
            return Ok(None);
        }
        self.rest.next();
        let place = self.rest.peek().map_or(self.source.len(), |(place, _)| *place);
        match self.class_item(class, place)? {
            Item::Sign(high) => Ok(Some(high)),
            Item::Class(_) => {
                let end = self.rest.peek().map_or(self.source.len(), |(end, _)| *end);
                Err(error("invalid escape sequence", &self.source[place..end]))
            }
        }
    }

    /// The end of `[:alpha:]` at this place.
    fn posix_class(&self, at: usize) -> Option<usize> {
        let inside = self.source[at..].strip_prefix("[:")?;
        let (name, _) = inside.split_once(":]")?;
        name.trim_start_matches('^')
            .chars()
            .all(|sign| sign.is_ascii_lowercase())
            .then_some(at + name.len() + 4)
    }

    fn write_flags(&mut self) {
        self.out.push_str(&std::mem::take(&mut self.flags));
    }

    fn skip_to(&mut self, end: usize) {
        while self.rest.next_if(|(at, _)| *at < end).is_some() {}
    }
}

/// What stands before a place in a pattern.
enum Before {
    /// Nothing that could be repeated.
    Nothing,
    /// Something that can be repeated.
    Something,
    /// A repetition that begins at this byte.
    Repetition(usize),
}

// === impl Before ===

impl Before {
    /// Flags between two repetitions part them.
    fn seen_through_flags(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Something | Self::Repetition(_) => Self::Something,
        }
    }
}

/// A sign outside a class.
fn literal(sign: char) -> String {
    regex::escape(sign.encode_utf8(&mut [0; 4]))
}

/// A sign inside a class; what the crate would read as an operator is escaped.
fn class_literal(sign: char) -> String {
    match sign {
        '[' | ']' | '\\' | '^' | '-' | '&' | '~' => format!("\\{sign}"),
        other => other.to_string(),
    }
}

fn error(what: &str, part: &str) -> String {
    format!("error parsing regexp: {what}: `{part}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_mean_what_they_mean_in_go() {
        for (pattern, yes, no) in [
            (r"^\d+$", "12", "١٢"),
            (r"^\w$", "a", "é"),
            (r"^[\w.-]+$", "a.b-c", "a b"),
            (r"^[a[]$", "[", "b["),
            (r"^a{$", "a{", "a"),
            (r"^a{,2}$", "a{,2}", "aa"),
            (r"^[]a]$", "]", "b"),
            (r"^[&&a]$", "&", "b"),
            (r"^\Qa.b\E$", "a.b", "acb"),
            (r"^\x41\x{42}\103$", "ABC", "abc"),
            (r"^(?P<x>a)(?:b)(?i)C$", "abc", "ABc"),
            (r"^\p{L}$", "é", "1"),
            (r"^[^\s]$", "a", " "),
            (r"a\/b", "a/b", "ab"),
            (r"^a(?i)+$", "aaa", "AA"),
            (r"^a+(?s){2}$", "aa", ""),
            (r"^(([^:/?#]+):)?(//([^/?#]*))?([^?#]*)$", "http://a/b", "a?b"),
        ] {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(regex.is_match(yes), "{pattern} should match {yes:?}");
            assert!(!regex.is_match(no), "{pattern} should not match {no:?}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused_in_its_words() {
        for (pattern, error) in [
            ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
            ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            (r"\i", r"invalid escape sequence: `\i`"),
            (r"(a)\1", r"invalid escape sequence: `\1`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("[b-a]", "invalid character class range: `b-a`"),
            (r"[a-\d]", r"invalid escape sequence: `\d`"),
            ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
            ("(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
        ] {
            assert_eq!(compile(pattern).err(), Some(format!("error parsing regexp: {error}")), "{pattern}");
        }
    }
}
