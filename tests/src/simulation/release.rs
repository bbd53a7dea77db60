//! Releases from a seed: a few run levels with components, each a small platform of its own.

use lockstep_api::names::annotation;
use lockstep_api::names::profile::SELF_MANAGED_HIGH_AVAILABILITY;
use lockstep_api::{Override, ResourceId, object};
use lockstep_payload::{Folder, LoadOptions, MemoryFiles, Release, Selection};
use serde_json::{Value, json};

use super::draw::Draw;
use super::manifests::{
    annotate, cluster_role, config_map, custom, definition, deployment, job, namespace, operator,
    operator_definition, removal, secret, service, service_account,
};

/// A generated release and what belongs to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edition {
    pub(crate) version: String,
    pub(crate) files: Vec<File>,
    /// Objects that an administrator keeps for himself.
    pub(crate) overrides: Vec<Override>,
    /// Objects that are in the cluster before anything begins.
    pub(crate) leftovers: Vec<Value>,
    /// Operators, each with the namespace that it makes at run time, if it makes one.
    pub(crate) operators: Vec<(String, Option<String>)>,
}

/// A component that is about to be made.
struct Component<'a> {
    level: &'a str,
    name: &'a str,
    /// Whether it brings a kind.
    is_definer: bool,
    /// The next component of the same run level, and whether it brings a kind.
    neighbour: Option<(&'a str, bool)>,
    /// How many objects it shall have.
    size: usize,
}

/// A file of a release.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) object: Value,
}

/// The names of components; sorted, so that the place in the list is the place in the release.
const COMPONENTS: [&str; 12] =
    ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx"];
const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];
/// At most so many Jobs: each is a barrier for everything.
const MOST_JOBS: usize = 2;

/// The first release of a seed.
pub(crate) fn first(draw: &mut Draw) -> Edition {
    let mut edition = Edition { version: VERSIONS[0].to_owned(), ..Edition::default() };
    edition.add("00", "base", operator_definition());
    let wanted = match draw.between(0, 19) {
        0..=11 => draw.size(5, 25),
        12..=17 => draw.size(25, 70),
        _ => draw.size(70, 200),
    };
    let levels = draw.size(1, 6);
    let mut components = Vec::new();
    for level in 0..levels {
        for _ in 0..draw.size(1, 3) {
            components.push(format!("{:02}", 10 + level * 10));
        }
    }
    components.truncate((wanted / 4).clamp(1, COMPONENTS.len()));
    let each = (wanted / components.len()).max(4);
    let definers: Vec<bool> = components.iter().map(|_| draw.percent(60)).collect();
    let mut jobs = 0;
    for (index, level) in components.iter().enumerate() {
        let is_neighbour = components.get(index + 1) == Some(level);
        let it = Component {
            level,
            name: COMPONENTS[index],
            is_definer: definers[index],
            neighbour: is_neighbour.then(|| (COMPONENTS[index + 1], definers[index + 1])),
            size: each,
        };
        component(&mut edition, draw, &it, &mut jobs);
    }
    edition
}

/// One component: its namespace, what it needs, its operator.
fn component(edition: &mut Edition, draw: &mut Draw, it: &Component<'_>, jobs: &mut usize) {
    let (level, name) = (it.level, it.name);
    let (home, version) = (format!("sim-{name}"), edition.version.clone());
    let before = edition.files.len();
    edition.add(level, name, namespace(&home));
    let kind = kind_of(name);
    if it.is_definer {
        edition.add(level, name, definition(&kind, &["text"]));
        edition.add(level, name, custom(&kind, &home, &format!("{name}-own"), "one"));
    }
    // What the next component of the level brings is needed here already: a wait, and no deadlock.
    if let Some((neighbour, brings_kind)) = it.neighbour
        && draw.percent(50)
    {
        edition.add(level, name, config_map(&format!("sim-{neighbour}"), &format!("{name}-abroad"), "early"));
        if brings_kind {
            edition.add(level, name, custom(&kind_of(neighbour), &home, &format!("{name}-early"), "two"));
        }
    }
    specials(edition, draw, level, name, &home);
    let is_operator = draw.percent(85);
    let used = edition.files.len() - before + if is_operator { 2 } else { 0 };
    for number in 0..it.size.saturating_sub(used) {
        let object = plain(draw, &home, name, number, it.is_definer.then_some(kind.as_str()));
        edition.add(level, name, object);
    }
    // No Job between something and what it waits for.
    if *jobs < MOST_JOBS && it.neighbour.is_none() && draw.percent(20) {
        *jobs += 1;
        edition.add(level, name, job(&home, &format!("{name}-migrate")));
    }
    if !is_operator {
        return;
    }
    let with_deployment = draw.percent(85);
    if with_deployment {
        edition.add(level, name, deployment(&home, &format!("{name}-operator"), &version));
    }
    let runtime = draw.percent(25).then(|| format!("sim-{name}-runtime"));
    if let Some(runtime) = runtime.as_ref().filter(|_| with_deployment) {
        edition.add(level, name, config_map(runtime, &format!("{name}-guest"), "late"));
    }
    edition.add(level, name, operator(name, &version));
    if let Some(runtime) = runtime.as_ref().filter(|_| draw.percent(50)) {
        edition.add(level, name, secret(runtime, &format!("{name}-late-guest")));
    }
    edition.operators.push((name.to_owned(), runtime));
}

/// Removals, create-only objects and overrides.
fn specials(edition: &mut Edition, draw: &mut Draw, level: &str, name: &str, home: &str) {
    if draw.percent(30) {
        let old = config_map("default", &format!("{name}-old"), "left over");
        edition.add(level, name, removal(&old));
        if draw.percent(75) {
            let mut leftover = old;
            if draw.percent(50) {
                leftover["metadata"]["finalizers"] = json!(["sim.example.com/slow"]);
            }
            edition.leftovers.push(leftover);
        }
    }
    if draw.percent(10) {
        edition.add(level, name, removal(&custom("Unheard", "default", &format!("{name}-never"), "")));
    }
    if draw.percent(30) {
        let is_there = draw.percent(50);
        let place = if is_there { "default" } else { home };
        let mut object = config_map(place, &format!("{name}-once"), "as created");
        if is_there {
            edition.leftovers.push(config_map(place, &format!("{name}-once"), "was there before"));
        }
        annotate(&mut object, annotation::CREATE_ONLY);
        edition.add(level, name, object);
    }
    if draw.percent(25) {
        let object = config_map(home, &format!("{name}-hands-off"), "not ours");
        edition.overrides.push(override_of(&object));
        edition.add(level, name, object);
    }
}

/// An object that nothing depends on.
fn plain(draw: &mut Draw, home: &str, name: &str, number: usize, kind: Option<&str>) -> Value {
    let title = format!("{name}-{number}");
    match (draw.between(0, 9), kind) {
        (5, _) => service_account(home, &title),
        (6, _) => secret(home, &title),
        (7, _) => cluster_role(&title, &["get", "list"]),
        (8, _) => service(home, &title, 8000 + number as u64),
        (9, Some(kind)) => custom(kind, home, &title, "plain"),
        _ => config_map(home, &title, "plain"),
    }
}

/// The release after another one: some objects changed, some new, some gone.
pub(crate) fn next(draw: &mut Draw, first: &Edition) -> Edition {
    let version = VERSIONS[1].to_owned();
    let mut edition = Edition {
        version: version.clone(),
        files: Vec::new(),
        overrides: first.overrides.clone(),
        leftovers: Vec::new(),
        operators: first.operators.clone(),
    };
    for file in &first.files {
        let mut object = file.object.clone();
        let is_removal = object::annotation(&object, annotation::DELETE).is_some();
        match object::kind(&object) {
            // An operator without a Deployment has nothing that could become another version.
            "ClusterOperator" if first.has_deployment(object::name(&object)) => {
                object["status"]["versions"][0]["version"] = version.as_str().into();
            }
            "Deployment" => {
                let container = &mut object["spec"]["template"]["spec"]["containers"][0];
                container["image"] =
                    format!("registry.example.com/{}:{version}", object::name(&file.object)).into();
                container["env"][0]["value"] = version.as_str().into();
            }
            "CustomResourceDefinition"
                if object::name(&object).ends_with("sim.example.com") && draw.percent(50) =>
            {
                let kind = object["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
                object = definition(&kind, &["text", "more"]);
            }
            "ConfigMap" if !is_removal => match draw.between(0, 9) {
                0..=3 => object["data"]["text"] = "changed".into(),
                4 => object["data"] = json!({"other": "field"}),
                5 => object = removal(&object),
                6 => continue,
                7 if object::annotation(&object, annotation::CREATE_ONLY).is_none() => {
                    edition.overrides.push(override_of(&object));
                    object["data"]["text"] = "nobody shall see this".into();
                }
                _ => {}
            },
            "Service" if draw.percent(30) => {
                object["spec"]["ports"][0]["port"] = json!(9000 + draw.between(0, 99));
            }
            "ClusterRole" if draw.percent(50) => object["rules"][0]["verbs"] = json!(["get"]),
            "Secret" | "ServiceAccount" if draw.percent(15) => object = removal(&object),
            _ => {}
        }
        edition.files.push(File { name: file.name.clone(), object });
    }
    for (name, _) in &first.operators {
        let Some(level) = first.level_of(name).filter(|_| draw.percent(40)) else { continue };
        let kind = format!("{}Next", kind_of(name));
        let file = |number: u64, object: Value| File {
            name: format!("0000_{level}_{name}_9{number}_new.yaml"),
            object,
        };
        edition.files.push(file(0, definition(&kind, &["text"])));
        edition.files.push(file(1, custom(&kind, &format!("sim-{name}"), &format!("{name}-next"), "new")));
    }
    edition.files.sort_by(|one, two| one.name.cmp(&two.name));
    edition
}

fn kind_of(component: &str) -> String {
    let mut letters = component.chars();
    let first = letters.next().map_or('X', |letter| letter.to_ascii_uppercase());
    format!("{first}{}", letters.as_str())
}

fn override_of(object: &Value) -> Override {
    let id = ResourceId::of(object);
    Override {
        group: id.group,
        kind: id.kind,
        namespace: id.namespace,
        name: id.name,
        unmanaged: true,
        ..Override::default()
    }
}

// === impl Edition ===

impl Edition {
    fn add(&mut self, level: &str, component: &str, object: Value) {
        let number = self.files.len();
        let kind = object::kind(&object).to_lowercase();
        self.files.push(File { name: format!("0000_{level}_{component}_{number:03}_{kind}.yaml"), object });
    }

    /// The run level of a component.
    fn level_of(&self, component: &str) -> Option<String> {
        let is_it = |file: &&File| file.name.split('_').nth(2) == Some(component);
        let file = self.files.iter().find(is_it)?;
        file.name.split('_').nth(1).map(str::to_owned)
    }

    fn has_deployment(&self, operator: &str) -> bool {
        let name = format!("{operator}-operator");
        self.files
            .iter()
            .any(|file| object::kind(&file.object) == "Deployment" && object::name(&file.object) == name)
    }

    /// The release as the engine reads it.
    ///
    /// # Panics
    /// When the generator made something that is no release.
    pub(crate) fn load(&self) -> (Release, Selection) {
        let metadata = json!({"kind": "cincinnati-metadata-v0", "version": self.version, "previous": []});
        let images = json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": self.version}, "spec": {"tags": []}});
        let folder = Folder::ReleaseManifests;
        let mut files = MemoryFiles::new("a generated release")
            .with(folder, "release-metadata", metadata.to_string())
            .with(folder, "image-references", images.to_string());
        for file in &self.files {
            files = files.with(folder, file.name.clone(), file.object.to_string());
        }
        let options = LoadOptions {
            profile: SELF_MANAGED_HIGH_AVAILABILITY.to_owned(),
            release_image: "registry.example.com/release:1".to_owned(),
        };
        let release = Release::load(&files, &options).expect("a generated release");
        let selection = Selection {
            profile: Some(SELF_MANAGED_HIGH_AVAILABILITY.to_owned()),
            overrides: self.overrides.clone(),
            ..Selection::default()
        };
        (release, selection)
    }

    /// The objects of the release that are not overridden, in order.
    pub(crate) fn managed(&self) -> impl Iterator<Item = &Value> {
        self.files.iter().map(|file| &file.object).filter(|object| !self.is_overridden(object))
    }

    pub(crate) fn is_overridden(&self, object: &Value) -> bool {
        let id = ResourceId::of(object);
        let is_it = |entry: &Override| {
            entry.kind == id.kind
                && entry.group == id.group
                && entry.namespace == id.namespace
                && entry.name == id.name
        };
        self.overrides.iter().any(is_it)
    }
}
