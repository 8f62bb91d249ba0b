// SPDX-License-Identifier: Apache-2.0
// A table of numbers as shades, with totals as bars at the right and below.
// spec: {rowNames, columnNames, columnGroups, value(r, c) (null: no data), format, low, high,
//        cellText, content(r, c), rowTotal(r), columnTotal(c), rowsAre, columnsAre, totalName, width}

const shadeOf = (share, low, high) =>
  share <= 0 ? "var(--cell-0)" : `color-mix(in oklab, ${high} ${(8 + 92 * share).toFixed(1)}%, ${low})`;

function heatmapShape(spec) {
  const columns = spec.columnNames.length;
  const left = 74;
  const right = 132;
  const gaps = spec.columnGroups ? spec.columnGroups.length - 1 : 0;
  const room = (spec.width || 1170) - left - right - gaps * 5;
  const cell = Math.max(9, Math.min(spec.cellMax || 40, Math.floor(room / columns)));
  const rowHeight = spec.rowNames.length > manyRanks ? 14 : 27;
  const starts = [];
  let x = left;
  let group = 0;
  for (let c = 0; c < columns; ++c) {
    if (spec.columnGroups && group + 1 < spec.columnGroups.length && c === spec.columnGroups[group + 1].first) {
      group += 1;
      x += 5;
    }
    starts.push(x);
    x += cell;
  }
  return { left, right, cell, rowHeight, starts, end: x, top: spec.columnGroups ? 44 : 38 };
}

function heatmapCells(spec, shape, max) {
  const grid = [];
  const marks = [];
  spec.rowNames.forEach((_, r) => {
    const row = [];
    spec.columnNames.forEach((__, c) => {
      const value = spec.value(r, c);
      if (value === null) return;
      const y = shape.top + r * shape.rowHeight;
      const share = max > 0 ? value / max : 0;
      const node = svg("rect", {
        class: "cell", role: "img", x: shape.starts[c], y, width: shape.cell - 1, height: shape.rowHeight - 1,
        rx: 2, style: `fill:${shadeOf(share, spec.low, spec.high)}`,
      });
      row.push(addTooltip(node, () => spec.content(r, c)));
      marks.push(node);
      if (spec.cellText && shape.cell >= 30 && value > 0) {
        const ink = share > 0.55 ? "fill:var(--ink)" : "fill:var(--text)";
        marks.push(svg("text", { class: "inside", x: shape.starts[c] + shape.cell / 2, y: y + shape.rowHeight / 2 + 3.5, "text-anchor": "middle", style: ink }, spec.cellText(r, c)));
      }
    });
    grid.push(row);
  });
  roveFocus(grid);
  return marks;
}

function heatmapHead(spec, shape) {
  const marks = [svg("text", { x: shape.left - 10, y: shape.top - 8, "text-anchor": "end" }, spec.corner || "")];
  if (spec.columnGroups) {
    spec.columnGroups.forEach((group, at) => {
      const last = at + 1 < spec.columnGroups.length ? spec.columnGroups[at + 1].first - 1 : spec.columnNames.length - 1;
      const from = shape.starts[group.first];
      const to = shape.starts[last] + shape.cell - 1;
      marks.push(svg("text", { x: (from + to) / 2, y: 12, "text-anchor": "middle" }, group.name));
      marks.push(svg("path", { class: "axis", d: `M${from} 18.5H${to}`, style: "stroke:var(--faint)" }));
    });
  }
  const every = Math.ceil((spec.labelWidth || 22) / shape.cell);
  spec.columnNames.forEach((name, c) => {
    const inGroup = spec.columnGroups ? c - spec.columnGroups.filter((group) => group.first <= c).pop().first : c;
    if (inGroup % every !== 0) return;
    marks.push(svg("text", { x: shape.starts[c] + (shape.cell - 1) / 2, y: shape.top - 8, "text-anchor": "middle", style: "font-size:10px" }, name));
  });
  return marks;
}

function heatmapTotals(spec, shape) {
  const rowTotals = spec.rowNames.map((_, r) => spec.rowTotal(r));
  const columnTotals = spec.columnNames.map((_, c) => spec.columnTotal(c));
  const rowMax = Math.max(...rowTotals, 1e-9);
  const columnMax = Math.max(...columnTotals, 1e-9);
  const bottom = shape.top + spec.rowNames.length * shape.rowHeight;
  const barX = shape.end + 12;
  const marks = [svg("text", { x: barX, y: shape.top - 8 }, spec.totalName)];
  spec.rowNames.forEach((name, r) => {
    const y = shape.top + r * shape.rowHeight;
    marks.push(svg("text", { x: shape.left - 10, y: y + shape.rowHeight / 2 + 3.5, "text-anchor": "end" }, name));
    marks.push(svg("rect", { x: barX, y: y + 4, width: (52 * rowTotals[r]) / rowMax, height: shape.rowHeight - 9, rx: 2, style: `fill:color-mix(in oklab, ${spec.high} 45%, ${spec.low})` }));
    marks.push(svg("text", { class: "strong", x: barX + 4 + (52 * rowTotals[r]) / rowMax, y: y + shape.rowHeight / 2 + 3.5 }, rowTotals[r] === null ? "no trace" : spec.format(rowTotals[r])));
  });
  columnTotals.forEach((total, c) => {
    const node = svg("rect", {
      class: "cell", role: "img", x: shape.starts[c], y: bottom + 7, width: shape.cell - 1, height: Math.max(1, (40 * total) / columnMax), rx: 2,
      style: `fill:color-mix(in oklab, ${spec.high} 45%, ${spec.low})`,
    });
    marks.push(addTooltip(node, () => spec.columnContent(c, total)));
  });
  marks.push(svg("text", { x: shape.left - 10, y: bottom + 18, "text-anchor": "end" }, spec.totalName));
  return { marks, height: bottom + 52 };
}

function heatmap(spec) {
  const shape = heatmapShape(spec);
  let max = 0;
  spec.rowNames.forEach((_, r) => spec.columnNames.forEach((__, c) => { max = Math.max(max, spec.value(r, c) || 0); }));
  const totals = heatmapTotals(spec, shape);
  const drawing = svg("svg", { width: shape.end + shape.right, height: totals.height, role: "group", "aria-label": spec.label },
    heatmapHead(spec, shape), heatmapCells(spec, shape, max), totals.marks);
  return el("div", null, el("div", { class: "scroll" }, drawing), scaleLegend(spec, max));
}

function scaleLegend(spec, max) {
  const width = 220;
  const steps = 44;
  const boxes = [];
  for (let at = 0; at < steps; ++at) {
    boxes.push(svg("rect", { x: 8 + (at * width) / steps, y: 4, width: width / steps + 0.3, height: 10, style: `fill:${shadeOf((at + 1) / steps, spec.low, spec.high)}` }));
  }
  const marks = [0, 0.5, 1].map((share) =>
    svg("text", { x: 8 + share * width, y: 27, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, spec.format(share * max)));
  return el("div", { class: "legend", style: "margin-top:8px" }, spec.scaleName, svg("svg", { width: width + 16, height: 32, "aria-hidden": "true" }, boxes, marks),
    el("span", null, el("i", { style: "background:var(--cell-0)" }), "none"));
}
