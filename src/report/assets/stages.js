// SPDX-License-Identifier: Apache-2.0
// The stage table and its colours: a hue per plane, shades inside it by stage order.

const planeNames = ["data", "control", "sync"];
const stageTable = new Map();

function readStages(stages) {
  const inPlane = { data: 0, control: 0, sync: 0 };
  for (const stage of stages) {
    const order = stage.name === "compute" ? 0 : inPlane[stage.plane]++;
    stageTable.set(stage.id, { ...stage, color: stageColor(stage, order) });
  }
}

function stageColor(stage, order) {
  if (stage.name === "compute") return "var(--compute)";
  const shade = [0, 16, 28, 8, 22, 36][order % 6];
  // Away from the colour of the text on it, so that every shade can carry its name.
  const away = stage.plane === "control" ? "white" : "var(--shade)";
  return shade === 0 ? `var(--${stage.plane})` : `color-mix(in oklab, var(--${stage.plane}), ${away} ${shade}%)`;
}

// An id of a newer version is shown by its number.
const stageOf = (id) =>
  stageTable.get(id) || { id, name: `stage ${id}`, plane: "unknown", what: "not known to this version", color: "var(--faint)" };

function planeLegend(withCompute) {
  const entry = (name, color) => el("span", null, el("i", { style: `background:${color}` }), name);
  return el("div", { class: "legend" },
    planeNames.map((name) => entry(name, `var(--${name})`)),
    withCompute ? entry("the caller's compute", "var(--compute)") : "");
}
