// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { ExploreDocument, NoDocument, parseDocument, scopedName, shortName } from "../../src/model/document.js";
import { documentFromInventory } from "../document/from_inventory.js";
import { FIXTURES } from "../e2e/page.js";

const mesh = new ExploreDocument(documentFromInventory(join(FIXTURES, "mesh_kernel"), "mesh_kernel"));
const find = (name) => mesh.functions.findIndex((entry) => entry.qualified === name);

test("every line of every function leads back to it or to one inside it", () => {
  mesh.functions.forEach((entry, index) => {
    for (let line = entry.lines[0]; line <= entry.lines[1]; ++line) {
      const found = mesh.functions[mesh.functionAt(entry.file, line)];
      assert.ok(found === mesh.functions[index] ||
        (found.lines[0] >= entry.lines[0] && found.lines[1] <= entry.lines[1]), `${entry.qualified}:${line}`);
    }
  });
});

test("a line between functions belongs to none", () => {
  const here = mesh.describe(0, 1);
  assert.deepEqual([here.fn, here.segment, here.stage, here.roles], [null, null, null, []]);
});

test("a line inside a branch on the block id belongs to that role alone", () => {
  const line = mesh.edges[mesh.outgoing[find("mesh::MeshDispatch::Process")]
    .find((index) => mesh.functions[mesh.edges[index].to].name === "RunSubmitRole")].sites[0][0];
  assert.deepEqual(mesh.describe(0, line).roles.map((role) => mesh.roles[role].name), ["submit"]);
});

test("the wait for done flags leads to the publisher", () => {
  const advance = find("mesh::DonePrefix::Advance");
  const line = mesh.sync[1].waiters[0].line;
  const { fn, sync } = mesh.describe(0, line);
  assert.equal(fn, advance);
  assert.equal(sync.length, 1);
  assert.equal(mesh.functions[mesh.partners(sync[0])[0].function].name, "MarkDone");
});

test("at a barrier everybody meets everybody else, once", () => {
  const [one, other] = [find("mesh::MeshDispatch::Init"), find("mesh::MeshDrain::Process")];
  const ends = [one, other].map((fn) => ({ function: fn, file: 0, line: mesh.functions[fn].lines[1] - 1, text: "", segment: null }));
  const met = new ExploreDocument({ ...mesh, sync: [{ id: "b", kind: "barrier", key: "SyncAll", publishers: ends, waiters: ends, class: "exact", complete: true }] });
  const shown = met.syncEndsIn(one, ...mesh.functions[one].lines);
  assert.equal(shown.length, 1);
  assert.deepEqual(met.partners(shown[0]).map((end) => end.function), [other]);
});

test("stage ranges cover all lines and agree with the functions' stages", () => {
  for (let line = 1; line <= mesh.files[0].line_count; ++line) {
    const fn = mesh.functionAt(0, line);
    if (fn !== null && mesh.functions[fn].stage !== null && mesh.functions[fn].kind !== "lambda") {
      assert.equal(mesh.stageAt(0, line), mesh.functions[fn].stage);
    }
  }
});

test("conditions around a whole file are not repeated for each function", () => {
  const guarded = new ExploreDocument({ ...mesh, functions: mesh.functions.map((entry) => ({ ...entry,
    conditions: ["!defined(MESH_DISPATCH_HPP)", ...entry.conditions] })) });
  assert.deepEqual(guarded.conditionsOf(find("mesh::MeshDispatch::Process")), []);
  assert.deepEqual(guarded.conditionsOf(find("mesh::TraceRequest")), ["defined(MESH_ENABLE_TRACE)"]);
});

test("overloads stay apart", () => {
  const both = mesh.functions.filter((entry) => entry.qualified === "mesh::CopyRow");
  assert.equal(both.length, 2);
  assert.notEqual(both[0].id, both[1].id);
});

test("what cannot be shown is refused with a reason", () => {
  assert.throws(() => parseDocument(""), /holds no analysis/);
  assert.throws(() => parseDocument("{"), NoDocument);
  assert.throws(() => parseDocument('{"schema": "crossdock.explore/1", "files": []}'), /no source file/);
  assert.throws(() => parseDocument('{"schema": "other/2"}'), /schema "other\/2"/);
});

test("names for lists", () => {
  assert.equal(shortName("a::B::f"), "f");
  assert.equal(scopedName("a::B::f"), "B::f");
  assert.equal(shortName("a.b.C.__init__"), "__init__");
  assert.equal(shortName("a::B::f::<lambda@1>"), "f::<lambda@1>");
});
