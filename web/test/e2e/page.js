// SPDX-License-Identifier: Apache-2.0
// A page file made the way the program makes it, opened in a headless browser.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const WEB = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const FIXTURES = join(WEB, "../tests/explore/fixtures");
const SLOT = '<script type="application/json" id="explore-data"></script>';
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const browserPath = () => process.env.EXPLORE_BROWSER ?? BROWSERS.find(existsSync);
export const templatePath = () => process.env.EXPLORE_PAGE ?? join(WEB, "dist/index.html");

/** The page's text with the document in its slot; the slot must be there exactly once. */
export function pageWith(document) {
  const parts = readFileSync(templatePath(), "utf8").split(SLOT);
  if (parts.length !== 2) throw new Error(`${templatePath()}: ${parts.length - 1} slots for the data; must be 1`);
  const data = JSON.stringify(document).replaceAll("<", "\\u003c");
  return parts[0] + SLOT.replace("></", `>${data}</`) + parts[1];
}

export class Pages {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "explore-page-"));
    this.count = 0;
  }

  /** Writes the page; returns its address. */
  write(document) {
    const path = join(this.folder, `page-${(this.count += 1)}.html`);
    writeFileSync(path, pageWith(document));
    return pathToFileURL(path).href;
  }

  remove() {
    rmSync(this.folder, { recursive: true });
  }
}
