//! A flow as one self-contained HTML page: no other file is loaded, and it works without scripts.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Flow, Lane, Stage, TaskBox, counted};
use crate::escape::{breakable, markup};
use crate::shell::{Shell, begin, counts, facts, open_header};

/// The look of all pages, then what only this one has.
const CSS: &str =
    concat!(include_str!("../base.css"), include_str!("../tools.css"), include_str!("page.css"));
const SCRIPT: &str = include_str!("page.js");

/// Up to this many manifests the lists are open from the start.
const SMALL: usize = 40;
/// Kinds that a card names before it says how many more there are.
const KINDS_SHOWN: usize = 3;
/// What nearly every gate begins with; the index says it once for all.
const GATE_PREFIX: &str = "waits for ClusterOperator ";

/// The flow as an HTML page with inline style and script, for light, dark and paper.
pub fn flow_html(flow: &Flow) -> String {
    let is_small = flow.tasks().count() <= SMALL;
    let mut html = String::new();
    // Writing to a String cannot fail, so the results of `write!` are not looked at in this file.
    let class = if is_small { "small" } else { "large" };
    let skip = ("order", "order");
    let policy = "script-src 'unsafe-inline'";
    begin(&mut html, &Shell { title: &flow.title, css: CSS, policy, class, skip });
    header(&mut html, flow);
    html.push_str("<div class=\"columns\">\n");
    rail(&mut html, flow);
    html.push_str("<main id=\"order\">\n");
    toolbar(&mut html, flow);
    for (s, stage) in flow.stages.iter().enumerate() {
        write_stage(&mut html, s, stage, is_small);
    }
    gates(&mut html, flow);
    notes(&mut html, flow);
    let _ = write!(html, "</main>\n</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    html
}

fn header(html: &mut String, flow: &Flow) {
    open_header(html, &flow.title, &flow.subtitle);
    facts(html, &flow.facts);
    counts(html, flow.counts().into_iter().map(|(noun, count)| (format!("{noun}s"), count)));
    html.push_str(
        "<p class=\"legend\">Stages run one after the other, from top to bottom. Components of one stage run side by \
         side, the manifests of a component in order. <span class=\"mark\">◆ Gate</span> means: goes on only when the \
         named object reports that it is well.</p>\n</header>\n",
    );
}

/// The run levels, neighbours of one owner under its name.
fn rail(html: &mut String, flow: &Flow) {
    html.push_str("<nav class=\"rail\" aria-label=\"Run levels\">\n<h2>Run levels and owners</h2>\n<ol>\n");
    let has_owners = flow.stages.iter().any(|stage| stage.owner.is_some());
    let mut s = 0;
    for neighbours in flow.stages.chunk_by(|a, b| a.owner == b.owner) {
        html.push_str("<li>");
        if has_owners {
            let owner = neighbours.first().and_then(|stage| stage.owner.as_deref()).unwrap_or("not assigned");
            let _ = writeln!(html, "<span class=\"who\">{}</span>", markup(owner));
        }
        html.push_str("<ol>\n");
        for stage in neighbours {
            rail_entry(html, s, stage);
            s += 1;
        }
        html.push_str("</ol></li>\n");
    }
    html.push_str("</ol>\n<a class=\"more\" href=\"#gates\">Index of gates</a>\n</nav>\n");
}

fn rail_entry(html: &mut String, s: usize, stage: &Stage) {
    let short = stage.label.strip_prefix("run level ").unwrap_or(&stage.label);
    let (class, about) = match stage.lanes.as_slice() {
        _ if stage.barrier => (" class=\"job\"", "■ Job barrier".to_owned()),
        [only] => ("", breakable(&only.component).to_string()),
        lanes => ("", counted(lanes.len(), "component")),
    };
    let manifests = stage.tasks().count();
    let _ = writeln!(
        html,
        "<li{class}><a href=\"#s{s}\"><b>{}</b> <span>{about}</span> <i title=\"{}\">{manifests}</i></a></li>",
        breakable(short),
        counted(manifests, "manifest"),
    );
}

/// NB: hidden until the script shows it: without the script its controls would do nothing.
fn toolbar(html: &mut String, flow: &Flow) {
    let _ = writeln!(
        html,
        "<form class=\"tools\" role=\"search\" hidden>\n\
         <label for=\"find\">Find</label>\n\
         <input id=\"find\" type=\"search\" autocomplete=\"off\" placeholder=\"component, kind, name or file\">\n\
         <button type=\"button\" id=\"only\" aria-pressed=\"false\">Gates only</button>\n\
         <button type=\"button\" id=\"all\">Open all</button>\n\
         <button type=\"button\" id=\"none\">Close all</button>\n\
         <output id=\"found\" for=\"find\">{}</output>\n</form>",
        counted(flow.tasks().count(), "manifest"),
    );
}

fn write_stage(html: &mut String, s: usize, stage: &Stage, is_small: bool) {
    let class = if stage.barrier { "stage barrier" } else { "stage" };
    let _ = write!(
        html,
        "<section class=\"{class}\" id=\"s{s}\" aria-labelledby=\"s{s}h\">\n<div class=\"head\"><h2 id=\"s{s}h\">{}</h2>",
        breakable(&stage.label),
    );
    if let Some(owner) = &stage.owner {
        let _ = write!(html, " <span class=\"owner\">{}</span>", markup(owner));
    }
    let gates = stage.tasks().filter(|task| task.gate.is_some()).count();
    let mut how = vec![stage.manner(), counted(stage.tasks().count(), "manifest")];
    how.extend((gates > 0).then(|| counted(gates, "gate")));
    let _ = writeln!(html, " <span class=\"how\">{}</span></div>", how.join(" · "));
    if stage.barrier {
        html.push_str(
            "<p class=\"bar\"><b>■ Barrier</b> Everything above is finished before this Job starts; nothing below starts \
             before it has completed.</p>\n",
        );
    }
    html.push_str("<div class=\"lanes\">\n");
    for (l, lane) in stage.lanes.iter().enumerate() {
        write_lane(html, &format!("s{s}l{l}"), lane, stage.mixes_run_levels(), is_small);
    }
    html.push_str("</div>\n</section>\n");
}

fn write_lane(html: &mut String, id: &str, lane: &Lane, say_levels: bool, is_small: bool) {
    let gates: Vec<&str> = lane.tasks.iter().filter_map(|task| task.gate.as_deref()).collect();
    let class = if gates.is_empty() { "lane" } else { "lane gated" };
    let _ =
        write!(html, "<article class=\"{class}\" id=\"{id}\">\n<h3>{}</h3>\n", breakable(&lane.component));
    if say_levels && let Some(levels) = lane.levels() {
        let _ = writeln!(html, "<p class=\"levels\">{}</p>", markup(&levels));
    }
    // Open lists say it all.
    if !is_small {
        let _ = writeln!(html, "<p class=\"kinds\">{}</p>", kinds(lane));
    }
    for gate in gates {
        let _ = writeln!(html, "<p class=\"gate\"><b>◆ Gate</b> {}</p>", breakable(gate));
    }
    let open = if is_small { " open" } else { "" };
    let count = counted(lane.tasks.len(), "manifest");
    let _ = writeln!(html, "<details{open}><summary>{count}</summary>\n<ol class=\"tasks\">");
    for task in &lane.tasks {
        write_task(html, task);
    }
    html.push_str("</ol></details>\n</article>\n");
}

fn write_task(html: &mut String, task: &TaskBox) {
    let class = if task.gate.is_some() { " class=\"gated\"" } else { "" };
    let _ = write!(
        html,
        "<li{class}><span class=\"n\">{}</span><span class=\"o\"><b>{}</b> <code>{}</code>",
        task.index,
        breakable(&task.kind),
        breakable(&task.full_name()),
    );
    for tag in &task.tags {
        let _ = write!(html, " <span class=\"tag\">{}</span>", markup(tag));
    }
    if let Some(gate) = &task.gate {
        let _ = write!(html, " <span class=\"mark\">◆ {}</span>", breakable(gate));
    }
    let _ = writeln!(html, "</span><code class=\"f\">{}</code></li>", breakable(&task.file));
}

/// The most frequent kinds of a lane, such as `4 Role, 2 CustomResourceDefinition and 3 more kinds`.
fn kinds(lane: &Lane) -> String {
    if let [only] = lane.tasks.as_slice() {
        return format!("{} {}", breakable(&only.kind), breakable(&only.full_name()));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    lane.tasks.iter().for_each(|task| *counts.entry(&task.kind).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(kind, n)| (std::cmp::Reverse(n), kind));
    let shown = counts.iter().take(KINDS_SHOWN).map(|(kind, n)| format!("{n} {}", markup(kind)));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    let more = counts.len().saturating_sub(KINDS_SHOWN);
    if more > 0 {
        let _ = write!(text, " and {}", counted(more, "more kind"));
    }
    text
}

fn gates(html: &mut String, flow: &Flow) {
    html.push_str("<section class=\"index\" id=\"gates\" aria-labelledby=\"gatesh\">\n<h2 id=\"gatesh\">Index of gates</h2>\n");
    let mut gates: Vec<(&str, String, &str)> = Vec::new();
    for (s, stage) in flow.stages.iter().enumerate() {
        for (l, lane) in stage.lanes.iter().enumerate() {
            let of_lane = lane.tasks.iter().filter_map(|task| task.gate.as_deref());
            gates.extend(of_lane.map(|gate| (gate, format!("s{s}l{l}"), stage.label.as_str())));
        }
    }
    if gates.is_empty() {
        html.push_str("<p>Nothing in this release waits for a ClusterOperator.</p>\n</section>\n");
        return;
    }
    gates.sort_unstable();
    html.push_str("<p>The ClusterOperators that the release waits for, and where.</p>\n<ul>\n");
    for (gate, id, label) in gates {
        let what = gate.strip_prefix(GATE_PREFIX).unwrap_or(gate);
        let _ = writeln!(
            html,
            "<li><a href=\"#{id}\">{}</a> <span>{}</span></li>",
            breakable(what),
            markup(label)
        );
    }
    html.push_str("</ul>\n</section>\n");
}

fn notes(html: &mut String, flow: &Flow) {
    if flow.notes.is_empty() {
        return;
    }
    html.push_str(
        "<section class=\"notes\" aria-labelledby=\"notesh\">\n<h2 id=\"notesh\">Notes</h2>\n<ul>\n",
    );
    for note in &flow.notes {
        let _ = writeln!(html, "<li>{}</li>", breakable(note));
    }
    html.push_str("</ul>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use super::super::examples::a_small_flow;
    use super::*;

    #[test]
    fn markup_in_any_field_is_inert() {
        let evil = || "</style></script><script>alert(1)</script><img src=x onerror='alert(1)'>\"".to_owned();
        let mut flow = a_small_flow();
        (flow.title, flow.subtitle) = (evil(), evil());
        flow.facts.push((evil(), evil()));
        flow.notes.push(evil());
        let stage = &mut flow.stages[0];
        (stage.label, stage.owner) = (evil(), Some(evil()));
        let lane = &mut stage.lanes[0];
        (lane.component, lane.run_levels) = (evil(), vec![evil(), evil()]);
        let task = &mut lane.tasks[0];
        (task.file, task.kind, task.name) = (evil(), evil(), evil());
        (task.namespace, task.gate, task.tags) = (Some(evil()), Some(evil()), vec![evil()]);
        let html = flow_html(&flow);
        assert_eq!(html.matches("<script>").count(), 1, "only our own script");
        assert_eq!(html.matches("</script>").count(), 1);
        assert_eq!(html.matches("</style>").count(), 1);
        assert_eq!(html.matches("<img").count(), 0);
        assert!(html.matches("&lt;script&gt;").count() >= 13, "and each field is still shown");
    }

    #[test]
    fn every_link_inside_the_page_has_a_target_and_ids_are_unique() {
        let html = flow_html(&a_small_flow());
        let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        for (i, id) in ids.iter().enumerate() {
            assert!(!ids[..i].contains(id), "{id} twice");
        }
        for target in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(ids.contains(&target), "{target}");
        }
    }

    #[test]
    fn nothing_points_outside_the_page() {
        let html = flow_html(&a_small_flow());
        for outside in ["http:", "https:", "://", "src=", "url(", "@import", "<link"] {
            let found = html.find(outside).map(|at| &html[at..(at + 60).min(html.len())]);
            assert_eq!(found, None, "{outside}");
        }
    }

    #[test]
    fn kinds_are_counted_and_rare_ones_summed_up() {
        let lane = &mut a_small_flow().stages[0].lanes[0];
        for kind in ["Role", "Role", "A", "B", "C"] {
            lane.tasks.push(TaskBox { kind: kind.into(), ..TaskBox::default() });
        }
        assert_eq!(kinds(lane), "2 Role, 1 A, 1 B and 4 more kinds");
    }

    #[test]
    fn lists_are_open_in_a_small_flow_and_closed_in_a_large_one() {
        let mut flow = a_small_flow();
        assert_eq!(flow_html(&flow).matches("<details open>").count(), 4);
        let task = flow.stages[0].lanes[0].tasks[0].clone();
        flow.stages[0].lanes[0].tasks.extend(vec![task; SMALL]);
        assert_eq!(flow_html(&flow).matches("<details open>").count(), 0);
    }
}
