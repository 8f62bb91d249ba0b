// SPDX-License-Identifier: Apache-2.0
// Pictures of the page in both themes, to be looked at and for docs/explorer.md.
// usage: node test/e2e/shots.js FOLDER [DOCUMENT.json]
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { documentFromInventory } from "../document/from_inventory.js";
import { browserPath, FIXTURES, Pages } from "./page.js";

const [folder, given] = process.argv.slice(2);
const document = given ? JSON.parse(readFileSync(given, "utf8"))
                       : documentFromInventory(join(FIXTURES, "mesh_kernel"), "mesh_kernel");

/** Each picture: its name, and what is done since the one before. */
const STEPS = [
  ["start", async () => {}],
  ["function", async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("RunSubmitRole");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
  }],
  ["doorbell-found", async (page) => {
    await page.keyboard.press("g");
    await page.locator(".drawer-body").getByRole("button", { name: /^doorbell/ }).click();
    await page.locator(".places").getByRole("button", { name: /MeshDispatch::RingDoorbell|role submit/ }).last().click();
  }],
  ["doorbell-before", async (page) => {
    await page.keyboard.press("b");
    await page.keyboard.press("Escape");
  }],
  ["ledger", async (page) => page.keyboard.press("l")],
  ["suspects", async (page) => page.keyboard.press("s")],
  ["path", async (page) => {
    await page.keyboard.press("p");
    await page.locator("#path-from").fill("mesh_dispatch");
    await page.locator("#path-to").fill("RingDoorbell");
    await page.keyboard.press("Tab");
  }],
  ["filters", async (page) => page.keyboard.press("f")],
  ["keys", async (page) => page.keyboard.press("?")],
  ["graph", async (page) => {
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Graph" }).click();
  }],
  ["memory", async (page) => page.keyboard.press("m")],
];

mkdirSync(folder, { recursive: true });
const pages = new Pages();
const browser = await chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox"] });
for (const theme of ["light", "dark"]) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: theme });
  page.on("pageerror", (error) => console.error(error));
  page.setDefaultTimeout(5000);
  await page.goto(pages.write(document));
  for (const [name, act] of STEPS) {
    await act(page).catch((error) => console.error(`${name}: ${error.message.split("\n")[0]}`));
    await page.waitForTimeout(150);
    await page.screenshot({ path: join(folder, `${theme}-${name}.png`) });
  }
  await page.close();
}
await browser.close();
pages.remove();
