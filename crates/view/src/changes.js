"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const [tools, find, only, found] = [one(".tools"), one("#find"), one("#content-only"), one("#found")];
  const entries = all("section > ul > li").map((entry) => ({
    entry,
    list: entry.querySelector("details"),
    trivial: entry.classList.contains("trivial"),
    text: entry.textContent.toLowerCase(),
  }));

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const contentOnly = only.getAttribute("aria-pressed") === "true";
    let matches = 0;
    for (const { entry, trivial, text } of entries) {
      const shown = words.every((word) => text.includes(word)) && !(trivial && contentOnly);
      entry.hidden = !shown;
      matches += shown ? 1 : 0;
    }
    for (const section of all("section")) section.hidden = all(":scope > ul > li:not([hidden])", section).length === 0;
    const filtering = words.length > 0 || contentOnly;
    found.textContent = filtering ? `${matches} of ${entries.length} changes` : `${entries.length} changes`;
  };

  find.addEventListener("input", filter);
  only.addEventListener("click", () => {
    only.setAttribute("aria-pressed", String(only.getAttribute("aria-pressed") !== "true"));
    filter();
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  one("#none").addEventListener("click", () => {
    for (const { list } of entries) if (list) list.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== find) {
      event.preventDefault();
      find.focus();
    } else if (event.key === "Escape" && find.value) {
      find.value = "";
      filter();
    }
  });
  tools.hidden = false;
})();
