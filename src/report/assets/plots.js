// SPDX-License-Identifier: Apache-2.0
// Lines over logarithmic axes: how something grows with the size of the work.

const plotSize = { width: 560, height: 320, left: 64, right: 14, top: 12, bottom: 40 };
const lineDash = { ours: "", limit: "6 4", peer: "" };

// Powers of ten, and 2 and 5 of them where there is room, that lie in [low, high].
function logTicks(low, high) {
  const steps = Math.log10(high / low) < 1.6 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    ticks.push(...steps.map((step) => step * 10 ** power));
  }
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

function logScale(values, begin, end, margin) {
  const low = Math.min(...values) / margin;
  const high = Math.max(...values) * margin;
  const span = Math.log(high / low) || 1;
  return { low, high, at: (value) => begin + ((end - begin) * Math.log(value / low)) / span };
}

function plotAxes(plot, x, y) {
  const { width, height, left, right, top, bottom } = plotSize;
  const xTicks = [...new Set(plot.lines.flatMap((line) => line.points.map((point) => point[0])))];
  return [
    logTicks(y.low, y.high).map((tick) => [
      svg("line", { x1: left, x2: width - right, y1: y.at(tick), y2: y.at(tick), class: "grid" }),
      svg("text", { x: left - 8, y: y.at(tick) + 4, class: "tick end" }, plain(tick))]),
    xTicks.map((tick) => [
      svg("line", { x1: x.at(tick), x2: x.at(tick), y1: top, y2: height - bottom, class: "grid" }),
      svg("text", { x: x.at(tick), y: height - bottom + 16, class: "tick mid" }, String(tick))]),
    svg("text", { x: (left + width - right) / 2, y: height - 6, class: "tick mid" }, plot.x),
    svg("text", { x: 0, y: 0, class: "tick mid", transform: `translate(14 ${(top + height - bottom) / 2}) rotate(-90)` }, plot.unit)];
}

function plotFigure(plot) {
  const { width, height, left, right, top, bottom } = plotSize;
  const points = plot.lines.flatMap((line) => line.points);
  const x = logScale(points.map((point) => point[0]), left, width - right, 1.15);
  const y = logScale(points.map((point) => point[1]), height - bottom, top, 1.3);
  const grid = [];
  const drawn = plot.lines.map((line, at) => {
    const colour = `var(--line-${at % 6})`;
    const path = line.points.map(([px, py], index) => `${index ? "L" : "M"}${x.at(px).toFixed(1)} ${y.at(py).toFixed(1)}`).join("");
    const dots = line.points.map(([px, py]) => addTooltip(
      svg("circle", { cx: x.at(px), cy: y.at(py), r: 4.5, role: "img", style: `fill:${colour}` }),
      () => ({ title: line.name, rows: [[plot.x, px], ["value", `${plain(py)} ${plot.unit}`], ["origin", line.origin]] })));
    grid.push(dots);
    return [svg("path", { d: path, style: `fill:none;stroke:${colour};stroke-width:${line.kind === "ours" ? 2.5 : 1.75};stroke-dasharray:${lineDash[line.kind]}` }), dots];
  });
  roveFocus(grid);
  const legend = el("div", { class: "legend" }, plot.lines.map((line, at) =>
    el("span", null, el("i", { style: `background:var(--line-${at % 6})` }), line.name)));
  const origins = [...new Set(plot.lines.map((line) => line.origin))];
  return el("div", { class: "group" },
    el("h3", null, `${plot.title} `, origins.map(originChip)), legend,
    svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": plot.title }, plotAxes(plot, x, y), drawn));
}

function drawPlots(plots) {
  const body = addSection("plots", "Over sizes", "Both axes are logarithmic. Every point is the median of runs in which all lines took turns.");
  body.append(el("div", { class: "plots" }, plots.map(plotFigure)));
}
