// SPDX-License-Identifier: Apache-2.0
// The execution graph as rows and lanes, the way version control draws branches: stages run down the
// main lane, a fork opens one lane for each role, a join closes them. Narrow enough for a third of a
// screen, and parallel roles can never be mistaken for a sequence.

export const ROW_HEIGHT = { root: 36, more: 30, stage: 60, fork: 34, role: 52, join: 30 };
const ROOTS_SHOWN = 3;

/** Does `role` lie inside `outer`, or is it that role? */
function within(document, role, outer) {
  for (let at = role; at !== null; at = document.roles[at].parent) if (at === outer) return true;
  return false;
}

/** The innermost roles that execute a stage: a role counts only where no role inside it does. */
function leafRoles(document, stage) {
  const all = document.stages[stage].roles;
  return all.filter((role) => !all.some((other) => other !== role && within(document, other, role)));
}

/**
 * Stages that only these roles execute, in order: those of one role, and those of several of them.
 * What all of them execute, or others besides, belongs to no lane.
 */
function stagesByRole(document, roles) {
  const exclusive = new Map(roles.map((role) => [role, []]));
  const shared = [];
  document.stages.forEach((_, stage) => {
    const leaves = leafRoles(document, stage);
    const owners = roles.filter((role) => leaves.some((leaf) => within(document, leaf, role)));
    const others = leaves.some((leaf) => !owners.some((owner) => within(document, leaf, owner)));
    if (others || owners.length === 0) return;
    if (owners.length === 1) exclusive.get(owners[0]).push(stage);
    else if (owners.length < roles.length) shared.push(stage);
  });
  const byOrder = (one, other) => document.stages[one].order - document.stages[other].order;
  for (const list of exclusive.values()) list.sort(byOrder);
  return { exclusive, shared: shared.sort(byOrder) };
}

class Builder {
  constructor(document) {
    this.document = document;
    this.rows = [];
    this.placed = new Set();
    this.nextLane = 1; // Lanes are taken at a fork and given back at its join.
    this.laneCount = 1;
    this.lines = []; // {lane, role, from, to}: vertical lines
    this.bends = []; // {from: {row, lane}, to: {row, lane}, role}
  }

  push(row) {
    this.rows.push({ y: 0, ...row });
    return this.rows.length - 1;
  }

  stage(stage, lane) {
    if (this.placed.has(stage)) return;
    this.placed.add(stage);
    this.push({ type: "stage", stage, lane });
  }

  fork(index, lane) {
    const { document } = this;
    const fork = document.forks[index];
    const first = this.nextLane;
    const start = this.push({ type: "fork", fork: index, lane });
    this.nextLane += fork.roles.length;
    this.laneCount = Math.max(this.laneCount, this.nextLane);
    const { exclusive, shared } = stagesByRole(document, fork.roles);
    const starts = fork.roles.map((role, position) =>
      this.role(role, first + position, start, lane, exclusive.get(role)));
    for (const stage of shared) this.stage(stage, lane);
    const end = this.push({ type: "join", fork: index, lane });
    this.nextLane = first;
    fork.roles.forEach((role, position) => {
      this.lines.push({ lane: first + position, role, from: starts[position], to: end - 1 });
      this.bends.push({ from: { row: end - 1, lane: first + position }, to: { row: end, lane }, role });
    });
  }

  role(role, lane, start, parentLane, stages) {
    const row = this.push({ type: "role", role, lane });
    this.bends.push({ from: { row: start, lane: parentLane }, to: { row, lane }, role });
    const own = (stage) => leafRoles(this.document, stage).includes(role);
    for (const stage of stages.filter(own)) this.stage(stage, lane);
    this.document.forks.forEach((fork, index) => {
      const inner = fork.roles.length > 0 && this.document.roles[fork.roles[0]].parent === role;
      if (inner) this.fork(index, lane);
    });
    for (const stage of stages) this.stage(stage, lane);
    return row;
  }
}

/** The stage after which a fork is drawn: the last shared one before its roles' own. */
function forkPosition(document, index) {
  const { roles } = document.forks[index];
  const { exclusive } = stagesByRole(document, roles);
  const own = [...exclusive.values()].flat().map((stage) => document.stages[stage].order);
  if (own.length) return Math.min(...own);
  const stage = document.functions[document.forks[index].function]?.stage;
  return stage == null ? Infinity : document.stages[stage].order + 0.5;
}

/**
 * Stages that the forking function calls only behind the branches run after the join, whatever their
 * place in the file: {stage: fork}.
 */
function stagesAfter(document) {
  const after = new Map();
  document.forks.forEach((fork, index) => {
    const last = Math.max(...fork.roles.map((role) => document.roles[role].lines[1]));
    const lines = new Map();
    for (const edge of document.outgoing[fork.function] ?? []) {
      const { stage } = document.functions[document.edges[edge].to];
      if (stage !== null) lines.set(stage, [...(lines.get(stage) ?? []), ...document.edges[edge].sites.map(([line]) => line)]);
    }
    for (const [stage, sites] of lines) {
      if (document.stages[stage].roles.length === 0 && sites.every((line) => line > last)) after.set(stage, index);
    }
  });
  return after;
}

/**
 * @param allRoots shows all of them instead of the first few.
 * @returns {{rows, lines, bends, laneCount, height}}: rows from top to bottom, each {type, y, lane}
 *   with `stage`, `role`, `fork` or `root` as an index; every stage is in exactly one row. A row
 *   "more" stands for roots that are not shown, if only because all are.
 */
export function buildLanes(document, { allRoots = false } = {}) {
  const builder = new Builder(document);
  const shown = allRoots ? document.rootOrder : document.rootOrder.slice(0, ROOTS_SHOWN);
  for (const root of shown) builder.push({ type: "root", root, lane: 0 });
  const hidden = document.roots.length - ROOTS_SHOWN;
  if (hidden > 0) builder.push({ type: "more", hidden, lane: 0 });
  const outer = document.forks
    .map((fork, index) => ({ index, fork }))
    .filter(({ fork }) => fork.roles.length > 0 && document.roles[fork.roles[0]].parent === null)
    .map(({ index }) => ({ index, at: forkPosition(document, index) }));
  // What a fork's roles execute is drawn inside it, wherever its number stands.
  const inside = new Set(document.forks.flatMap((fork) => {
    const { exclusive, shared } = stagesByRole(document, fork.roles);
    return [...[...exclusive.values()].flat(), ...shared];
  }));
  const after = stagesAfter(document);
  const positions = new Map(outer.map(({ index, at }) => [index, at]));
  const entries = document.stages
    .map((stage, index) => ({ at: Math.max(stage.order, (positions.get(after.get(index)) ?? -1) + 0.1), stage: index }))
    .filter(({ stage }) => !inside.has(stage))
    .concat(outer.map(({ index, at }) => ({ at, fork: index })))
    .sort((one, other) => one.at - other.at);
  for (const entry of entries) {
    if (entry.fork !== undefined) builder.fork(entry.fork, 0);
    else builder.stage(entry.stage, 0);
  }
  document.stages.forEach((_, stage) => builder.stage(stage, 0));
  return finish(builder);
}

function finish({ rows, lines, bends, laneCount }) {
  let y = 0;
  for (const row of rows) {
    row.y = y;
    row.height = ROW_HEIGHT[row.type];
    y += row.height;
  }
  return { rows, lines, bends, laneCount, height: y };
}

/** Sync and handshake edges between stages, as pairs of rows. */
export function syncArcs(document, lanes) {
  const rowOf = new Map();
  lanes.rows.forEach((row, index) => {
    if (row.type === "stage") rowOf.set(row.stage, index);
  });
  return document.stage_edges
    .map((edge, index) => ({ index, from: rowOf.get(edge.from), to: rowOf.get(edge.to), kind: edge.kind }))
    .filter(({ from, to, kind }) => from !== to && (kind === "sync" || kind === "handshake"));
}
