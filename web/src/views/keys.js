// SPDX-License-Identifier: Apache-2.0
// The keyboard in one table: the help panel lists it, the page obeys it.

const focus = (id) => document.getElementById(id)?.focus();

/** Moves among the choices of the list around the focused one. */
export function moveFocus(by) {
  const from = document.activeElement;
  const area = from?.closest(".body, .drawer-body");
  if (!area) return false;
  const items = [...area.querySelectorAll("button, input, select")].filter((item) => item.offsetParent !== null);
  const at = items.indexOf(from);
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}

function moveSegment(explorer, by) {
  if (explorer.fn === null) return;
  const { segments } = explorer.document.functions[explorer.fn];
  const next = explorer.segment === null ? (by > 0 ? 0 : segments.length - 1) : explorer.segment + by;
  if (next >= 0 && next < segments.length) explorer.chooseSegment(explorer.fn, next);
}

function moveMark(explorer, by) {
  const order = explorer.document.marks.map((mark, index) => ({ mark, index }))
    .filter(({ mark }) => !explorer.hiddenRules.has(mark.rule))
    .sort((one, other) => one.mark.file - other.mark.file || one.mark.lines[0][0] - other.mark.lines[0][0]);
  if (order.length === 0) return;
  const now = order.findIndex(({ index }) => explorer.focus?.kind === "mark" && explorer.focus.index === index);
  const next = now < 0 ? (by > 0 ? 0 : order.length - 1) : (now + by + order.length) % order.length;
  explorer.chooseMark(order[next].index);
}

/** @param page {explorer, searching, theme()}: what the keys act on. */
export const KEYS = [
  ["1", "Go to the execution track (in memory mode: regions)", () => focus("track-execution")],
  ["2", "Go to the function track (in memory mode: transfers)", () => focus("track-function")],
  ["3", "Go to the source, with its caret", () => document.querySelector(".cm-content")?.focus()],
  ["m", "Change between execution, and memory and communication", ({ explorer }) => (explorer.mode = explorer.mode === "memory" ? "execution" : "memory")],
  ["/", "Search", () => document.getElementById("search").select()],
  ["n", "Next hit", ({ searching }) => searching.move(1)],
  ["N", "Previous hit", ({ searching }) => searching.move(-1)],
  ["[", "Back", ({ explorer }) => explorer.back()],
  ["]", "Forward", ({ explorer }) => explorer.forward()],
  ["u", "Up: back to the call that led here", ({ explorer }) => explorer.trail.length && explorer.climb(explorer.trail.length - 1)],
  ["j", "Next segment", ({ explorer }) => moveSegment(explorer, 1)],
  ["k", "Previous segment", ({ explorer }) => moveSegment(explorer, -1)],
  [".", "Next mark", ({ explorer }) => moveMark(explorer, 1)],
  [",", "Previous mark", ({ explorer }) => moveMark(explorer, -1)],
  ["b", "What must be true before the chosen line", () => document.querySelector('[data-key="b"]')?.click()],
  ["p", "Path from A to B", ({ explorer }) => explorer.toggleDrawer("path")],
  ["s", "Suspects: all marks", ({ explorer }) => explorer.toggleDrawer("marks")],
  ["f", "Filters", ({ explorer }) => explorer.toggleDrawer("filters")],
  ["l", "Ledger: what is understood, and how surely", ({ explorer }) => explorer.toggleDrawer("ledger")],
  ["g", "Glossary of mechanisms, with places", ({ explorer }) => explorer.toggleDrawer("glossary")],
  ["t", "Light or dark", ({ theme }) => theme()],
  ["?", "This list", ({ explorer }) => explorer.toggleDrawer("keys")],
  ["Escape", "Close the panel; with none open, forget the search", ({ explorer, searching }) =>
    (explorer.drawer === null ? searching.clear() : (explorer.drawer = null))],
].map(([key, title, run]) => ({ key, title, run }));

const BY_KEY = new Map(KEYS.map((entry) => [entry.key, entry]));
const MOVES = { ArrowDown: 1, ArrowUp: -1 };

/** Obeys a key unless it is being typed into something. */
export function obey(event, page) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.target;
  const writes = target.matches?.("input:not([type=checkbox]), select, textarea");
  const inSource = target.closest?.(".cm-content");
  if (writes && event.key !== "Escape") return;
  if (MOVES[event.key] && !writes && !inSource) {
    const list = target.matches("button, input") || target.classList.contains("body");
    if (list && moveFocus(MOVES[event.key])) event.preventDefault();
    return;
  }
  const entry = BY_KEY.get(event.key);
  if (!entry) return;
  event.preventDefault();
  entry.run(page);
}
