//! Which form of a document a client wants.

use crate::status::Status;

/// The forms that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One document as JSON.
    Json,
    /// One document as YAML.
    Yaml,
    /// Everything at once, as JSON.
    Aggregated,
}

/// One of the wishes of an `Accept` header.
struct Clause<'a> {
    range: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    weight: f64,
}

/// Picks the first wish that can be fulfilled; `can_aggregate` where there is an aggregated form.
pub(super) fn form(accept: &str, can_aggregate: bool) -> Result<Form, Status> {
    if accept.trim().is_empty() {
        return Ok(Form::Json);
    }
    let mut clauses: Vec<Clause<'_>> = accept.split(',').map(Clause::parse).collect();
    clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut is_known = false;
    for clause in &clauses {
        let form = match clause.range {
            "application/json" | "application/*" | "*/*" => Form::Json,
            "application/yaml" => Form::Yaml,
            _ => continue,
        };
        is_known = true;
        match clause.conversion() {
            None => return Ok(form),
            Some(("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"))
                if can_aggregate && form == Form::Json =>
            {
                return Ok(Form::Aggregated);
            }
            // A form that nobody has: the next wish.
            Some(_) => {}
        }
    }
    Err(refusal(is_known))
}

/// 406, in the two wordings of the real server.
fn refusal(is_known: bool) -> Status {
    // NB: the real server also names protobuf, which the lab does not write.
    let forms = "application/json, application/yaml";
    if is_known {
        let message = format!("only the following media types are accepted: {forms}");
        return Status::new(406, "NotAcceptable", message);
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {forms}");
    Status { details: Some(serde_json::Map::new()), ..Status::new(406, "NotAcceptable", message) }
}

// === impl Clause ===

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let weight = parameters.iter().find(|(key, _)| *key == "q").and_then(|(_, value)| value.parse().ok());
        Self { range, parameters, weight: weight.unwrap_or(1.0) }
    }

    /// The group, version and kind that the answer shall be converted to.
    fn conversion(&self) -> Option<(&str, &str, &str)> {
        let value =
            |key| self.parameters.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| *value);
        let kind = value("as");
        (!kind.is_empty()).then(|| (value("g"), value("v"), kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What client-go sends.
    const KUBECTL: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;\
                           g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

    #[test]
    fn kubectl_gets_everything_at_once_where_there_is_such_a_form() {
        assert_eq!(form(KUBECTL, true), Ok(Form::Aggregated));
        assert_eq!(form(KUBECTL, false), Ok(Form::Json));
        assert_eq!(
            form("application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io;profile=nopeer", true),
            Ok(Form::Aggregated)
        );
    }

    #[test]
    fn clients_without_wishes_get_json() {
        for accept in ["", "*/*", "application/json", "application/*", "text/html, */*;q=0.8"] {
            assert_eq!(form(accept, true), Ok(Form::Json), "{accept}");
        }
        assert_eq!(form("application/yaml", true), Ok(Form::Yaml));
        assert_eq!(form("application/vnd.kubernetes.protobuf,application/json", true), Ok(Form::Json));
        assert_eq!(form("application/json;q=0.1,application/yaml", true), Ok(Form::Yaml));
    }

    #[test]
    fn what_nobody_can_write_is_refused_in_two_wordings() {
        let unknown = form("text/html", true).unwrap_err();
        assert!(
            unknown.message.starts_with("406: Not Acceptable\n\nAvailable representations: application/json")
        );
        let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        let beta = form(old, true).unwrap_err();
        assert!(beta.message.starts_with("only the following media types are accepted"));
        assert_eq!((beta.code, beta.details), (406, None));
    }
}
