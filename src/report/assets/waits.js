// SPDX-License-Identifier: Apache-2.0
// Who waited for whom: the sum finds a rank that is always late, the maximum one that was late once.

function waitSpec(waits, field, width) {
  const ranks = [...Array(waits.length).keys()];
  const at = (r, c) => (waits[r] === null ? null : waits[r][c][field]);
  const gather = field === 0 ? (values) => values.reduce((a, b) => a + b, 0) : (values) => Math.max(0, ...values);
  const word = field === 0 ? "sum" : "maximum";
  return {
    label: `${word} of waits between ranks`, width, cellMax: 52, labelWidth: 40, corner: "waited for",
    rowNames: ranks.map((r) => `rank ${r}`), columnNames: ranks.map(String), value: at, format: time,
    low: "var(--wait-low)", high: "var(--wait-high)", cellText: (r, c) => shortTime(at(r, c)), totalName: word, scaleName: "wait per cell",
    rowTotal: (r) => (waits[r] === null ? null : gather(ranks.map((c) => at(r, c)))),
    columnTotal: (c) => gather(ranks.filter((r) => waits[r] !== null).map((r) => at(r, c))),
    content: (r, c) => ({
      title: `rank ${r} waited for rank ${c}`,
      rows: [["sum", time(waits[r][c][0])], ["maximum", time(waits[r][c][1])], ["times", count(waits[r][c][2])], ["sum, exact", exactTime(waits[r][c][0])]],
    }),
    columnContent: (c, total) => ({ title: `everybody waited for rank ${c}`, rows: [[word, time(total)]] }),
  };
}

const shortTime = (ns) => (ns < 1000 ? `${Math.round(ns)}n` : ns < 999500 ? `${Number((ns / 1e3).toPrecision(3))}µ` : `${Number((ns / 1e6).toPrecision(3))}m`);

function drawWaits(trace) {
  const waits = trace.waits;
  if (!waits || !waits.some((row) => row && row.some((wait) => wait[2] > 0))) return;
  const body = addSection("waits", "Waits", "Row waited for column, over all traced rounds. A column that stands out is a slow sender, a row a slow receiver, a single cell a slow path.", [trace.origin]);
  const width = waits.length > 12 ? 1170 : 560;
  body.append(el("div", { class: "columns" },
    el("div", null, el("h3", null, "Sum: who is always late"), heatmap(waitSpec(waits, 0, width))),
    el("div", null, el("h3", null, "Maximum: who was late once"), heatmap(waitSpec(waits, 1, width)))));
  const missing = waits.map((row, r) => (row === null ? r : -1)).filter((r) => r >= 0);
  if (missing.length) body.append(el("p", { class: "note warn" }, `No trace of rank ${missing.join(", ")}: its row is empty, not zero.`));
  const sums = waits.map((_, c) => waits.reduce((sum, row) => sum + (row ? row[c][0] : 0), 0));
  const total = sums.reduce((a, b) => a + b, 0);
  const latest = sums.indexOf(Math.max(...sums));
  body.append(el("p", { class: "note" }, `Most awaited: rank ${latest}, ${time(sums[latest])} of ${time(total)} (${percent(sums[latest], total)}; an even share would be ${percent(1, waits.length)}). `, originChip("derived")));
}
