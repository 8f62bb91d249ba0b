// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before } from "node:test";

import { chromium } from "playwright-core";

import { documentFromInventory } from "../document/from_inventory.js";
import { browserPath, FIXTURES, Pages } from "./page.js";

export const mesh = documentFromInventory(join(FIXTURES, "mesh_kernel"), "mesh_kernel");
export const layered = documentFromInventory(join(FIXTURES, "layered_tree"), "layered_tree");

/** One browser for a file of tests; every page fails on errors and on any request to a network. */
export function useBrowser() {
  const pages = new Pages();
  const used = { browser: null };
  before(async () => {
    used.browser = await chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox"] });
  });
  after(async () => {
    await used.browser?.close();
    pages.remove();
  });
  used.open = async (document, { hash = "", scheme = "light", ...options } = {}) => {
    const context = await used.browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: scheme, ...options });
    const page = await context.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
    page.on("request", (request) => /^(https?|ws):/.test(request.url()) && problems.push(`request: ${request.url()}`));
    page.done = async () => {
      await context.close();
      assert.deepEqual(problems, []);
    };
    await page.goto(pages.write(document) + hash);
    await page.locator(".cm-content").waitFor();
    return page;
  };
  return used;
}

export const functionTitle = (page) => page.locator("#track-function .title h3").innerText();
export const belongs = (page) => page.locator(".belongs").innerText();
export const chosenStage = (page) => page.locator('#track-execution [aria-current="true"] .name').first().innerText();
export const litText = async (page, name) => (await page.locator(`.cm-line.${name}`).allInnerTexts()).join("\n");

export async function findFunction(page, name) {
  await page.keyboard.press("/");
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
  await page.locator("#search").evaluate((box) => box.blur());
}

/** Clicks a line of source by its text. */
export async function clickLine(page, text) {
  await page.locator(".cm-line", { hasText: text }).first().click({ position: { x: 40, y: 8 } });
}
