// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { conditionsBefore } from "../../src/model/before.js";
import { ExploreDocument } from "../../src/model/document.js";
import { findPath, pathAsText, pathFromRoot } from "../../src/model/paths.js";
import { documentFromInventory } from "../document/from_inventory.js";
import { FIXTURES } from "../e2e/page.js";

const open = (name) => new ExploreDocument(documentFromInventory(join(FIXTURES, name), name));
const [mesh, layered] = [open("mesh_kernel"), open("layered_tree")];
const find = (document, name) => document.functions.findIndex((entry) => entry.qualified === name);
const names = (document, edges) => edges.map((index) => document.functions[document.edges[index].to].name);

test("from Python to the layer that moves nothing", () => {
  const path = findPath(layered, find(layered, "echelon.buffer.Buffer.dispatch"),
                        find(layered, "echelon::kernels::NullTransport::put"));
  assert.deepEqual(names(layered, path.edges),
                   ["dispatch", "launch_dispatch", "dispatch_kernel", "send_rows", "put_row", "put"]);
  assert.match(pathAsText(layered, path.edges), /line 71, exact, launch -> echelon::kernels::dispatch_kernel/);
});

test("no path says what would be one", () => {
  const [from, to] = [find(layered, "echelon.buffer.Buffer.dispatch"), find(layered, "echelon::kernels::NullTransport::put")];
  const filtered = findPath(layered, from, to, (edge) => edge.class === "exact");
  assert.equal(filtered.offer, "unfiltered");
  assert.match(filtered.reason, /2 edges that the filters hide \(name-only\)/);
  assert.equal(findPath(layered, to, from).offer, "reverse");
});

test("no path says who does call it", () => {
  const from = find(mesh, "mesh_drain");
  assert.match(findPath(mesh, from, find(mesh, "mesh::WriteRequest_v3")).reason, /called by mesh::SendRowDirect/);
  assert.match(findPath(mesh, from, find(mesh, "mesh::SendRowDirect")).reason, /Nothing that was found calls/);
  assert.match(findPath(mesh, from, from).reason, /same function/);
});

test("the shortest way from a root", () => {
  assert.deepEqual(names(mesh, pathFromRoot(mesh, find(mesh, "mesh::MeshDispatch::RingDoorbell"))),
                   ["Process", "RunSubmitRole", "RingDoorbell"]);
  assert.deepEqual(pathFromRoot(mesh, find(mesh, "mesh_drain")), []);
  assert.deepEqual(pathFromRoot(mesh, find(mesh, "mesh::SendRowDirect")), []);
});

test("before the doorbell the done flags of the pack role must have been seen", () => {
  const ring = find(mesh, "mesh::MeshDispatch::RingDoorbell");
  const levels = conditionsBefore(mesh, ring, mesh.functions[ring].lines[1]);
  const caller = levels.find(({ fn }) => mesh.functions[fn].name === "RunSubmitRole");
  const publishers = caller.conditions.flatMap((condition) => condition.publishers)
    .map((publisher) => mesh.functions[publisher.function].name);
  assert.deepEqual(publishers, ["MarkDone", "PrefixStopsAtGap"], "each once, the reached one first");
  assert.ok(caller.conditions.some(({ kinds }) => kinds.includes("fence")), "the fence before the doorbell");
  assert.equal(mesh.roles[mesh.functions[caller.fn].roles[0]].name, "submit");
});

test("recursion ends", () => {
  const loop = new ExploreDocument({ ...documentFromInventory(join(FIXTURES, "second_tree"), "second_tree") });
  loop.edges.push({ ...loop.edges[0], from: loop.edges[0].to, to: loop.edges[0].from });
  const again = new ExploreDocument({ ...loop });
  assert.ok(conditionsBefore(again, again.edges[0].to, 1).length <= 5);
});
