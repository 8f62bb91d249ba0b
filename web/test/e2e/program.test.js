// SPDX-License-Identifier: Apache-2.0
// The page as the program itself makes it: EXPLORE_PROGRAM explores the fixtures.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

import { belongs, findFunction, functionTitle } from "./harness.js";
import { browserPath, FIXTURES } from "./page.js";

const program = process.env.EXPLORE_PROGRAM;
const explores = program && spawnSync(program, ["explore", "--help"], { encoding: "utf8" }).stdout.includes("--out");
const skip = explores ? false : "EXPLORE_PROGRAM is not set, or cannot write pages";
const folder = mkdtempSync(join(tmpdir(), "explore-program-"));
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

async function explore(name) {
  const out = join(folder, `${name}.html`);
  const run = spawnSync(program, ["explore", join(FIXTURES, name), "--out", out], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.on("pageerror", (error) => assert.fail(error.message));
  await page.goto(pathToFileURL(out).href);
  await page.locator(".cm-content").waitFor();
  return page;
}

test("which role rings the doorbell, and what must be true before", { skip }, async () => {
  const page = await explore("mesh_kernel");
  await page.keyboard.press("g");
  await page.locator(".drawer-body").getByRole("button", { name: /^doorbell/ }).press("Enter");
  await page.locator(".places").getByRole("button", { name: /role submit/ }).first().press("Enter");
  await page.keyboard.press("b");
  assert.match(await belongs(page), /role submit/);
  const list = await page.getByRole("region", { name: "What must be true before" }).innerText();
  assert.match(list, /MeshDispatch::RunSubmitRole:\d+/);
  assert.match(list, /MarkDone:1099\s+DoneFlagAddress\s+role pack/);
});

test("five roles lie side by side between a fork and a join", { skip }, async () => {
  const page = await explore("mesh_kernel");
  for (const role of ["scan", "pack", "submit", "shared", "poll"]) {
    await page.locator("#track-execution").getByRole("button", { name: new RegExp(`^role ${role} `) }).click();
    assert.match(await belongs(page), new RegExp(`role ${role}`));
  }
});

test("from Python to the kernel", { skip }, async () => {
  const page = await explore("layered_tree");
  await page.keyboard.press("p");
  await page.locator("#path-from").fill("echelon.buffer.Buffer.dispatch");
  await page.locator("#path-to").fill("dispatch_kernel");
  await page.keyboard.press("Tab");
  assert.match(await page.locator(".drawer-body").innerText(), /3 steps/);
  await page.keyboard.press("Escape");
  await findFunction(page, "NullTransport::put");
  assert.equal(await functionTitle(page), "NullTransport::put");
  assert.match(await page.locator("#track-function").innerText(), /suspect/);
});
