// SPDX-License-Identifier: Apache-2.0
// The page used like a reader uses it.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { belongs, chosenStage, clickLine, findFunction, functionTitle, layered, litText, mesh, useBrowser } from "./harness.js";

const used = useBrowser();

test("choosing a stage moves the function and the source", async () => {
  const page = await used.open(mesh);
  await page.locator("#track-execution").getByRole("button", { name: /^Reorder/ }).click();
  assert.equal(await functionTitle(page), "MeshDispatch::RunReorder");
  assert.match(await litText(page, "lit-here"), /RunReorder\(\)/);
  await page.done();
});

test("choosing a role lights its lane and its branch", async () => {
  const page = await used.open(mesh);
  await page.locator("#track-execution").getByRole("button", { name: /role submit/ }).click();
  assert.equal(await chosenStage(page), "role submit");
  assert.match(await litText(page, "lit-here"), /block_ == submitBlock_/);
  assert.match(await page.locator(".details").innerText(), /RingDoorbell/);
  await page.done();
});

test("choosing a segment lights its lines", async () => {
  const page = await used.open(mesh);
  await findFunction(page, "DrainQueue");
  await page.locator("#track-function .segment .head").nth(1).click();
  assert.match(await belongs(page), /segment 2/);
  assert.notEqual(await litText(page, "lit-segment"), "");
  await page.done();
});

test("a line leads back to segment, function, role, stage and its publisher", async () => {
  const page = await used.open(mesh);
  await findFunction(page, "Advance");
  await clickLine(page, "const uint64_t flag = MESH_LOAD_FLAG(DoneFlagAddress");
  const text = await belongs(page);
  for (const part of [/segment \d+: flag poll/, /DonePrefix::Advance/, /role submit/, /Submit/, /waits for\s+DoneFlagAddress/, /← MarkDone:1099/]) {
    assert.match(text, part);
  }
  await page.locator(".belongs").getByRole("button", { name: /MarkDone/ }).click();
  assert.equal(await functionTitle(page), "MeshDispatch::MarkDone");
  await page.done();
});

test("a line of nothing says that it belongs to none", async () => {
  const page = await used.open(mesh, { hash: "#l=mesh_dispatch.hpp:1" });
  assert.match(await belongs(page), /belongs to none/);
  assert.match(await page.locator("#track-function").innerText(), /belongs to no function/);
  await page.done();
});

test("the call path grows by following and climbs back to the call site", async () => {
  const page = await used.open(mesh);
  await findFunction(page, "RunSubmitRole");
  await page.getByRole("region", { name: "Calls and segments" }).getByRole("button", { name: "MeshDispatch::RingDoorbell", exact: true }).click();
  assert.equal(await functionTitle(page), "MeshDispatch::RingDoorbell");
  await page.getByRole("navigation", { name: "Call path" }).getByRole("button", { name: /RunSubmitRole:1160/ }).click();
  assert.equal(await functionTitle(page), "MeshDispatch::RunSubmitRole");
  assert.match(await litText(page, "lit-here"), /RingDoorbell\(rank, prefix\)/);
  await page.done();
});

test("search counts, steps, wraps and says so", async () => {
  const page = await used.open(mesh);
  await page.getByLabel("What to search").selectOption("text");
  await page.locator("#search").fill("StoreFence()");
  const counts = page.locator(".counts");
  await page.keyboard.press("Enter");
  const total = Number((await counts.innerText()).match(/of (\d+)/)[1]);
  assert.equal(total, 6);
  for (let hit = 1; hit < total; ++hit) await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  assert.match(await counts.innerText(), /of 6, wrapped/);
  await page.keyboard.press("Shift+Enter");
  assert.match(await counts.innerText(), /wrapped/);
  assert.equal(await page.locator(".lit-found-now").innerText(), "StoreFence()");
  await page.getByLabel("What to search").selectOption("regex");
  await page.locator("#search").fill("WriteRequest_v[45]\\(queue");
  await page.keyboard.press("Enter");
  assert.match(await counts.innerText(), /of 2/);
  await page.locator("#search").fill("(");
  assert.match(await counts.innerText(), /not a regular expression/);
  await page.done();
});

test("path from A to B: found, hidden by filters, and none with a reason", async () => {
  const page = await used.open(layered);
  await page.keyboard.press("p");
  await page.locator("#path-from").fill("echelon.buffer.Buffer.dispatch");
  await page.locator("#path-to").fill("put");
  await page.keyboard.press("Tab");
  const drawer = page.locator(".drawer-body");
  assert.match(await drawer.innerText(), /6 steps/);
  await drawer.getByRole("button", { name: "NullTransport::put" }).click();
  assert.equal(await functionTitle(page), "NullTransport::put");
  assert.match(await page.locator("#track-function").innerText(), /suspect: Arguments voided/);
  await page.keyboard.press("f");
  await page.getByRole("checkbox", { name: /name-only/ }).uncheck();
  await page.keyboard.press("p");
  assert.match(await drawer.innerText(), /No path. Only over 2 edges that the filters hide/);
  await drawer.getByRole("button", { name: "Show it all the same" }).click();
  assert.match(await drawer.innerText(), /6 steps/);
  await drawer.getByRole("button", { name: "Swap" }).click();
  assert.match(await drawer.innerText(), /None in this direction/);
  await page.done();
});

test("filters hide edges, and the lists say how many", async () => {
  const page = await used.open(mesh);
  await findFunction(page, "PackPlain");
  assert.equal(await page.getByRole("region", { name: "Calls", exact: true }).locator("li").count(), 2);
  await page.keyboard.press("f");
  await page.getByRole("checkbox", { name: /ambiguous/ }).uncheck();
  assert.match(await page.getByRole("region", { name: "Calls", exact: true }).innerText(), /2 hidden by filters/);
  await page.done();
});

test("marks are worded as suspects and lead to their lines", async () => {
  const page = await used.open(mesh);
  await page.keyboard.press("s");
  await page.locator(".drawer-body").getByRole("button", { name: /MeshDispatch::Process .*SyncAll/ }).click();
  assert.match(await litText(page, "lit-here"), /\/\/ AscendC::SyncAll<true>\(\);/);
  assert.match(await belongs(page), /suspect: Barrier in a comment/);
  await page.done();
});

test("a deep link opens the same place in another page", async () => {
  const page = await used.open(mesh);
  await findFunction(page, "HasCredit");
  await page.keyboard.press("j");
  await page.waitForFunction(() => location.hash.includes("s=1"));
  const hash = await page.evaluate(() => location.hash);
  const [title, text] = [await functionTitle(page), await belongs(page)];
  const other = await used.open(mesh, { hash });
  assert.equal(await functionTitle(other), title);
  assert.equal(await belongs(other), text);
  assert.equal(await other.getByRole("alert").count(), 0);
  await other.done();
  const moved = await used.open(mesh, { hash: hash.replace(/v=\w+/, "v=aaaaaaaaaaaa") });
  assert.match(await moved.getByRole("alert").innerText(), /made on source aaaaaaaaaaaa/);
  assert.equal(await functionTitle(moved), title);
  await moved.done();
  await page.done();
});

test("back and forward", async () => {
  const page = await used.open(mesh);
  await findFunction(page, "MarkDone");
  await findFunction(page, "PostRow");
  await page.keyboard.press("[");
  assert.equal(await functionTitle(page), "MeshDispatch::MarkDone");
  await page.keyboard.press("]");
  assert.equal(await functionTitle(page), "MeshDispatch::PostRow");
  await page.done();
});

test("memory mode: a region with its three sizes, a transfer, a pair", async () => {
  const page = await used.open(layered);
  await page.keyboard.press("m");
  const regions = page.locator("#track-execution");
  assert.match(await regions.innerText(), /requested\s+bytes[\s\S]*reserved\s+reserved_bytes\(bytes\)[\s\S]*registered/);
  await regions.getByRole("button", { name: /local_/ }).first().click();
  assert.match(await litText(page, "lit-here"), /cudaMalloc/);
  await page.locator("#track-function").getByRole("button", { name: /waits wait_rows/ }).click();
  assert.match(await belongs(page), /waits for\s+flag_of/);
  await page.done();
});

test("words by people are shown where they belong, and those that lost their place are listed", async () => {
  const noted = structuredClone(mesh);
  const fn = noted.functions.findIndex((entry) => entry.name === "RunSubmitRole");
  noted.functions[fn].note = "Only this block may ring.";
  noted.functions[fn].segments[1].note = { title: "Prefix", text: "Half-written requests stay unseen." };
  noted.overlay = { path: "notes.json", sha256: "", applied: 2, unmatched: [{ section: "functions", id: "gone#1", reason: "no such function" }] };
  const page = await used.open(noted);
  await findFunction(page, "RunSubmitRole");
  const text = await page.locator("#track-function").innerText();
  assert.match(text, /Only this block may ring/);
  assert.match(text, /Prefix Half-written requests stay unseen/);
  await page.keyboard.press("l");
  assert.match(await page.locator(".drawer-body").innerText(), /gone#1\s+no such function/);
  await page.done();
});

test("positions that the program computed are used", async () => {
  const placed = structuredClone(mesh);
  placed.layouts = [{ graph: "stages", width: 900, height: 900, edges: [],
    nodes: placed.stages.map((_, index) => ({ index, x: 20 + index * 10, y: index * 90, width: 170, height: 50 })) }];
  const page = await used.open(placed);
  await page.getByRole("button", { name: "Graph" }).click();
  assert.equal(await page.locator(".graph .node").nth(3).evaluate((node) => node.style.left), "62px");
  await page.done();
});

test("a served page says when the source on disk has changed", async () => {
  const { pageWith } = await import("./page.js");
  let sha256 = mesh.provenance.sha256;
  const server = createServer((request, response) => {
    const state = request.url === "/state";
    response.setHeader("content-type", state ? "application/json" : "text/html");
    response.end(state ? JSON.stringify({ revision: 1, sha256 }) : pageWith(mesh));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const context = await used.browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.locator(".cm-content").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  sha256 = "0".repeat(64);
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /changed since this page was made/);
  await context.close();
  server.closeAllConnections();
  server.close();
});

test("source that looks like markup stays text", async () => {
  const hostile = structuredClone(mesh);
  const evil = "// </script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>";
  hostile.files[0].text = hostile.files[0].text.replace(/^.*$/m, evil);
  hostile.functions[0].signature = evil;
  const page = await used.open(hostile, { hash: "#l=mesh_dispatch.hpp:1" });
  assert.equal(await litText(page, "lit-here"), evil);
  await findFunction(page, hostile.functions[0].name);
  assert.match(await page.title(), /^mesh_kernel/);
  await page.done();
});

test("Escape leaves the search box, its hits stay until the next one", async () => {
  const page = await used.open(mesh);
  await page.keyboard.press("/");
  await page.keyboard.type("WriteRequest");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  const first = await functionTitle(page);
  await page.keyboard.press("n");
  assert.notEqual(await functionTitle(page), first);
  await page.keyboard.press("N");
  assert.equal(await functionTitle(page), first);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#search").inputValue(), "");
  await page.done();
});

test("names that occur twice are no problem", async () => {
  const twice = structuredClone(mesh);
  for (const stage of twice.stages) Object.assign(stage, { name: "MESH", functions: [...stage.functions, ...stage.functions] });
  for (const role of twice.roles) role.name = "block";
  for (const pair of twice.sync) pair.id = "sync";
  for (const { segments } of twice.functions) {
    for (const segment of segments) Object.assign(segment, { reads: ["x", "x"], writes: ["x", "x"], also: ["guard", "guard"], edges: [...segment.edges, ...segment.edges] });
  }
  const page = await used.open(twice);
  await findFunction(page, "RunSubmitRole");
  for (const key of ["b", "l", "g", "s", "m"]) await page.keyboard.press(key);
  assert.match(await page.locator("#track-function").innerText(), /DoneFlagAddress/);
  await page.done();
});

test("a page without data, and one of another schema, say so", async () => {
  const context = await used.browser.newContext();
  const page = await context.newPage();
  const { templatePath } = await import("./page.js");
  await page.goto(`file://${templatePath()}`);
  assert.match(await page.getByRole("alert").innerText(), /holds no analysis/);
  await context.close();
});

test("with the keyboard alone: which role rings the doorbell, and what must be true before", async () => {
  const page = await used.open(mesh);
  // 1 the glossary; 2 its entry; 3 the reachable place that was found for it; 4 what comes before.
  await page.keyboard.press("g");
  await page.locator(".drawer-body").getByRole("button", { name: /^doorbell/ }).press("Enter");
  await page.locator(".places").getByRole("button", { name: /MeshDispatch::RingDoorbell/ }).press("Enter");
  await page.keyboard.press("b");
  assert.match(await belongs(page), /role submit/);
  const before = await page.getByRole("region", { name: "What must be true before" }).innerText();
  assert.match(before, /called from\s+MeshDispatch::RunSubmitRole:1160/);
  assert.match(before, /made true by\s+MarkDone:1099\s+DoneFlagAddress\s+role pack/);
  assert.match(before, /fence/);
  await page.done();
});
