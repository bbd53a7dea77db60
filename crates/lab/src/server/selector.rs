//! Label and field selectors.

use serde_json::Value;

use crate::meta::names;

/// A parsed label selector.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

/// A parsed field selector: field, value, and whether they must be equal or differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldSelector(pub Vec<(String, String, bool)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ",", "(", ")", ">", "<"];
const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

// === impl LabelSelector ===

impl LabelSelector {
    /// Reads a selector; the error is the real server's sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        let mut requirements = Vec::new();
        loop {
            match parser.peek() {
                Token::End => return Ok(Self(requirements)),
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = parser.requirement();
                    requirements
                        .push(requirement.map_err(|error| format!("unable to parse requirement: {error}"))?);
                }
                other @ Token::Symbol(_) => {
                    let found = other.text();
                    return Err(format!("found '{found}', expected: !, identifier, or 'end of string'"));
                }
            }
            match parser.next() {
                Token::End => return Ok(Self(requirements)),
                Token::Symbol(",") => {
                    if !matches!(parser.peek(), Token::Word(_) | Token::Symbol("!")) {
                        let found = parser.peek().text();
                        return Err(format!("found '{found}', expected: identifier after ','"));
                    }
                }
                other => {
                    return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
                }
            }
        }
    }

    /// Whether an object has such labels.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.0.iter().all(|requirement| requirement.matches(labels[requirement.key.as_str()].as_str()))
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        match &self.test {
            Test::Exists => label.is_some(),
            Test::Absent => label.is_none(),
            Test::In(values) => label.is_some_and(|label| values.iter().any(|value| value == label)),
            Test::NotIn(values) => !label.is_some_and(|label| values.iter().any(|value| value == label)),
            Test::Greater(bound) => number().is_some_and(|number| number > *bound),
            Test::Less(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

// === impl Parser ===

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        let problems = names::qualified_name(&key);
        if !problems.is_empty() {
            return Err(format!("<nil>: Invalid value: {key:?}: {}", problems.join("; ")));
        }
        if negated {
            return Ok(Requirement { key, test: Test::Absent });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement { key, test: Test::Exists });
        }
        let operator = self.next();
        let test = match operator.text() {
            "in" => Test::In(self.values()?),
            "notin" => Test::NotIn(self.values()?),
            "=" | "==" => Test::In(vec![self.exact_value()?]),
            "!=" => Test::NotIn(vec![self.exact_value()?]),
            ">" => Test::Greater(self.bound()?),
            "<" => Test::Less(self.bound()?),
            found => return Err(format!("found '{found}', expected: {OPERATORS}")),
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            for value in values {
                let problems = names::label_value(value);
                if !problems.is_empty() {
                    let problems = problems.join("; ");
                    return Err(format!("values[0][{key}]: Invalid value: {value:?}: {problems}"));
                }
            }
        }
        Ok(Requirement { key, test })
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        if self.peek() == &Token::Symbol(")") {
            self.next();
            return Ok(vec![String::new()]);
        }
        if !matches!(self.peek(), Token::Word(_) | Token::Symbol(",")) {
            return Err(format!("found '{}', expected: ',', ')' or identifier", self.peek().text()));
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.push(word);
                    match self.next() {
                        Token::Symbol(",") if self.peek() == &Token::Symbol(")") => {
                            values.push(String::new());
                        }
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => return Ok(values),
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                // An empty place between commas, or at either end, is the empty value.
                Token::Symbol(",") => values.push(String::new()),
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(word) => Ok(word),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn bound(&mut self) -> Result<i64, String> {
        let value = self.exact_value()?;
        value.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            )
        })
    }
}

// === impl Token ===

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(text) => text,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = rest[symbol.len()..].trim_start();
            continue;
        }
        let is_end = |c: char| c.is_whitespace() || "=!(),><".contains(c);
        let end = rest.find(is_end).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        tokens.push(Token::Word(word.to_owned()));
        rest = tail.trim_start();
    }
    tokens.push(Token::End);
    tokens
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Reads a selector; the error is the real server's sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for part in split_terms(text).into_iter().filter(|part| !part.is_empty()) {
            let (at, operator) = first_operator(part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            let value = unescape(&part[at + operator.len()..])?;
            terms.push((part[..at].to_owned(), value, operator != "!="));
        }
        Ok(Self(terms))
    }
}

/// The parts between commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn first_operator(term: &str) -> Option<(usize, &'static str)> {
    (0..term.len()).find_map(|at| {
        let rest = term.get(at..)?;
        ["!=", "==", "="]
            .into_iter()
            .find(|operator| rest.starts_with(operator))
            .map(|operator| (at, operator))
    })
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('\\' | ',' | '=')) => out.push(next),
                Some(next) => {
                    return Err(format!("invalid field selector: invalid escape sequence: \\{next}"));
                }
                None => return Err("invalid field selector: invalid escape sequence: \\".into()),
            },
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {c}"));
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(selector: &str, labels: &Value) -> bool {
        LabelSelector::parse(selector).unwrap().matches(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn every_operator_selects_what_it_says() {
        let labels = json!({"app": "web", "n": "5", "empty": ""});
        for (selector, wanted) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("app=web", true),
            ("app == web , n", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (a, web)", true),
            ("app notin (a, web)", false),
            ("other notin (a)", true),
            ("n>4", true),
            ("n<5", false),
            ("empty=", true),
            ("empty in (,x)", true),
            ("app in ()", false),
        ] {
            assert_eq!(selects(selector, &labels), wanted, "{selector}");
        }
    }

    #[test]
    fn wrong_selectors_are_refused_in_the_servers_words() {
        for (selector, error) in [
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a ~ b", "unable to parse requirement: found '~', expected: in, notin, =, ==, !=, gt, lt"),
        ] {
            assert_eq!(LabelSelector::parse(selector).unwrap_err(), error, "{selector}");
        }
    }

    #[test]
    fn field_selectors_split_at_commas_that_are_not_escaped() {
        let selector = FieldSelector::parse("metadata.name=a\\,b,status.phase!=Running").unwrap();
        assert_eq!(selector.0[0], ("metadata.name".into(), "a,b".into(), true));
        assert_eq!(selector.0[1], ("status.phase".into(), "Running".into(), false));
        let error = FieldSelector::parse("metadata.name").unwrap_err();
        assert_eq!(error, "invalid selector: 'metadata.name'; can't understand 'metadata.name'");
    }
}
