// Looks at a page as a reader would and returns what is wrong with it, as { checked, problems: [{ rule, detail }] }.
// Rules: setup, scroll, overlap, outside, contrast, request. Runs in the page after it has loaded, first as it is
// and then with every list open.
(wanted) => {
  "use strict";
  const TOLERANCE = 1; // CSS pixels: sub-pixel layout rounds
  const CONTRAST = 4.5; // WCAG 2 AA for normal text; large text gets no discount here
  const found = new Map(); // by rule and detail: an open list need not repeat what the closed one showed
  const report = (rule, detail) => found.set(`${rule} ${detail}`, { rule, detail });
  const describe = (element) => {
    const id = element.id ? `#${element.id}` : "";
    const name = element.classList.length ? `.${[...element.classList].join(".")}` : "";
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 50);
    return `<${element.tagName.toLowerCase()}${id}${name}> "${text}"`;
  };
  const show = ({ left, top, right, bottom }) => [left, top, right, bottom].map(Math.round).join(",");

  // A check that looked at another page than the one asked for proves nothing.
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (innerWidth !== wanted.width) report("setup", `the page is ${innerWidth} px wide instead of ${wanted.width}`);
  if (dark !== wanted.dark) report("setup", `prefers-color-scheme: dark is ${dark}`);

  const look = () => {
    // === scroll ===
    const scrollWidth = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
    if (scrollWidth > innerWidth) report("scroll", `content is ${scrollWidth} px wide in a window of ${innerWidth} px`);

    // === texts: every visible text node with its line boxes ===
    const styles = new Map();
    const style = (element) => {
      if (!styles.has(element)) styles.set(element, getComputedStyle(element));
      return styles.get(element);
    };
    const clips = (element) => style(element).overflowX !== "visible" || style(element).overflowY !== "visible";
    const forReadersOnly = (element) => style(element).clipPath === "inset(50%)" && element.clientWidth <= 1;
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const element = node.parentElement;
      if (!node.data.trim() || element.closest("script, style, title, desc, template, noscript, pre#result")) continue;
      if (!element.checkVisibility({ visibilityProperty: true }) || forReadersOnly(element)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].filter((rect) => rect.width > 0 && rect.height > 0);
      if (rects.length) texts.push({ element, rects });
    }

    // === outside: each line lies inside every block around it, up to the nearest box that scrolls ===
    const visible = []; // what is left of each line after scrolling boxes cut it
    for (const { element, rects } of texts) {
      for (const rect of rects) {
        let { left, top, right, bottom } = rect;
        for (let box = element; box && box !== document.documentElement; box = box.parentElement) {
          if (box instanceof SVGElement && box.tagName !== "svg") continue;
          if (style(box).display === "inline" || style(box).display === "contents") continue;
          const outer = box.getBoundingClientRect();
          const inside = left >= outer.left - TOLERANCE && right <= outer.right + TOLERANCE
            && top >= outer.top - TOLERANCE && bottom <= outer.bottom + TOLERANCE;
          const scrolls = /auto|scroll/.test(style(box).overflowX + style(box).overflowY);
          if (!inside && !scrolls) {
            report("outside", `${describe(element)} at ${show(rect)} leaves ${describe(box)} at ${show(outer)}`);
            break;
          }
          if (clips(box)) {
            [left, right] = [Math.max(left, outer.left), Math.min(right, outer.right)];
            [top, bottom] = [Math.max(top, outer.top), Math.min(bottom, outer.bottom)];
          }
          // A fixed or sticky box is placed by the window, not by what surrounds it.
          if (["fixed", "absolute", "sticky"].includes(style(box).position)) break;
        }
        if (right - left > 0 && bottom - top > 0) visible.push({ element, left, top, right, bottom });
      }
    }

    // === overlap: no two lines of different elements cover each other (sweep from top to bottom) ===
    visible.sort((a, b) => a.top - b.top);
    visible.forEach((a, i) => {
      for (let j = i + 1; j < visible.length && visible[j].top < a.bottom - TOLERANCE; j += 1) {
        const b = visible[j];
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - b.top;
        if (a.element !== b.element && width > TOLERANCE && height > TOLERANCE) {
          report("overlap", `${describe(a.element)} at ${show(a)} and ${describe(b.element)} at ${show(b)}`);
        }
      }
    });

    // === contrast ===
    const parse = (text) => {
      const parts = /^rgba?\(([^)]*)\)$/.exec(text);
      if (!parts) return null;
      const [r, g, b, a = 1] = parts[1].split(/[\s,/]+/).map(Number);
      return { r, g, b, a };
    };
    const over = (top, below) => {
      const mix = (channel) => top[channel] * top.a + below[channel] * (1 - top.a);
      return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
    };
    const luminance = ({ r, g, b }) => {
      const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ratio = (a, b) => {
      const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
      return (high + 0.05) / (low + 0.05);
    };
    // The canvas behind the page: white, or Chromium's dark one when the page says that it supports dark.
    const canvas = () => {
      const probe = document.createElement("div");
      probe.style.cssText = "background: Canvas; position: absolute";
      document.body.append(probe);
      const colour = parse(getComputedStyle(probe).backgroundColor);
      probe.remove();
      return colour;
    };
    const base = canvas();
    // In a drawing the ground is the last shape before the text that lies under its middle.
    const shapesUnder = (text) => {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      const [x, y] = [(left + right) / 2, (top + bottom) / 2];
      return [...text.ownerSVGElement.querySelectorAll("rect")].filter((shape) => {
        const box = shape.getBoundingClientRect();
        const before = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
        return before && box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
      });
    };
    const ground = (element) => {
      const layers = [];
      if (element instanceof SVGElement) layers.push(...shapesUnder(element).reverse().map((shape) => style(shape).fill));
      for (let box = element; box; box = box.parentElement) {
        if (style(box).backgroundImage !== "none") return null;
        layers.push(style(box).backgroundColor);
      }
      const colours = layers.map(parse);
      return colours.includes(null) ? null : colours.reduceRight((below, top) => over(top, below), base);
    };
    const opacity = (element) => {
      let product = 1;
      for (let box = element; box; box = box.parentElement) product *= Number(style(box).opacity);
      return product;
    };
    const judge = (element, own, what) => {
      const behind = ground(element);
      const colour = parse(element instanceof SVGElement ? own.fill : own.color);
      if (!behind || !colour) {
        report("contrast", `${what}: cannot be computed (image behind the text or unknown colour ${own.color})`);
        return;
      }
      colour.a *= opacity(element) * (what.startsWith("::") ? Number(own.opacity) : 1);
      const reached = ratio(over(colour, behind), behind);
      if (reached < CONTRAST) report("contrast", `${what}: ${reached.toFixed(2)}`);
    };
    const judged = new Set();
    for (const { element } of texts) {
      if (judged.has(element)) continue;
      judged.add(element);
      judge(element, style(element), describe(element));
    }
    for (const element of document.body.querySelectorAll("*")) {
      if (!element.checkVisibility({ visibilityProperty: true })) continue;
      for (const part of ["::before", "::after"]) {
        const own = getComputedStyle(element, part);
        if (!["none", "normal", '""'].includes(own.content)) judge(element, own, `${part} of ${describe(element)}`);
      }
      if (element.matches("input, textarea, select")) {
        judge(element, style(element), `value of ${describe(element)}`);
        if (element.placeholder) judge(element, getComputedStyle(element, "::placeholder"), `::placeholder of ${describe(element)}`);
      }
    }

    return texts.length;
  };
  const lists = [...document.querySelectorAll("details:not([open])")];
  let checked = look();
  if (lists.length) {
    for (const list of lists) list.open = true;
    checked = look();
  }

  // === request ===
  for (const { name } of performance.getEntriesByType("resource")) report("request", name);
  for (const address of wanted.refused) report("request", `${address} (refused by the page itself)`);

  return { checked, problems: [...found.values()] };
}
