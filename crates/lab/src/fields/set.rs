//! A set of fields: a tree of path elements, each of which may be a member itself.

use std::collections::BTreeMap;

use super::element::PathElement;
use super::types::TypeRef;

/// A set of fields. That a field is a member says nothing about those above or below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(super) nodes: BTreeMap<PathElement, Node>,
}

/// What a set knows about one element; there is no node that is not a member and has nothing below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) member: bool,
    pub(super) below: FieldSet,
}

// === impl FieldSet ===

impl FieldSet {
    /// The set of these paths of field names, such as `[["status"], ["metadata", "name"]]`.
    pub(crate) fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(path.iter().map(|name| PathElement::field(name)));
        }
        set
    }

    /// Adds one field; an empty path is the whole object, which nobody owns.
    pub(crate) fn insert(&mut self, path: impl IntoIterator<Item = PathElement>) {
        let mut path = path.into_iter().peekable();
        let mut set = self;
        while let Some(element) = path.next() {
            let node = set.nodes.entry(element).or_default();
            if path.peek().is_none() {
                node.member = true;
                return;
            }
            set = &mut node.below;
        }
    }

    /// Adds an element and what is below it, if there is anything.
    pub(super) fn put(&mut self, element: PathElement, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        let node = self.nodes.entry(element).or_default();
        node.member |= member;
        if node.below.is_empty() {
            node.below = below;
        } else {
            node.below.add(&below);
        }
    }

    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether the field is a member.
    pub(crate) fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.nodes.get(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.nodes.get(first).is_some_and(|node| node.below.has(rest)),
        }
    }

    /// Union: adds all members of the other set.
    pub(crate) fn add(&mut self, other: &Self) {
        for (element, theirs) in &other.nodes {
            match self.nodes.get_mut(element) {
                Some(ours) => {
                    ours.member |= theirs.member;
                    ours.below.add(&theirs.below);
                }
                None => {
                    self.nodes.insert(element.clone(), theirs.clone());
                }
            }
        }
    }

    /// Difference: takes out the members of the other set, but nothing above or below them.
    pub(crate) fn subtract(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain(|element, ours| {
            if let Some(theirs) = other.nodes.get(element) {
                ours.member &= !theirs.member;
                ours.below.subtract(&theirs.below);
            }
            ours.is_used()
        });
    }

    /// Recursive difference: takes out the members of the other set and all that is below them.
    pub(crate) fn subtract_trees(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain(|element, ours| match other.nodes.get(element) {
            Some(theirs) if theirs.member => false,
            Some(theirs) => {
                ours.below.subtract_trees(&theirs.below);
                ours.is_used()
            }
            None => true,
        });
    }

    /// The members of both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for (element, ours) in &self.nodes {
            if let Some(theirs) = other.nodes.get(element) {
                let below = ours.below.intersection(&theirs.below);
                both.put(element.clone(), ours.member && theirs.member, below);
            }
        }
        both
    }

    /// Whether the other set has all members of this one.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.nodes.iter().all(|(element, ours)| {
            other
                .nodes
                .get(element)
                .is_some_and(|theirs| (theirs.member || !ours.member) && ours.below.is_within(&theirs.below))
        })
    }

    /// The set with all declared fields above its members as members too; keys of maps and items of lists are not added.
    pub(crate) fn with_named_fields(&self, ty: Option<TypeRef<'_>>) -> Self {
        let atom = ty.map(|ty| (ty, ty.atom()));
        let nodes = self.nodes.iter().map(|(element, node)| {
            let (is_named, below) = match (element, atom) {
                (PathElement::Field(name), Some((ty, atom))) => match &atom.map {
                    Some(map) => (map.fields.contains_key(name), ty.key(map, name)),
                    None => (false, None),
                },
                (PathElement::Key(_), Some((ty, atom))) => {
                    (false, atom.list.as_ref().map(|list| ty.at(list.element)))
                }
                _ => (false, None),
            };
            let member = node.member || is_named && !node.below.is_empty();
            (element.clone(), Node { member, below: node.below.with_named_fields(below) })
        });
        Self { nodes: nodes.collect() }
    }

    /// The paths of all members as text, members of one level before those below them.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &str, paths: &mut Vec<String>) {
        let members = self.nodes.iter().filter(|(_, node)| node.member);
        paths.extend(members.map(|(element, _)| format!("{prefix}{element}")));
        for (element, node) in &self.nodes {
            if !node.below.is_empty() {
                node.below.collect_paths(&format!("{prefix}{element}"), paths);
            }
        }
    }
}

// === impl Node ===

impl Node {
    fn is_used(&self) -> bool {
        self.member || !self.below.is_empty()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(paths: &[&[&str]]) -> FieldSet {
        FieldSet::of_names(paths)
    }

    /// Sets of a few names three levels deep, so that parents and children of the same name meet.
    pub(crate) fn any_set() -> impl Strategy<Value = FieldSet> {
        let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4);
        prop::collection::vec(path, 0..8).prop_map(|paths| {
            let mut set = FieldSet::default();
            for path in paths {
                set.insert(path.into_iter().map(PathElement::field));
            }
            set
        })
    }

    #[test]
    fn taking_out_a_parent_leaves_the_child_and_taking_out_its_tree_does_not() {
        let mut plain = set(&[&["a"], &["a", "b"], &["c"]]);
        let mut trees = plain.clone();
        plain.subtract(&set(&[&["a"]]));
        assert_eq!(plain, set(&[&["a", "b"], &["c"]]));
        trees.subtract_trees(&set(&[&["a"]]));
        assert_eq!(trees, set(&[&["c"]]));
    }

    #[test]
    fn paths_name_the_members_of_a_level_before_those_below() {
        let it = set(&[&["a", "b"], &["c"], &["a"]]);
        assert_eq!(it.paths(), [".a", ".c", ".a.b"]);
    }

    proptest! {
        #[test]
        fn what_is_added_and_taken_out_again_leaves_the_rest(one in any_set(), other in any_set()) {
            let mut both = one.clone();
            both.add(&other);
            prop_assert!(one.is_within(&both) && other.is_within(&both));
            let mut rest = both.clone();
            rest.subtract(&other);
            prop_assert!(rest.is_within(&one));
            prop_assert!(rest.intersection(&other).is_empty());
            rest.add(&other);
            prop_assert_eq!(rest, both);
        }

        #[test]
        fn the_intersection_is_what_a_difference_leaves_out(one in any_set(), other in any_set()) {
            let mut only_one = one.clone();
            only_one.subtract(&other);
            let mut common = one.clone();
            common.subtract(&only_one);
            prop_assert_eq!(common, one.intersection(&other));
        }

        #[test]
        fn a_tree_difference_takes_out_at_least_the_members(one in any_set(), other in any_set()) {
            let mut trees = one.clone();
            trees.subtract_trees(&other);
            let mut plain = one;
            plain.subtract(&other);
            prop_assert!(trees.is_within(&plain));
        }
    }
}
