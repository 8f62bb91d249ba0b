// SPDX-License-Identifier: Apache-2.0
// Pictures of the page in both themes, to be looked at.   usage: node test/e2e/shots.js FOLDER [DOCUMENT]
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { documentFromInventory } from "../document/from_inventory.js";
import { browserPath, FIXTURES, Pages } from "./page.js";

const [folder, given] = process.argv.slice(2);
const document = given ? JSON.parse(readFileSync(given, "utf8"))
                       : documentFromInventory(join(FIXTURES, "mesh_kernel"), "mesh_kernel");
mkdirSync(folder, { recursive: true });
const pages = new Pages();
const browser = await chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox"] });
for (const theme of ["light", "dark"]) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: theme });
  page.on("pageerror", (error) => console.error(error));
  await page.goto(pages.write(document));
  const shot = (name) => page.screenshot({ path: join(folder, `${theme}-${name}.png`) });
  await shot("start");
  await page.keyboard.press("/");
  await page.keyboard.type("RunSubmitRole");
  await page.keyboard.press("Enter");
  await page.locator("body").press("Escape");
  await page.locator("#track-function").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await shot("function");
  await page.keyboard.press("b");
  await page.keyboard.press("g");
  await page.getByRole("button", { name: /^Doorbell/ }).click();
  await shot("glossary");
  await page.keyboard.press("l");
  await shot("ledger");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Graph" }).click();
  await shot("graph");
  await page.keyboard.press("m");
  await page.keyboard.press("s");
  await shot("memory");
  await page.close();
}
await browser.close();
pages.remove();
