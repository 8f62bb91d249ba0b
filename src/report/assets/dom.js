// SPDX-License-Identifier: Apache-2.0
// Elements, tooltips and keyboard movement. Text is always set as text, never as markup.

function setUp(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
  return node;
}
const el = (tag, attributes, ...children) => setUp(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  setUp(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const originChip = (origin) => el("span", { class: `origin ${origin}` }, origin);

// A card of the page. `about` is one sentence; the return value is where the content goes.
function addSection(id, title, about, origins) {
  const body = el("div");
  const chips = (origins || []).map(originChip);
  document.getElementById("content").append(
    el("section", { class: "card", id, "aria-labelledby": `${id}-title` },
      el("header", null, el("h2", { id: `${id}-title` }, title), el("p", { class: "about" }, about), chips),
      body));
  return body;
}

// --- tooltips ---------------------------------------------------------------------------------
// content() returns {title, rows: [[name, value], ...], text}. The same words are the element's label,
// so that a screen reader and the keyboard get what the pointer gets.

const tooltip = {
  box: document.getElementById("tooltip"),
  show(content, x, y) {
    this.box.replaceChildren(
      el("b", null, content.title),
      content.rows && content.rows.length
        ? el("table", null, content.rows.map(([name, value]) => el("tr", null, el("td", null, name), el("td", null, value))))
        : "",
      content.text ? el("p", null, content.text) : "");
    this.box.hidden = false;
    const room = this.box.getBoundingClientRect();
    const left = x + 16 + room.width > innerWidth ? x - 16 - room.width : x + 16;
    const top = y + 18 + room.height > innerHeight ? y - 12 - room.height : y + 18;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.max(4, top)}px`;
  },
  hide() { this.box.hidden = true; },
};
addEventListener("keydown", (event) => { if (event.key === "Escape") tooltip.hide(); });
addEventListener("scroll", () => tooltip.hide(), { passive: true });

function labelOf(content) {
  const rows = (content.rows || []).map(([name, value]) => `${name} ${value}`);
  return [content.title, ...rows, content.text].filter(Boolean).join(", ");
}

function addTooltip(node, content) {
  node.setAttribute("aria-label", labelOf(content()));
  node.addEventListener("pointermove", (event) => tooltip.show(content(), event.clientX, event.clientY));
  node.addEventListener("pointerleave", () => tooltip.hide());
  node.addEventListener("focus", () => {
    if (!node.matches(":focus-visible")) return;
    const at = node.getBoundingClientRect();
    tooltip.show(content(), at.left + Math.min(at.width, 240) / 2, at.bottom - 8);
  });
  node.addEventListener("blur", () => tooltip.hide());
  return node;
}

// One tab stop for a whole chart: the arrow keys move inside, Home and End along the row. `grid` is an
// array of rows of elements; rows may have different lengths.
function roveFocus(grid) {
  let current = null;
  const makeCurrent = (node) => {
    if (current) current.setAttribute("tabindex", "-1");
    current = node;
    current.setAttribute("tabindex", "0");
  };
  grid.forEach((row, r) => row.forEach((node, c) => {
    node.setAttribute("tabindex", "-1");
    node.addEventListener("focus", () => makeCurrent(node));
    node.addEventListener("keydown", (event) => {
      const target = neighbour(grid, r, c, event.key);
      if (!target) return;
      event.preventDefault();
      target.focus({ focusVisible: true });
      target.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }));
  const first = grid.find((row) => row.length > 0);
  if (first) makeCurrent(first[0]);
}

function neighbour(grid, r, c, key) {
  const row = grid[r];
  if (key === "ArrowLeft") return row[c - 1];
  if (key === "ArrowRight") return row[c + 1];
  if (key === "Home") return row[0];
  if (key === "End") return row[row.length - 1];
  const step = key === "ArrowUp" ? -1 : key === "ArrowDown" ? 1 : 0;
  if (step === 0) return undefined;
  for (let other = r + step; other >= 0 && other < grid.length; other += step) {
    if (grid[other].length > 0) return grid[other][Math.min(c, grid[other].length - 1)];
  }
  return undefined;
}

// A row of buttons of which one is pressed.
function choice(label, names, onChoose) {
  const buttons = names.map((name) => el("button", { type: "button", "aria-pressed": "false" }, name));
  const choose = (at) => {
    buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === at)));
    onChoose(names[at]);
  };
  buttons.forEach((button, at) => button.addEventListener("click", () => choose(at)));
  choose(0);
  return el("span", { class: "choice", role: "group", "aria-label": label }, buttons);
}
