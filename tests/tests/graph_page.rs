//! The pages of `lockstep-view` in a real browser, and proof that the check notices what it is there for.

use lockstep_tests::page::{
    LAPTOP, LAPTOP_IN_THE_DARK, PageReport, TELEPHONE, check_page, check_page_in, visit,
};
use lockstep_view::flow::{Flow, Lane, Stage, TaskBox, flow_html, flow_svg};
use serde_json::json;
use xtask::browser::Window;

const KINDS: [&str; 5] =
    ["Namespace", "CustomResourceDefinition", "ValidatingAdmissionPolicyBinding", "Role", "Deployment"];

/// As large as a real release: 30 stages, 90 lanes, 960 tasks, names as long as Kubernetes allows.
fn a_large_flow() -> Flow {
    let stages = (0..30).map(a_stage).collect();
    let facts = [
        ("Version", "4.20.0"),
        ("Profile", "self-managed-high-availability"),
        ("Release image", &"f".repeat(180)),
    ];
    Flow {
        title: "Release 4.20.0".into(),
        subtitle: "Updating: run levels one after the other, components of one level side by side.".into(),
        facts: facts.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        stages,
        notes: vec![format!("A file that is left out: {}.yaml", "long-".repeat(40))],
    }
}

/// Sizes vary: every third stage runs alone, every tenth is a Job, one in three holds seven lanes.
fn a_stage(number: usize) -> Stage {
    let barrier = number % 10 == 9;
    let lanes = match number % 3 {
        _ if barrier => 1,
        0 => 1,
        1 => 2,
        _ => 7,
    };
    let tasks = match lanes {
        _ if barrier => 1,
        1 => 28,
        2 => 18,
        _ => 6,
    };
    let lanes = (0..lanes).map(|lane| a_lane(number, lane, tasks)).collect();
    let owner = match number % 4 {
        0 => None,
        1 => Some("network operator".to_owned()),
        2 => Some("service certificate authority and machine approver".to_owned()),
        _ => Some("an-owner-without-any-blank-".repeat(4)),
    };
    Stage { label: format!("run level {number:02}"), owner, barrier, lanes }
}

fn a_lane(stage: usize, lane: usize, tasks: usize) -> Lane {
    let component = match lane % 3 {
        0 => format!("dns-{stage}"),
        1 => format!("cluster-csi-snapshot-controller-operator-{stage}-{lane}"),
        _ => format!("{}{lane}", "acomponentwithoutseparators".repeat(3)),
    };
    let tasks = (0..tasks)
        .map(|task| a_task(stage, &component, task, task + 1 == tasks && lane.is_multiple_of(2)))
        .collect();
    Lane { component, run_levels: vec![format!("{stage:02}")], tasks }
}

fn a_task(stage: usize, component: &str, task: usize, is_gate: bool) -> TaskBox {
    let kind = if is_gate { "ClusterOperator" } else { KINDS[task % KINDS.len()] };
    let name = if task % 7 == 3 { "n".repeat(253) } else { format!("openshift-{component}-{task}") };
    TaskBox {
        index: stage * 100 + task,
        file: format!("0000_{stage:02}_{component}_{task:02}_{}.yaml", "volumeattributesclass-reader-role"),
        kind: kind.into(),
        gate: is_gate.then(|| format!("waits for ClusterOperator {component}")),
        namespace: (task % 2 == 1).then(|| "openshift-cluster-csi-drivers".to_owned()),
        name,
        tags: if task.is_multiple_of(5) {
            vec!["create-only".into(), "capability CSISnapshot".into()]
        } else {
            Vec::new()
        },
    }
}

fn a_small_flow() -> Flow {
    let mut flow = a_large_flow();
    flow.stages = vec![a_stage(0), a_stage(2), a_stage(9)];
    for lane in flow.stages.iter_mut().flat_map(|stage| &mut stage.lanes) {
        let first = lane.tasks.len().saturating_sub(2);
        lane.tasks.drain(..first);
    }
    flow
}

fn look(html: &str) -> PageReport {
    check_page(html).expect("a browser that looks at the page")
}

/// A page that is fine but for what the test puts into it.
fn page_with(content: &str) -> PageReport {
    page_in(&[LAPTOP], content)
}

fn page_in(windows: &[Window], content: &str) -> PageReport {
    let html = format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><style>body {{ margin: 8px; background: #fff; color: #000; \
         font: 16px/1.5 sans-serif }}</style></head><body><p>An ordinary line.</p>{content}</body></html>"
    );
    check_page_in(&html, windows).expect("a browser that looks at the page")
}

#[test]
fn the_page_of_a_large_release_is_sound_in_light_dark_and_narrow() {
    let flow = a_large_flow();
    assert!(flow.tasks().count() >= 950 && flow.lanes().count() >= 90, "{}", flow.tasks().count());
    let report = look(&flow_html(&flow));
    assert!(report.problems.is_empty(), "{report}");
    assert!(report.texts > 3 * 950, "kind, name and file of each manifest were looked at: {report}");
}

#[test]
fn the_page_of_a_small_release_is_sound_too() {
    let report = look(&flow_html(&a_small_flow()));
    assert!(report.problems.is_empty() && report.texts > 60, "{report}");
}

#[test]
fn the_page_of_one_stage_with_every_component_is_sound() {
    let mut flow = a_large_flow();
    let lanes = flow.lanes().cloned().collect();
    flow.stages = vec![Stage { label: "all run levels".into(), lanes, ..Stage::default() }];
    let report = look(&flow_html(&flow));
    assert!(report.problems.is_empty(), "{report}");
}

#[test]
fn the_drawing_is_legible_in_light_and_dark() {
    let style =
        "<style>body { margin: 0 } @media (prefers-color-scheme: dark) { body { background: #000 } }</style>";
    let html =
        format!("<!doctype html><html><head>{style}</head><body>{}</body></html>", flow_svg(&a_large_flow()));
    let report = check_page_in(&html, &[LAPTOP, LAPTOP_IN_THE_DARK]).unwrap();
    assert!(report.problems.is_empty() && report.texts > 250, "{report}");
}

#[test]
fn a_sound_page_has_no_problems() {
    let report = page_with("<p>Another line.</p>");
    assert_eq!((report.problems.len(), report.texts), (0, 2), "{report}");
}

#[test]
fn texts_on_top_of_each_other_are_reported() {
    let report = page_with("<p>Under</p><p style=\"margin-top: -36px\">Over</p>");
    assert_eq!(report.broken_rules(), ["overlap"], "{report}");
}

#[test]
fn text_that_leaves_its_box_is_reported() {
    let report = page_with("<div style=\"width: 60px; white-space: nowrap\">much longer than its box</div>");
    assert_eq!(report.broken_rules(), ["outside"], "{report}");
    let cut = page_with(
        "<div style=\"width: 60px; white-space: nowrap; overflow: hidden\">much longer than its box</div>",
    );
    assert_eq!(cut.broken_rules(), ["outside"], "hidden is no better: {cut}");
}

#[test]
fn pale_text_is_reported() {
    let report = page_with("<p style=\"color: #777\">4.48 to 1, just below</p>");
    assert_eq!(report.broken_rules(), ["contrast"], "{report}");
    let near = page_with("<p style=\"color: #767676\">4.54 to 1, just enough</p>");
    assert_eq!(near.broken_rules(), [""; 0], "{near}");
    let faint = page_with("<p style=\"opacity: 0.4\">black, but faint</p>");
    assert_eq!(faint.broken_rules(), ["contrast"], "{faint}");
}

#[test]
fn text_that_is_pale_only_in_the_dark_is_reported_there_only() {
    let report = page_in(
        &[LAPTOP, LAPTOP_IN_THE_DARK],
        "<style>@media (prefers-color-scheme: dark) { p { color: #eee } }</style>",
    );
    let windows: Vec<&str> = report.problems.iter().map(|problem| problem.window.as_str()).collect();
    assert_eq!((report.broken_rules(), windows), (vec!["contrast"], vec!["1280 px dark"]), "{report}");
}

#[test]
fn a_wide_page_is_reported_as_scrolling() {
    let report = page_with("<div style=\"width: 1300px; height: 5px\"></div>");
    assert_eq!(report.broken_rules(), ["scroll"], "{report}");
    let narrow = page_in(&[LAPTOP, TELEPHONE], "<div style=\"width: 450px; height: 5px\"></div>");
    assert_eq!(narrow.problems.len(), 1, "only the telephone scrolls: {narrow}");
}

#[test]
fn problems_inside_closed_lists_are_reported() {
    let report = page_with("<details><summary>More</summary><p style=\"color: #ccc\">pale</p></details>");
    assert_eq!(report.broken_rules(), ["contrast"], "{report}");
}

#[test]
fn an_image_from_elsewhere_is_reported_by_the_page_and_by_the_network_log() {
    let report = page_with("<img src=\"http://elsewhere.invalid/a.png\" alt=\"\">");
    assert_eq!(report.broken_rules(), ["request"], "{report}");
    let log = report.problems.iter().filter(|problem| problem.detail.ends_with("(network log)")).count();
    assert_eq!((log, report.problems.len()), (1, 2), "{report}");
}

#[test]
fn a_load_that_the_page_refuses_itself_is_reported() {
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"img-src 'none'\">";
    let report = page_with(&format!("{policy}<img src=\"http://elsewhere.invalid/a.png\" alt=\"\">"));
    assert_eq!(report.broken_rules(), ["request"], "{report}");
}

#[test]
fn a_script_in_a_name_does_not_run() {
    let mut flow = a_small_flow();
    let evil = "<img src=x onerror=\"document.body.style.width='5000px'\"><script>document.body.style.width='5000px'</script>";
    flow.title = evil.into();
    flow.stages[0].lanes[0].component = evil.into();
    flow.stages[0].lanes[0].tasks[0].name = evil.into();
    let report = look(&flow_html(&flow));
    assert!(report.problems.is_empty(), "{report}");
}

#[test]
fn searching_shows_only_what_matches_and_clearing_brings_everything_back() {
    let script = "() => {
        const find = document.querySelector('#find');
        const type = (text) => { find.value = text; find.dispatchEvent(new Event('input')); };
        const rows = () => [...document.querySelectorAll('.tasks li')].filter((row) => row.checkVisibility()).length;
        const stages = () => document.querySelectorAll('.stage:not([hidden])').length;
        const seen = [[rows(), stages()]];
        type('DNS-0 deployment');
        seen.push([rows(), stages(), document.querySelector('#found').textContent]);
        type('');
        seen.push([rows(), stages()]);
        document.querySelector('#only').click();
        seen.push([document.querySelectorAll('.lane:not([hidden])').length]);
        return seen;
    }";
    let flow = a_large_flow();
    let deployments = flow.stages[0].lanes[0].tasks.iter().filter(|task| task.kind == "Deployment").count();
    let total = flow.tasks().count();
    let gated = flow.lanes().filter(|lane| lane.tasks.iter().any(|task| task.gate.is_some())).count();
    let visit = visit(&flow_html(&flow), script, &json!({}), LAPTOP).unwrap();
    let found = format!("{deployments} of {total} manifests");
    assert_eq!(visit.result, json!([[0, 30], [deployments, 1, found], [0, 30], [gated]]));
}
