// SPDX-License-Identifier: Apache-2.0
// Runs the tests in a browser.   usage: node run.js. Exit code 77 (skipped) when something is missing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { browserPath, templatePath, WEB } from "./page.js";

const here = dirname(fileURLToPath(import.meta.url));
const missing = [
  [existsSync(join(WEB, "node_modules/playwright-core")), "web/node_modules is not there: build the target explore_page"],
  [existsSync(templatePath()), `${templatePath()} is not there: build the target explore_page`],
  [browserPath() !== undefined, "no Chromium: run tools/install-deps"],
].find(([there]) => !there);
if (missing) {
  console.log(`skipped: ${missing[1]}`);
  process.exit(77);
}
// One file after the other: times are measured in one of them.
const files = ["use.test.js", "program.test.js", "quality.test.js"].map((name) => join(here, name));
for (const file of files) {
  const { status } = spawnSync(process.execPath, ["--test", file], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
