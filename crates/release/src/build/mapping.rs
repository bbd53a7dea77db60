//! `SRC=DST`: which image stands for a name, from arguments and from files.

use std::collections::BTreeMap;

use serde_json::Value;

/// Images by name, and the version that a file of them carries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mappings {
    /// Pull spec by name.
    pub images: BTreeMap<String, String>,
    /// The version, when a JSON file has one.
    pub version: Option<String>,
}

/// Why mappings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// Not `SRC=DST`.
    #[error("{place}all arguments must be valid SRC=DST mappings, got {token:?}")]
    Form {
        /// `file F, line N: ` or nothing.
        place: String,
        /// What is there.
        token: String,
    },
    /// A name that stands twice.
    #[error("{place}each source tag may only be specified once: {name}")]
    Twice {
        /// `file F, line N: ` or nothing.
        place: String,
        /// The name.
        name: String,
    },
    /// A JSON file of another shape.
    #[error(
        "file {file}: {why}; wanted {{\"images\": {{\"NAME\": \"PULLSPEC\"}}, \"version\": \"…\"}} or lines of SRC=DST"
    )]
    Json {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
}

// === impl Mappings ===

impl Mappings {
    /// Adds a file: lines of `SRC=DST` with `#` comments, or JSON.
    ///
    /// # Compatibility
    /// The reference means to refuse a name that stands twice, but compares with the wrong side.
    pub fn add_file(&mut self, file: &str, text: &str) -> Result<(), MappingError> {
        if text.trim_start().starts_with('{') {
            return self.add_json(file, text);
        }
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            for token in line.split_whitespace() {
                self.add(token, &format!("file {file}, line {}: ", index + 1))?;
            }
        }
        Ok(())
    }

    /// Adds an argument.
    pub fn add_argument(&mut self, token: &str) -> Result<(), MappingError> {
        self.add(token, "")
    }

    fn add(&mut self, token: &str, place: &str) -> Result<(), MappingError> {
        match token.split_once('=') {
            Some((name, image)) if !name.is_empty() && !image.is_empty() => self.insert(name, image, place),
            _ => Err(MappingError::Form { place: place.to_owned(), token: token.to_owned() }),
        }
    }

    fn insert(&mut self, name: &str, image: &str, place: &str) -> Result<(), MappingError> {
        if self.images.insert(name.to_owned(), image.to_owned()).is_some() {
            return Err(MappingError::Twice { place: place.to_owned(), name: name.to_owned() });
        }
        Ok(())
    }

    fn add_json(&mut self, file: &str, text: &str) -> Result<(), MappingError> {
        let wrong = |why: String| MappingError::Json { file: file.to_owned(), why };
        let value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let images = value["images"].as_object().ok_or_else(|| wrong("no object `images`".to_owned()))?;
        for (name, image) in images {
            let image = image.as_str().filter(|image| !image.is_empty() && !name.is_empty());
            let image = image.ok_or_else(|| wrong(format!("{name:?} is no pull spec")))?;
            self.insert(name, image, &format!("file {file}: "))?;
        }
        match &value["version"] {
            Value::Null => {}
            Value::String(version) => self.version = Some(version.clone()),
            _ => return Err(wrong("`version` is no text".to_owned())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Mappings, String> {
        let mut mappings = Mappings::default();
        mappings.add_file("m", text).map_err(|error| error.to_string())?;
        Ok(mappings)
    }

    #[test]
    fn files_have_comments_blank_lines_and_several_mappings_on_a_line() {
        let found = of("# images\na=r/a:1  b=r/b@sha256:12 # both\n\nc=r/c=d\n").unwrap();
        let images: Vec<_> = found.images.iter().map(|(name, image)| format!("{name} {image}")).collect();
        assert_eq!(images, ["a r/a:1", "b r/b@sha256:12", "c r/c=d"]);
    }

    #[test]
    fn what_is_no_mapping_is_named_with_its_place() {
        for token in ["a", "=b", "a="] {
            let error = of(&format!("x=y\n{token}")).unwrap_err();
            assert!(
                error.starts_with("file m, line 2: all arguments must be valid SRC=DST mappings"),
                "{error}"
            );
        }
        let error = Mappings::default().add_argument("a").unwrap_err().to_string();
        assert!(error.starts_with("all arguments must be valid SRC=DST mappings"), "{error}");
    }

    #[test]
    fn a_name_that_stands_twice_is_refused_even_with_the_same_image() {
        let error = of("a=r/1\nb=r/1\na=r/2").unwrap_err();
        assert_eq!(error, "file m, line 3: each source tag may only be specified once: a");
        let mut both = of("a=r/1").unwrap();
        assert!(both.add_argument("a=r/1").is_err());
        assert!(both.add_argument("b=r/1").is_ok(), "two names of one image are fine");
    }

    #[test]
    fn json_has_images_and_a_version() {
        let found = of(r#" {"images": {"a": "r/a"}, "version": "5.0.0"}"#).unwrap();
        assert_eq!((found.images["a"].as_str(), found.version.as_deref()), ("r/a", Some("5.0.0")));
        for bad in ["{", "{}", r#"{"images":{"a":1}}"#, r#"{"images":{},"version":5}"#] {
            assert!(of(bad).unwrap_err().starts_with("file m: "), "{bad}");
        }
    }
}
