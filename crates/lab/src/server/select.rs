//! Which objects of a resource a list, a watch or a deletion means.

use std::sync::Arc;

use serde_json::Value;

use super::request::{ListOptions, Target};
use super::resource::Resource;
use super::selector::{FieldSelector, LabelSelector};
use crate::status::Status;

/// A namespace, labels and fields.
#[derive(Clone)]
pub(crate) struct Selection {
    /// The namespace; empty for all.
    pub namespace: String,
    resource: Arc<Resource>,
    labels: LabelSelector,
    /// The name of a field, the value there, and whether they must be equal.
    fields: Vec<(String, String, bool)>,
    is_everything: bool,
}

// === impl Selection ===

impl Selection {
    /// What a request selects; wrong selectors are refused.
    pub(crate) fn of(
        resource: &Arc<Resource>,
        target: &Target,
        options: &ListOptions,
    ) -> Result<Self, Status> {
        let labels = LabelSelector::parse(&options.label_selector).map_err(Status::bad_request)?;
        let mut fields = FieldSelector::parse(&options.field_selector).map_err(Status::bad_request)?.0;
        for (label, _, _) in &fields {
            resource.check_selectable(label).map_err(Status::bad_request)?;
        }
        if !target.name.is_empty() {
            fields.push(("metadata.name".into(), target.name.clone(), true));
        }
        let is_everything = options.label_selector.is_empty() && fields.is_empty();
        let resource = Arc::clone(resource);
        Ok(Self { namespace: target.namespace.clone(), resource, labels, fields, is_everything })
    }

    /// Whether there are neither labels nor fields to look at.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// Whether an object at a path is meant.
    pub(crate) fn takes(&self, path: &str, object: &Value) -> bool {
        let is_here = self.namespace.is_empty()
            || path.strip_prefix(&self.namespace).is_some_and(|rest| rest.starts_with('/'));
        is_here && self.matches(object)
    }

    /// Whether labels and fields of an object are meant.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        if self.is_everything {
            return true;
        }
        self.labels.matches(object)
            && self.fields.iter().all(|(label, wanted, is_equal)| {
                (self.resource.field_value(label, object) == *wanted) == *is_equal
            })
    }
}
