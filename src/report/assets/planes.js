// SPDX-License-Identifier: Apache-2.0
// Time by plane of each rank, and the table of stages.

function planeRows(ranks) {
  const total = (rank) => planeNames.reduce((sum, plane) => sum + rank.planes[plane][0], 0);
  const max = Math.max(...ranks.map(total), 1);
  const grid = [];
  const rows = ranks.map((rank) => {
    const segments = planeNames.filter((plane) => rank.planes[plane][0] > 0).map((plane) => {
      const [sum, spans, longest] = rank.planes[plane];
      return addTooltip(el("div", { class: "seg", role: "img", style: `width:${(100 * sum) / max}%;background:var(--${plane})` }), () => ({
        title: `rank ${rank.rank}, ${plane}`,
        rows: [["sum", exactTime(sum)], ["share", percent(sum, total(rank))], ["spans", count(spans)], ["longest span", exactTime(longest)]],
      }));
    });
    grid.push(segments);
    return [el("div", { class: "label" }, `rank ${rank.rank}`), el("div", { class: "track" }, segments),
      el("div", { class: "amount" }, el("b", null, time(total(rank))), el("span", null, `${percent(rank.planes.sync[0], total(rank))} sync`))];
  });
  roveFocus(grid);
  return el("div", { class: ranks.length > manyRanks ? "rows plane-rows dense" : "rows plane-rows" }, rows);
}

// One line per stage: [sum, count, max] over ranks, the rank with the largest sum, bytes moved.
function stageTotals(trace, ranks) {
  const totals = new Map();
  for (const rank of ranks) {
    for (const [id, [sum, spans, longest]] of Object.entries(rank.stages)) {
      const entry = totals.get(Number(id)) || { id: Number(id), sum: 0, spans: 0, longest: 0, slowest: 0, slowestSum: -1, bytes: 0, messages: 0 };
      entry.sum += sum;
      entry.spans += spans;
      entry.longest = Math.max(entry.longest, longest);
      if (sum > entry.slowestSum) Object.assign(entry, { slowest: rank.rank, slowestSum: sum });
      totals.set(Number(id), entry);
    }
  }
  for (const [id, , moved, messages] of trace.moved) {
    const entry = totals.get(id);
    if (entry) Object.assign(entry, { bytes: entry.bytes + moved, messages: entry.messages + messages });
  }
  return [...totals.values()].sort((a, b) => a.id - b.id);
}

function stageRow(entry, ranks, { whole, largest }, withBytes) {
  const stage = stageOf(entry.id);
  const isOurs = stage.name !== "compute";
  return el("tr", null,
    el("td", null, el("i", { class: "swatch", style: `background:${stage.color}` }), el("b", null, stage.name)),
    el("td", null, isOurs ? stage.plane : "caller"),
    el("td", null, el("span", { class: "what" }, stage.what)),
    el("td", { class: "number" }, count(entry.spans)),
    el("td", { class: "number" }, time(entry.sum / Math.max(1, entry.spans))),
    el("td", { class: "number" }, time(entry.longest)),
    el("td", { class: "number" }, time(entry.sum / ranks.length)),
    el("td", { class: "share-cell" }, isOurs ? [el("span", { class: "share" }, el("i", { style: `width:${(100 * entry.sum) / largest}%;background:${stage.color}` })), percent(entry.sum, whole)] : el("span", { class: "what" }, "the caller's time")),
    el("td", { class: "number" }, `${entry.slowest}`),
    withBytes ? el("td", { class: "number" }, entry.bytes ? bytes(entry.bytes) : "") : null);
}

function stageTimes(trace, ranks, withBytes) {
  const totals = stageTotals(trace, ranks);
  const sums = totals.filter((entry) => stageOf(entry.id).name !== "compute").map((entry) => entry.sum);
  const scale = { whole: Math.max(1, sums.reduce((a, b) => a + b, 0)), largest: Math.max(1, ...sums) };
  const numbers = ["spans", "mean", "longest", "sum / rank"].map((name) => el("th", { class: "number", scope: "col" }, name));
  return el("div", { class: "scroll" }, el("table", { class: "stage-table" },
    el("thead", null, el("tr", null, ["stage", "plane", "what it does"].map((name) => el("th", { scope: "col" }, name)), numbers,
      el("th", { class: "share-head", scope: "col" }, "share of the library's time"), el("th", { class: "number", scope: "col" }, "slowest rank"), withBytes ? el("th", { class: "number", scope: "col" }, "moved") : null)),
    el("tbody", null, totals.map((entry) => stageRow(entry, ranks, scale, withBytes)))));
}

function drawPlanes(trace) {
  const names = ["all", "dispatch", "combine", "collective"].filter((name) => trace.summaries[name]);
  if (names.length === 0) return;
  const body = addSection("stages", "Planes and stages", "Where each rank spent its time, over all traced rounds. Data moves payload, control decides where it goes, sync finds out that somebody is done.", [trace.origin]);
  const place = el("div");
  const show = (name) => place.replaceChildren(planeRows(trace.summaries[name]), el("div", { style: "height:22px" }), stageTimes(trace, trace.summaries[name], name === "all"));
  body.append(el("div", { class: "controls" }, choice("operation", names, show), el("span", { class: "grow" }), planeLegend(false)), place);
  if (trace.dropped_span_count) body.append(el("p", { class: "note warn" }, `Spans that did not fit into the recorder: ${count(trace.dropped_span_count)}. These sums lack them.`));
  if (trace.unknown_span_count) body.append(el("p", { class: "note warn" }, `Spans of stages that this version does not know: ${count(trace.unknown_span_count)}. They are in no sum.`));
}
