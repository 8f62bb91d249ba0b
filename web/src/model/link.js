// SPDX-License-Identifier: Apache-2.0
// Deep links: #v=<source>&mode=..&f=<function id>&s=<segment>&l=<path>:<line>. Ids survive edits
// elsewhere; `v` says which source the link was made on.

/** @param place {mode, file, line, fn, segment} */
export function encodeLink(document, { mode, file, line, fn, segment }) {
  const parts = [["v", document.version], ["mode", mode]];
  if (fn !== null) parts.push(["f", document.functions[fn].id]);
  if (segment !== null) parts.push(["s", String(segment + 1)]);
  parts.push(["l", `${document.files[file].path}:${line}`]);
  return "#" + parts.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
}

function readLine(document, text) {
  const match = /^(.*):(\d+)$/.exec(text ?? "");
  const file = match ? document.fileByPath.get(match[1]) : undefined;
  if (file === undefined) return null;
  return { file, line: Math.min(Number(match[2]), document.files[file].line_count) };
}

/**
 * @returns null for an empty hash, else {mode, file, line, fn, segment, problems}; what no longer
 * exists is null and named in `problems`.
 */
export function decodeLink(document, hash) {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  if (![...values.keys()].length) return null;
  const problems = [];
  const version = values.get("v");
  if (version && version !== document.version) {
    problems.push(`This link was made on source ${version}; this page shows ${document.version}.`);
  }
  let fn = null;
  if (values.has("f")) {
    fn = document.functionById.get(values.get("f")) ?? null;
    if (fn === null) problems.push(`No function ${values.get("f")} in this source.`);
  }
  const segments = fn === null ? [] : document.functions[fn].segments;
  const number = Number(values.get("s"));
  const segment = values.has("s") && number >= 1 && number <= segments.length ? number - 1 : null;
  let place = readLine(document, values.get("l"));
  if (values.has("l") && !place) problems.push(`No line ${values.get("l")} in this source.`);
  if (fn !== null) {
    // The id survives edits that move lines; the line does not.
    const entry = document.functions[fn];
    const inside = place && place.file === entry.file &&
      place.line >= entry.lines[0] && place.line <= entry.lines[1];
    if (segment !== null) place = { file: entry.file, line: segments[segment].lines[0] };
    else if (!inside) place = { file: entry.file, line: entry.name_line };
  }
  const mode = values.get("mode") === "memory" ? "memory" : "execution";
  return { mode, file: place?.file ?? null, line: place?.line ?? null, fn, segment, problems };
}
