// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { ExploreDocument } from "../../src/model/document.js";
import { buildLanes } from "../../src/model/lanes.js";
import { layeredLayout } from "../../src/model/layout.js";
import { ledgerTables } from "../../src/model/ledger.js";
import { decodeLink, encodeLink } from "../../src/model/link.js";
import { firstHitAfter, search, step } from "../../src/model/search.js";
import { documentFromInventory } from "../document/from_inventory.js";
import { FIXTURES } from "../e2e/page.js";

const mesh = new ExploreDocument(documentFromInventory(join(FIXTURES, "mesh_kernel"), "mesh_kernel"));
const fnNamed = (name) => mesh.functions.findIndex((entry) => entry.name === name);

test("lanes hold every stage once, and one lane for each parallel role", () => {
  const lanes = buildLanes(mesh);
  const stages = lanes.rows.filter((row) => row.type === "stage").map((row) => row.stage).sort();
  assert.deepEqual(stages, mesh.stages.map((_, index) => index));
  const roles = lanes.rows.filter((row) => row.type === "role");
  assert.equal(roles.length, 5);
  assert.equal(new Set(roles.map((row) => row.lane)).size, 5);
  const types = lanes.rows.map((row) => row.type);
  assert.ok(types.indexOf("fork") < types.indexOf("role") && types.lastIndexOf("role") < types.indexOf("join"));
});

test("of many roots the farthest reaching are shown, and the others can be", () => {
  const many = new ExploreDocument({ ...mesh, roots: mesh.functions.map((_, index) => ({ function: index, source: "guessed", reason: "" })) });
  const rows = buildLanes(many).rows;
  assert.equal(many.functions[many.roots[rows[0].root].function].name, "mesh_dispatch");
  assert.equal(rows.filter((row) => row.type === "root").length, 3);
  assert.equal(rows.find((row) => row.type === "more").hidden, many.roots.length - 3);
  assert.equal(buildLanes(many, { allRoots: true }).rows.filter((row) => row.type === "root").length, many.roots.length);
});

test("a source without roles is a single lane", () => {
  const plain = new ExploreDocument({ ...mesh, roles: [], forks: [],
    stages: mesh.stages.map((stage) => ({ ...stage, roles: [] })) });
  assert.equal(buildLanes(plain).laneCount, 1);
});

test("what only some roles of a fork execute is drawn inside it, what others execute too is not", () => {
  const inner = { ...mesh.roles[0], name: "guard", parent: null };
  const everywhere = { ...mesh.stages[1], roles: [0, 1, 2, 3, 4, 5] };
  const both = new ExploreDocument({ ...mesh, roles: [...mesh.roles, inner], stages: mesh.stages.map((stage, index) => (index === 1 ? everywhere : stage)),
    forks: [{ ...mesh.forks[0], roles: [5] }, ...mesh.forks] });
  const rows = buildLanes(both).rows;
  assert.equal(rows.find((row) => row.stage === 1).lane, 0);
});

test("a stage that the forking function calls behind the branches comes after the join", () => {
  const early = new ExploreDocument({ ...mesh, stages: mesh.stages.map((stage) => (stage.name === "Reorder" ? { ...stage, order: -1 } : stage)) });
  const rows = buildLanes(early).rows;
  const at = rows.findIndex((row) => row.type === "stage" && early.stages[row.stage].name === "Reorder");
  assert.ok(at > rows.findIndex((row) => row.type === "join"));
});

test("a stage of a role inside a role is drawn in the inner lane", () => {
  const inner = { ...mesh.roles[1], name: "inner", parent: 1 };
  const nested = new ExploreDocument({ ...mesh, roles: [...mesh.roles, inner],
    stages: mesh.stages.map((stage) => (stage.name === "Pack and post" ? { ...stage, roles: [1, 5] } : stage)),
    forks: [...mesh.forks, { ...mesh.forks[0], roles: [5] }] });
  const rows = buildLanes(nested).rows;
  const row = rows.find((one) => one.type === "stage" && nested.stages[one.stage].name === "Pack and post");
  assert.equal(row.lane, rows.find((one) => one.type === "role" && one.role === 5).lane);
});

test("nested forks are drawn inside their role", () => {
  const inner = { ...mesh.roles[0], name: "inner", parent: 1 };
  const nested = new ExploreDocument({ ...mesh, roles: [...mesh.roles, inner],
    forks: [...mesh.forks, { ...mesh.forks[0], roles: [5] }] });
  const types = buildLanes(nested).rows.map((row) => row.type);
  assert.deepEqual([types.filter((type) => type === "fork").length, types.filter((type) => type === "join").length], [2, 2]);
});

test("lanes are given back at a join", () => {
  const again = mesh.roles.map((role) => ({ ...role, name: `${role.name} again` }));
  const twice = new ExploreDocument({ ...mesh, roles: [...mesh.roles, ...again],
    forks: [mesh.forks[0], { ...mesh.forks[0], roles: again.map((_, index) => 5 + index) }] });
  assert.equal(buildLanes(twice).laneCount, 6);
});

test("layers point down, cycles and all", () => {
  const layout = layeredLayout(4, [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 2, to: 0 }, { from: 1, to: 3 }]);
  const y = new Map(layout.nodes.map((node) => [node.index, node.y]));
  assert.ok(y.get(0) < y.get(1) && y.get(1) < y.get(2) && y.get(1) < y.get(3));
  assert.equal(layout.nodes.length, 4);
  assert.equal(layout.edges.length, 4);
});

test("search: names are ranked, text ignores case until a capital is typed", () => {
  assert.equal(mesh.functions[search(mesh, "symbol", "init").hits[0].fn].name, "Init");
  assert.equal(search(mesh, "text", "doorbell").total, search(mesh, "regex", "doorbell").total);
  assert.ok(search(mesh, "text", "Doorbell").total < search(mesh, "text", "doorbell").total);
  assert.equal(search(mesh, "text", "a(b").error, null);
  assert.match(search(mesh, "regex", "a(b").error, /parenthes|group/i);
  assert.equal(search(mesh, "regex", "^").total, 0);
});

test("hits are a ring", () => {
  assert.deepEqual(step(2, 3, 1), { index: 0, wrapped: true });
  assert.deepEqual(step(0, 3, -1), { index: 2, wrapped: true });
  assert.deepEqual(step(0, 3, 1), { index: 1, wrapped: false });
  const hits = [{ file: 0, line: 5 }, { file: 0, line: 9 }];
  assert.equal(firstHitAfter(hits, { file: 0, line: 6 }), 1);
  assert.equal(firstHitAfter(hits, { file: 1, line: 1 }), 0);
});

test("a link brings back what it was made of", () => {
  const fn = fnNamed("RunSubmitRole");
  const place = { mode: "memory", file: 0, line: mesh.functions[fn].segments[1].lines[0], fn, segment: 1 };
  assert.deepEqual(decodeLink(mesh, encodeLink(mesh, place)), { ...place, problems: [] });
  assert.equal(decodeLink(mesh, ""), null);
});

test("a link to other source says so, and still finds the function", () => {
  const fn = fnNamed("MarkDone");
  const { id, name_line: line } = mesh.functions[fn];
  const link = decodeLink(mesh, `#v=000000000000&f=${encodeURIComponent(id)}&l=mesh_dispatch.hpp:3`);
  assert.deepEqual([link.fn, link.line], [fn, line]);
  assert.match(link.problems[0], /made on source 000000000000/);
  assert.match(decodeLink(mesh, "#f=gone%23123").problems[0], /No function gone/);
  assert.match(decodeLink(mesh, "#l=nowhere.cc:1").problems[0], /No line nowhere/);
});

test("the ledger's rows sum to their totals, and a wrong sum is noticed", () => {
  assert.ok(ledgerTables(mesh).every((table) => table.complete));
  const wrong = { ...mesh, ledger: { ...mesh.ledger, lines: 1 } };
  assert.ok(!ledgerTables(wrong)[0].complete);
});
