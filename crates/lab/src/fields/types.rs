//! How values merge: an arena of types, each of which may be a scalar, a list, a map, or any of the three.

mod builtin;
mod custom;

use std::collections::BTreeMap;

use serde_json::{Map as Object, Value};

pub(crate) use builtin::{builtin_type, builtin_type_named};
pub(crate) use custom::custom_types;

/// The types of one kind, or of all built-in kinds.
#[derive(Debug)]
pub(crate) struct Types {
    atoms: Vec<Atom>,
    root: TypeId,
    /// Whether objects are Go structs in the real server, with fields that are always there.
    is_builtin: bool,
}

/// One type of an arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeRef<'t> {
    types: &'t Types,
    id: TypeId,
}

/// The place of a type in its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(usize);

/// What values of a type may be; at least one of the three.
#[derive(Debug, Default)]
pub(crate) struct Atom {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
}

/// What a single value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    /// Any scalar: quantities, times, ports by name or number.
    Untyped,
}

/// A list and how the lists of two appliers merge.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) element: TypeId,
    pub(crate) merge: ListMerge,
}

/// How two lists merge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ListMerge {
    /// One owner for all of it.
    Atomic,
    /// Scalars, each with its owners.
    Set,
    /// Objects told apart by these fields, each with its owners.
    Keyed(Vec<Box<str>>),
}

/// A map or struct.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) fields: BTreeMap<Box<str>, Field>,
    /// What undeclared keys hold; none are allowed without it.
    pub(crate) element: Option<TypeId>,
    /// One owner for all of it.
    pub(crate) atomic: bool,
}

/// A declared key of a map.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) ty: TypeId,
    pub(crate) default: Option<Value>,
    /// Whether the server writes it even when nobody has set it: a struct inside a struct, a field that is never left out.
    pub(crate) written: bool,
}

/// What a value is taken for.
pub(crate) enum Shape<'t> {
    Map(&'t Map),
    Scalar(Scalar),
    List(&'t List),
}

/// Which of the three a value may be, as bits in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

/// A type of which nothing is known: maps merge key by key, lists are replaced.
const DEDUCED: TypeId = TypeId(0);
/// A type of which nothing is known and that has one owner.
const UNTYPED: TypeId = TypeId(1);

const MAP: u8 = 1;
const SCALAR: u8 = 2;
const LIST: u8 = 4;

// === impl Types ===

impl Types {
    /// An arena with nothing but the two types without rules.
    fn new(is_builtin: bool) -> Self {
        let any = |element, atomic| Atom {
            scalar: Some(Scalar::Untyped),
            list: Some(List { element: UNTYPED, merge: ListMerge::Atomic }),
            map: Some(Map { fields: BTreeMap::new(), element: Some(element), atomic }),
        };
        Self { atoms: vec![any(DEDUCED, false), any(UNTYPED, true)], root: DEDUCED, is_builtin }
    }

    /// The type of whole objects.
    pub(crate) fn root(&self) -> TypeRef<'_> {
        TypeRef { types: self, id: self.root }
    }

    fn add(&mut self, atom: Atom) -> TypeId {
        self.atoms.push(atom);
        TypeId(self.atoms.len() - 1)
    }

    /// A place for a type that is filled in later, because it may contain itself.
    fn reserve(&mut self) -> TypeId {
        self.add(Atom::default())
    }

    fn scalar(&mut self, scalar: Scalar) -> TypeId {
        self.add(Atom { scalar: Some(scalar), ..Atom::default() })
    }
}

// === impl TypeRef ===

impl<'t> TypeRef<'t> {
    /// What its values may be.
    pub(crate) fn atom(self) -> &'t Atom {
        &self.types.atoms[self.id.0]
    }

    /// Whether it is the type of a built-in kind.
    pub(crate) fn is_builtin(self) -> bool {
        self.types.is_builtin
    }

    /// Another type of the same arena.
    pub(crate) fn at(self, id: TypeId) -> Self {
        Self { id, ..self }
    }

    /// The type of one key of a map: that of the declared field, else that of undeclared ones.
    pub(crate) fn key(self, map: &Map, name: &str) -> Option<Self> {
        map.fields.get(name).map(|field| field.ty).or(map.element).map(|id| self.at(id))
    }

    /// What the server has in mind as the object before it is created: only what it always writes.
    pub(crate) fn zero(self) -> Value {
        let mut zero = Object::new();
        for (name, field) in
            self.atom().map.iter().flat_map(|map| &map.fields).filter(|(_, field)| field.written)
        {
            let value = match &field.default {
                Some(Value::Object(_)) => self.at(field.ty).zero(),
                Some(scalar) => scalar.clone(),
                None => Value::Null,
            };
            zero.insert(name.to_string(), value);
        }
        Value::Object(zero)
    }
}

// === impl Atom ===

impl Atom {
    /// What a value can be: just what it is, or everything the type allows when it is null or something else.
    pub(crate) fn kinds(&self, value: &Value) -> Kinds {
        let it = match value {
            Value::Null => 0,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => SCALAR,
            Value::Array(_) => LIST,
            Value::Object(_) => MAP,
        };
        let all = [(self.map.is_some(), MAP), (self.scalar.is_some(), SCALAR), (self.list.is_some(), LIST)];
        let all = all.iter().filter(|(is, _)| *is).fold(0, |bits, (_, bit)| bits | bit);
        Kinds(if all & it == 0 { all } else { it })
    }

    /// What to treat a value as: a map before a scalar before a list.
    pub(crate) fn pick(&self, kinds: Kinds) -> Option<Shape<'_>> {
        let may = |bit| kinds.0 & bit != 0;
        if let Some(map) = self.map.as_ref().filter(|_| may(MAP)) {
            return Some(Shape::Map(map));
        }
        if let Some(scalar) = self.scalar.filter(|_| may(SCALAR)) {
            return Some(Shape::Scalar(scalar));
        }
        self.list.as_ref().filter(|_| may(LIST)).map(Shape::List)
    }

    /// What to treat this value as.
    pub(crate) fn shape(&self, value: &Value) -> Option<Shape<'_>> {
        self.pick(self.kinds(value))
    }
}

// === impl Map ===

impl Map {
    /// Whether nothing is declared about it.
    pub(crate) fn is_deduced(&self) -> bool {
        self.element == Some(DEDUCED) && self.fields.is_empty()
    }
}
