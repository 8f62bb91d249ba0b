// SPDX-License-Identifier: Apache-2.0
// One token from its gate to its combined row.

function journeyStep(step) {
  const stage = stageOf(step.stage);
  const pairs = [];
  const add = (name, value, isMono) => { if (value !== undefined) pairs.push(el("span", null, `${name} `, el("b", isMono ? { class: "mono" } : null, value))); };
  add("rank", step.rank);
  add("lane", step.lane);
  add("expert", step.expert);
  add("row", step.slot === undefined ? undefined : count(step.slot));
  add("address", step.address === undefined ? undefined : `window + ${step.address}`, true);
  add("size", step.row_bytes === undefined ? undefined : `${count(step.row_bytes)} B`);
  const when = step.begin_ns === undefined ? "" : time(step.begin_ns);
  const took = step.end_ns === undefined || step.begin_ns === undefined ? "" : `took ${time(step.end_ns - step.begin_ns)}`;
  return el("li", null,
    el("div", { class: "when" }, when, took ? el("small", null, took) : ""),
    el("div", { class: "rail" }, el("i", { style: `background:${stage.color}` })),
    el("div", { class: "step" },
      el("b", null, stage.name), el("span", { class: "op" }, `${step.operation}, ${stage.plane}`),
      el("div", null, step.what),
      el("div", { class: "pairs" }, pairs, step.proof ? el("span", { class: "proof" }, `✓ ${step.proof}`) : "")));
}

function drawJourney(journey, origin) {
  const body = addSection("token", `Token ${journey.token} of rank ${journey.rank}`, `Its way through round ${journey.round}. Times count from the first rank's start of the round; ✓ is the proof that the bytes were there.`, [origin]);
  body.append(el("ol", { class: "journey" }, journey.steps.map(journeyStep)));
}
