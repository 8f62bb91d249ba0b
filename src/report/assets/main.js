// SPDX-License-Identifier: Apache-2.0
// Reads the data and draws what is there. A part that fails says so in its place and is told in
// data-errors, so that a test sees it; the others are still drawn.

const root = document.documentElement;
const errors = [];

function tellError(where, error) {
  errors.push(`${where}: ${error && error.message ? error.message : error}`);
  root.setAttribute("data-errors", errors.join(" | "));
}
addEventListener("error", (event) => tellError("script", event.error || event.message));
addEventListener("unhandledrejection", (event) => tellError("promise", event.reason));

function draw(where, action) {
  try {
    action();
  } catch (error) {
    tellError(where, error);
    document.getElementById("content").append(el("p", { class: "note warn" }, `The part "${where}" could not be drawn: ${error.message}`));
  }
}

// ?theme=light or ?theme=dark forces one; otherwise the system decides until the button is used.
function themeButton() {
  const asked = new URLSearchParams(location.search).get("theme");
  const isDark = () => root.dataset.theme === "dark" || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  if (asked === "light" || asked === "dark") root.dataset.theme = asked;
  const button = el("button", { type: "button", class: "theme", onclick: () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); } });
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `switch to ${isDark() ? "light" : "dark"} colours`); };
  name();
  return button;
}

function drawHead(report) {
  const { provenance } = report;
  const host = [provenance.host, provenance.core_count ? `${provenance.core_count} ${provenance.core_count === 1 ? "core" : "cores"}` : ""].filter(Boolean).join(", ");
  const pair = (name, value, className) => (value ? el("div", { class: className }, el("dt", null, name), el("dd", null, value)) : "");
  document.getElementById("top").append(
    el("div", { class: "top-line" },
      el("div", null, el("div", { class: "brand" }, "Crossdock report"), el("h1", null, report.title), report.summary ? el("p", { class: "lead" }, report.summary) : ""),
      themeButton()),
    el("dl", { class: "provenance" },
      pair("made by", provenance.command ? el("code", null, provenance.command) : "", "command"),
      pair("host", host), pair("date", provenance.date), pair("version", provenance.version)));
}

function drawVerdict(verdict) {
  if (verdict.state === "none") return;
  const isGood = verdict.state === "verified";
  const mark = svg("svg", { width: 24, height: 24, viewBox: "0 0 24 24", "aria-hidden": "true" },
    svg("circle", { cx: 12, cy: 12, r: 11, style: "fill:currentColor" }),
    svg("path", { d: isGood ? "M7 12.5l3.4 3.4L17 9" : "M8 8l8 8M16 8l-8 8", style: "fill:none;stroke:var(--card);stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round" }));
  document.getElementById("content").append(
    el("div", { class: `banner ${verdict.state}`, role: "status" }, mark, el("div", null, el("strong", null, isGood ? "Verified" : "Failed"), " ", el("span", null, verdict.text))));
}

function drawFacts(facts) {
  const body = addSection("summary", "Summary", "What was run and what came out.");
  body.append(el("dl", { class: "facts" }, facts.map((fact) => {
    const box = el("div", null, el("dt", null, el("span", null, fact.name), originChip(fact.origin)), el("dd", null, fact.value));
    if (fact.note) {
      box.setAttribute("tabindex", "0");
      addTooltip(box, () => ({ title: `${fact.name}: ${fact.value}`, text: fact.note }));
    }
    return box;
  })));
}

function drawSectionLinks() {
  const cards = [...document.querySelectorAll("section.card")];
  const links = el("nav", { class: "sections", "aria-label": "sections" }, cards.map((card) => el("a", { href: `#${card.id}` }, card.querySelector("h2").textContent)));
  document.getElementById("content").prepend(links);
}

function drawFoot() {
  const meaning = { measured: "read from a clock or counter in this run", derived: "computed from measured numbers", simulated: "virtual time", published: "somebody else's number", assumed: "an input nobody measured" };
  document.getElementById("content").append(el("footer", { class: "end" }, "Origins: ", Object.entries(meaning).map(([origin, text], at) => [at ? "; " : "", originChip(origin), ` ${text}`]), "."));
}

const report = JSON.parse(document.getElementById("report-data").textContent);
readStages(report.stages);
draw("head", () => drawHead(report));
draw("verdict", () => drawVerdict(report.verdict));
if (report.facts.length) draw("summary", () => drawFacts(report.facts));
if (report.bars.length) draw("benchmarks", () => drawBars(report.bars));
if (report.plots.length) draw("plots", () => drawPlots(report.plots));
if (report.routes) draw("routing", () => drawRoutes(report.routes));
if (report.trace) {
  draw("timeline", () => drawTimeline(report.trace));
  draw("stages", () => drawPlanes(report.trace));
  draw("waits", () => drawWaits(report.trace));
}
if (report.journey) draw("token", () => drawJourney(report.journey, report.trace ? report.trace.origin : "measured"));
draw("foot", drawFoot);
draw("links", drawSectionLinks);
root.setAttribute("data-ready", "yes");
