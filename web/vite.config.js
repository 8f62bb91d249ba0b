// SPDX-License-Identifier: Apache-2.0
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// One file without references to anything outside: it is mailed, archived and opened from disk.
export default defineConfig({
  plugins: [svelte(), viteSingleFile({ removeViteModuleLoader: true })],
  build: { target: "es2022", outDir: "dist", modulePreload: false, reportCompressedSize: false },
});
