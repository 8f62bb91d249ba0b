// SPDX-License-Identifier: Apache-2.0
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** Folder of the package that a module comes from, or null for one of ours. */
function packageOf(id) {
  const match = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id);
  return match && existsSync(join(match[1], "package.json")) ? match[1] : null;
}

/** The page carries the licences of what it is made of, as a comment at its end. */
function licences() {
  const folders = new Set();
  return {
    name: "licences",
    enforce: "post",
    moduleParsed({ id }) {
      const folder = packageOf(id);
      if (folder) folders.add(folder);
    },
    generateBundle(_, bundle) {
      const texts = [...folders].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
        return `${name} ${version} (${license})\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}`;
      });
      const comment = `<!--\nThis page contains:\n\n${texts.join("\n\n").replaceAll("--", "- -")}\n-->\n`;
      for (const asset of Object.values(bundle)) {
        if (asset.fileName.endsWith(".html")) asset.source += comment;
      }
    },
  };
}

// One file without references to anything outside: it is mailed, archived and opened from disk.
export default defineConfig({
  plugins: [svelte(), viteSingleFile({ removeViteModuleLoader: true }), licences()],
  build: { target: "es2022", outDir: "dist", modulePreload: false, reportCompressedSize: false },
});
