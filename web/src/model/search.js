// SPDX-License-Identifier: Apache-2.0
// Search over names or over all text. Hits are in file order, so that next and previous mean something.

export const SEARCH_KINDS = ["symbol", "text", "regex"];
const HITS_MAX = 20000;

/** @typedef {{file: number, line: number, column: number, length: number, fn: ?number}} Hit */

function symbolHits(document, query) {
  const needle = query.toLowerCase();
  const hits = [];
  document.functions.forEach((entry, fn) => {
    if (entry.qualified.toLowerCase().includes(needle)) {
      hits.push({ file: entry.file, line: entry.name_line, column: 0, length: 0, fn });
    }
  });
  for (const hit of hits) placeName(document, hit);
  return rank(document, hits, needle);
}

/** Columns of the name in its line, for the mark in the source. */
function placeName(document, hit) {
  const { name } = document.functions[hit.fn];
  const text = lineText(document, hit.file, hit.line);
  hit.column = Math.max(0, text.indexOf(name));
  hit.length = text.includes(name) ? name.length : text.length;
}

/** Exact names first, then beginnings, then the rest; file order within each. */
function rank(document, hits, needle) {
  const weight = ({ fn }) => {
    const name = document.functions[fn].name.toLowerCase();
    return name === needle ? 0 : name.startsWith(needle) ? 1 : name.includes(needle) ? 2 : 3;
  };
  return hits.map((hit) => [weight(hit), hit]).sort((a, b) => a[0] - b[0]).map(([, hit]) => hit);
}

const lineCache = new WeakMap();
/** Lines of a file's text, split once. */
export function linesOf(file) {
  let lines = lineCache.get(file);
  if (!lines) lineCache.set(file, (lines = (file.text ?? "").split("\n")));
  return lines;
}

export function lineText(document, file, line) {
  return linesOf(document.files[file])[line - 1] ?? "";
}

function patternHits(document, pattern) {
  const hits = [];
  let total = 0;
  document.files.forEach((file, index) => {
    linesOf(file).forEach((text, row) => {
      pattern.lastIndex = 0;
      for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
        if (found[0].length === 0) {
          pattern.lastIndex += 1;
          continue;
        }
        total += 1;
        if (hits.length < HITS_MAX) {
          hits.push({ file: index, line: row + 1, column: found.index, length: found[0].length, fn: null });
        }
      }
    });
  });
  return { hits, total };
}

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/**
 * @returns {{hits: Hit[], total: number, error: ?string}} `total` counts hits beyond the list, too.
 * Text search ignores case unless the query has a capital letter.
 */
export function search(document, kind, query) {
  if (!query) return { hits: [], total: 0, error: null };
  if (kind === "symbol") {
    const hits = symbolHits(document, query);
    return { hits, total: hits.length, error: null };
  }
  const flags = /[A-Z]/.test(query) ? "g" : "gi";
  try {
    const pattern = new RegExp(kind === "regex" ? query : escape(query), flags);
    return { ...patternHits(document, pattern), error: null };
  } catch (error) {
    return { hits: [], total: 0, error: error.message };
  }
}

/** The hit to begin with: the first at or behind the place, else the first of all. */
export function firstHitAfter(hits, place) {
  const index = hits.findIndex(({ file, line }) =>
    file > place.file || (file === place.file && line >= place.line));
  return index < 0 ? 0 : index;
}

/** One step in a ring: {index, wrapped}. */
export function step(index, count, by) {
  const next = (index + by + count) % count;
  return { index: next, wrapped: by > 0 ? next < index || count === 1 : next > index || count === 1 };
}
