// SPDX-License-Identifier: Apache-2.0
// Ours, the peers and the limit, with ratios to ours.

// How much better ours is: above 1 is good for ours. For a limit it says how much of it ours reaches.
function ratioText(group, bar, ours) {
  if (!ours || bar.kind === "ours" || !(bar.value > 0) || !(ours.value > 0)) return "";
  const ratio = group.better === "lower" ? bar.value / ours.value : ours.value / bar.value;
  if (bar.kind === "limit") return `ours is at ${ratio.toFixed(2)} of it`;
  return ratio >= 1 ? `ours ${ratio.toFixed(2)}× better` : `ours ${(1 / ratio).toFixed(2)}× worse`;
}

function barGroup(group) {
  const ours = group.bars.find((bar) => bar.kind === "ours");
  const limit = group.bars.find((bar) => bar.kind === "limit");
  const max = Math.max(...group.bars.map((bar) => bar.value), 1e-12);
  const grid = [];
  const rows = group.bars.map((bar) => {
    const ratio = ratioText(group, bar, ours);
    const node = addTooltip(el("div", { class: `seg bar-${bar.kind}`, role: "img", style: `width:${(100 * bar.value) / max}%` }), () => ({
      title: bar.name, rows: [["value", `${bar.value} ${group.unit}`], ["origin", bar.origin], ...(ratio ? [["ratio (derived)", ratio]] : [])], text: bar.note,
    }));
    grid.push([node]);
    return [
      el("div", { class: "label" }, bar.name, bar.note ? el("small", null, bar.note) : ""),
      el("div", { class: "track" }, node, limit && limit !== bar ? el("i", { class: "limit-mark", style: `left:${(100 * limit.value) / max}%` }) : ""),
      el("div", { class: "amount" }, el("b", null, `${plain(bar.value)} ${group.unit}`), el("span", null, bar.kind === "ours" ? "" : ratio))];
  });
  roveFocus(grid);
  const origins = [...new Set(group.bars.map((bar) => bar.origin))];
  return el("div", { class: "group" },
    el("h3", null, `${group.title} `, el("span", { style: "color:var(--soft);font-weight:400" }, `${group.unit}, ${group.better} is better `), origins.map(originChip)),
    el("div", { class: "rows bars" }, rows));
}

function drawBars(bars) {
  const body = addSection("bench", "Benchmarks", "All bars of a group were made in one run; the dashed line is the limit. Ratios are derived from the two values beside them.");
  body.append(...bars.map(barGroup));
}
