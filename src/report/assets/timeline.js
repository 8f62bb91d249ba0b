// SPDX-License-Identifier: Apache-2.0
// One round as lanes, one per rank. Wheel over the focused chart (or with Ctrl anywhere) zooms, Shift
// and wheel or dragging pans; + - 0 and the arrow keys do the same from the keyboard.

const lane = { left: 66, right: 12, top: 62 };

class Timeline {
  constructor(timeline, rankNames) {
    this.rounds = timeline.rounds;
    this.rankNames = rankNames;
    this.height = rankNames.length > manyRanks ? 14 : 24;
    this.pitch = rankNames.length > manyRanks ? 16 : 29;
    this.box = el("div", { class: "timeline" });
    this.caption = el("p", { class: "note" });
    this.focused = null;
    this.showRound(this.rounds.length - 1);
    this.listen();
  }

  showRound(at) {
    this.round = this.rounds[at];
    this.lanes = this.rankNames.map((rank) => this.round.spans.filter((span) => span[0] === rank).sort((a, b) => a[3] - b[3]));
    this.focused = null;
    this.reset();
  }

  reset() { this.setView(0, this.round.length); }

  setView(begin, end) {
    const whole = Math.max(this.round.length, 1);
    const length = Math.min(Math.max(end - begin, Math.min(whole, 50)), whole);
    this.begin = Math.min(Math.max(begin, 0), whole - length);
    this.end = this.begin + length;
    this.draw();
  }

  zoom(factor, around) {
    const center = around === undefined ? (this.begin + this.end) / 2 : around;
    this.setView(center - (center - this.begin) * factor, center + (this.end - center) * factor);
  }

  pan(share) {
    const by = (this.end - this.begin) * share;
    this.setView(this.begin + by, this.end + by);
  }

  get width() { return Math.max(480, (this.box.clientWidth || 1200) - 2); }
  x(ns) { return lane.left + ((ns - this.begin) / (this.end - this.begin)) * (this.width - lane.left - lane.right); }
  ns(x) { return this.begin + ((x - lane.left) / (this.width - lane.left - lane.right)) * (this.end - this.begin); }

  draw() {
    const bottom = lane.top + this.lanes.length * this.pitch;
    const clip = `view-${this.width}`;
    const drawing = svg("svg", { width: this.width, height: bottom + 8, role: "group", "aria-label": `timeline of round ${this.round.round}` },
      svg("defs", null, svg("clipPath", { id: clip }, svg("rect", { x: lane.left, y: 0, width: this.width - lane.left - lane.right, height: bottom + 8 }))),
      this.drawOperations(bottom),
      this.drawAxis(bottom),
      svg("g", { "clip-path": `url(#${clip})` }, this.drawSpans()),
      this.rankNames.map((rank, at) => svg("text", { class: "strong", x: lane.left - 10, y: lane.top + at * this.pitch + this.height / 2 + 4, "text-anchor": "end" }, `rank ${rank}`)));
    this.box.replaceChildren(drawing);
    this.drawing = drawing;
    this.tellTimes();
  }

  drawAxis(bottom) {
    return ticks(this.begin, this.end, Math.round(this.width / 130)).map((at) => [
      svg("path", { class: "axis", d: `M${this.x(at)} 44V${bottom}` }),
      svg("text", { x: this.x(at), y: 57, "text-anchor": this.x(at) > this.width - 40 ? "end" : "middle", style: "font-size:10.5px" }, at === 0 ? "0" : tickTime(at, this.end - this.begin))]);
  }

  drawOperations(bottom) {
    return this.round.operations.map((operation) => {
      const from = Math.max(this.x(operation.begin), lane.left);
      const to = Math.min(this.x(operation.end), this.width - lane.right);
      if (to <= from) return null;
      const name = `${operation.name} ${time(operation.end - operation.begin)}`;
      return [
        svg("rect", { x: from, y: 40, width: to - from, height: bottom - 40, style: "fill:var(--raised);opacity:0.55" }),
        svg("path", { d: `M${from} 36V30H${to}V36`, style: "fill:none;stroke:var(--faint)" }),
        to - from > 26 ? svg("text", { class: "strong", x: (from + to) / 2, y: 22, "text-anchor": "middle" }, to - from > 7 * name.length ? name : operation.name.slice(0, 1)) : null];
    });
  }

  drawSpans() {
    const grid = [];
    const marks = [];
    this.lanes.forEach((spans, at) => {
      const row = [];
      const y = lane.top + at * this.pitch;
      spans.forEach((span, order) => {
        const [rank, id, operation, begin, end] = span;
        const stage = stageOf(id);
        const from = Math.max(this.x(begin), lane.left - 2);
        const width = Math.max(1, Math.min(this.x(end), this.width) - from - 0.6);
        const isVisible = end >= this.begin && begin <= this.end;
        const node = svg("rect", { class: "span", role: "img", x: from, y, width, height: this.height, rx: Math.min(2.5, width / 2), style: `fill:${stage.color}`, visibility: isVisible ? null : "hidden" });
        addTooltip(node, () => spanContent(rank, stage, operation, begin, end));
        node.addEventListener("focus", () => { this.focused = [at, order]; });
        row.push(node);
        marks.push(node);
        if (isVisible && width > 7 * stage.name.length + 6) {
          marks.push(svg("text", { class: "inside", x: from + width / 2, y: y + this.height / 2 + 3.5, "text-anchor": "middle", style: inkOn(stage) }, stage.name));
        }
      });
      grid.push(row.filter((node) => node.getAttribute("visibility") !== "hidden"));
    });
    roveFocus(grid);
    return marks;
  }

  tellTimes() {
    const parts = this.round.operations.map((operation) =>
      `${operation.name}: ${exactTime(operation.end - operation.begin)}, rank ${operation.first_rank} began first, rank ${operation.last_rank} ended last`);
    const shown = this.end - this.begin < this.round.length ? ` Shown: ${time(this.begin)} to ${time(this.end)}.` : "";
    this.caption.textContent = `First rank's start to last rank's end. ${parts.join("; ")}.${shown}`;
  }

  listen() {
    this.box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !this.box.contains(document.activeElement)) return;
      event.preventDefault();
      const at = event.clientX - this.box.getBoundingClientRect().left;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / 900);
      else this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.ns(at));
      tooltip.hide();
    }, { passive: false });
    this.box.setAttribute("tabindex", "-1");
    this.box.addEventListener("pointerdown", (event) => this.drag(event));
    this.box.addEventListener("dblclick", () => this.reset());
    this.box.addEventListener("keydown", (event) => {
      const actions = { "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), 0: () => this.reset(), "[": () => this.pan(-0.25), "]": () => this.pan(0.25) };
      if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
      const kept = this.focused;
      actions[event.key]();
      this.box.focus();
      this.focused = kept;
    });
    new ResizeObserver(() => { if (this.drawing && Math.abs(this.width - Number(this.drawing.getAttribute("width"))) > 1) this.draw(); }).observe(this.box);
  }

  drag(event) {
    if (event.button !== 0) return;
    const [startX, begin, end] = [event.clientX, this.begin, this.end];
    const perPixel = (end - begin) / (this.width - lane.left - lane.right);
    const move = (moved) => {
      this.box.classList.add("dragging");
      this.setView(begin - (moved.clientX - startX) * perPixel, end - (moved.clientX - startX) * perPixel);
    };
    const stop = () => {
      this.box.classList.remove("dragging");
      removeEventListener("pointermove", move);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop, { once: true });
    this.box.focus({ preventScroll: true });
  }
}

const inkOn = (stage) => (stage.name === "compute" ? "fill:var(--text)" : stage.plane === "control" ? "fill:#1a2029" : "fill:var(--ink)");

function tickTime(ns, length) {
  const [unit, size] = length >= 5e6 ? ["ms", 1e6] : length >= 2000 ? ["µs", 1e3] : ["ns", 1];
  return `${Number((ns / size).toFixed(3))} ${unit}`;
}

const spanContent = (rank, stage, operation, begin, end) => ({
  title: `${stage.name}, rank ${rank}`,
  rows: [["duration", exactTime(end - begin)], ["begins", exactTime(begin)], ["ends", exactTime(end)], ["plane", stage.plane], ["operation", operation]],
  text: stage.what,
});

function drawTimeline(trace) {
  const body = addSection("timeline", "Timeline", "Every stage of every rank in one round, on the host's monotonic clock.", [trace.origin]);
  if (trace.timeline_refused) {
    body.append(el("p", { class: "note warn" }, `No common timeline: ${trace.timeline_refused}.`));
    return;
  }
  const { rounds, total } = trace.timeline;
  if (rounds.length === 0) {
    body.append(el("p", { class: "note" }, "No round has spans of every rank."));
    return;
  }
  const chart = new Timeline(trace.timeline, trace.summaries.all.map((rank) => rank.rank));
  const duration = (round) => time(round.operations.reduce((sum, operation) => sum + operation.end - operation.begin, 0));
  const select = el("select", { "aria-label": "round", id: "round-select", onchange: () => chart.showRound(Number(select.value)) },
    rounds.map((round, at) => el("option", { value: at, selected: at === rounds.length - 1 }, `round ${round.round}: ${duration(round)}${round.label ? `, ${round.label}` : ""}`)));
  const button = (text, label, action) => el("button", { type: "button", "aria-label": label, onclick: action }, text);
  body.append(
    el("div", { class: "controls" }, el("label", null, "Round ", select),
      el("span", null, button("−", "zoom out", () => chart.zoom(1 / 0.6)), " ", button("+", "zoom in", () => chart.zoom(0.6)), " ", button("whole round", "show the whole round", () => chart.reset())),
      el("span", { class: "grow" }), planeLegend(true)),
    chart.box, chart.caption,
    el("p", { class: "note" }, "Click the chart, then wheel to zoom and Shift + wheel or drag to pan; Ctrl + wheel works at once. Keys: arrows, + − 0 [ ].",
      rounds.length < total ? ` The page has ${rounds.length} of ${count(total)} rounds: the slowest, the median, the fastest and the last.` : ""));
  chart.draw();
}
