"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const tools = one(".tools");
  const [find, only, found] = [one("#find"), one("#only"), one("#found")];
  const lanes = all(".lane").map((lane) => ({
    lane,
    list: one(`#${lane.id} details`),
    component: one(`#${lane.id} h3`).textContent.toLowerCase(),
    tasks: all("li", lane).map((row) => ({
      row,
      gated: row.classList.contains("gated"),
      text: row.textContent.toLowerCase(),
    })),
  }));
  const total = lanes.reduce((sum, { tasks }) => sum + tasks.length, 0);
  let before = null; // Which lists were open when the filter began, to go back to.

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const gatesOnly = only.getAttribute("aria-pressed") === "true";
    const filtering = words.length > 0 || gatesOnly;
    if (filtering && !before) before = lanes.map(({ list }) => list.open);
    let matches = 0;
    lanes.forEach(({ lane, list, component, tasks }, i) => {
      let here = 0;
      for (const { row, gated, text } of tasks) {
        const shown = words.every((word) => component.includes(word) || text.includes(word)) && (gated || !gatesOnly);
        row.hidden = !shown;
        here += shown ? 1 : 0;
      }
      lane.hidden = here === 0 && filtering;
      if (filtering) list.open = words.length > 0 && here > 0;
      else if (before) list.open = before[i];
      matches += here;
    });
    if (!filtering) before = null;
    for (const stage of all(".stage")) stage.hidden = filtering && all(".lane:not([hidden])", stage).length === 0;
    const noun = total === 1 ? "manifest" : "manifests";
    found.textContent = filtering ? `${matches} of ${total} ${noun}` : `${total} ${noun}`;
  };

  find.addEventListener("input", filter);
  only.addEventListener("click", () => {
    only.setAttribute("aria-pressed", String(only.getAttribute("aria-pressed") !== "true"));
    filter();
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  one("#all").addEventListener("click", () => lanes.forEach(({ list }) => { list.open = true; }));
  one("#none").addEventListener("click", () => lanes.forEach(({ list }) => { list.open = false; }));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== find) {
      event.preventDefault();
      find.focus();
    } else if (event.key === "Escape" && find.value) {
      find.value = "";
      filter();
    }
  });

  // The rail shows where the reader is.
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) target.dataset.seen = isIntersecting ? "1" : "";
    const current = all(".stage").find((stage) => stage.dataset.seen);
    for (const link of all(".rail li a")) {
      if (current && link.getAttribute("href") === `#${current.id}`) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-64px 0px -50% 0px" });
  all(".stage").forEach((stage) => seen.observe(stage));
  tools.hidden = false;
})();
