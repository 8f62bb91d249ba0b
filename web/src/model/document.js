// SPDX-License-Identifier: Apache-2.0
// The analysis as the page reads it: docs/explorer-schema.md, with the look-ups that the views need.
// Nothing here changes after construction, and nothing knows of the browser.

export const SCHEMA = "crossdock.explore/1";
const LISTS = [
  "analysers", "files", "functions", "edges", "external_calls", "bindings", "roots", "paths", "roles",
  "forks", "stages", "stage_edges", "layouts", "marks", "rules", "sync", "disagreements", "glossary",
  "warnings",
];

/** Why a text cannot be shown. The message is one line for the reader of the page. */
export class NoDocument extends Error {}

/** @param {string} text JSON of schema `crossdock.explore/1`. Throws NoDocument. */
export function parseDocument(text) {
  if (!text.trim()) throw new NoDocument("This page holds no analysis: make one with `crossdock explore PATH --out page.html`.");
  let json;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new NoDocument(`The analysis in this page cannot be read: ${error.message}`);
  }
  if (json.schema !== SCHEMA) {
    throw new NoDocument(`The analysis has schema "${json.schema}"; this page reads "${SCHEMA}".`);
  }
  if (!json.files?.length) throw new NoDocument("The analysis found no source file in what it was given.");
  return new ExploreDocument(json);
}

/** The last part of a qualified name: what fits in a list. */
export function shortName(qualified) {
  const lambda = qualified.match(/(?:::|\.)([^:.]+(?:::|\.)<lambda@\d+>)$/);
  if (lambda) return lambda[1];
  const parts = qualified.split(/::|\./);
  return parts[parts.length - 1];
}

/** "Type::f" or "f": with the scope that tells namesakes apart. */
export function scopedName(qualified) {
  const parts = qualified.split(/(::|\.)/);
  return parts.slice(-3).join("");
}

function pushTo(table, key, value) {
  const list = table.get(key);
  if (list) list.push(value);
  else table.set(key, [value]);
}

export class ExploreDocument {
  constructor(json) {
    Object.assign(this, json);
    for (const name of LISTS) this[name] ??= [];
    this.memory = { regions: [], transfers: [], ...json.memory };
    this.commonConditions = this.files.map(() => null);
    this.functionLines = this.files.map((file) => new Int32Array(file.line_count + 1).fill(-1));
    this.#indexFunctions();
    this.#indexEdges();
    this.#indexPlaces();
    this.rootOrder = this.#orderRoots();
    this.glossaryByKind = new Map(this.glossary.map((entry) => [entry.kind, entry]));
    this.ruleById = new Map(this.rules.map((rule) => [rule.id, rule]));
    this.fileByPath = new Map(this.files.map((file, index) => [file.path, index]));
    this.functionById = new Map(this.functions.map((entry, index) => [entry.id, index]));
  }

  /** First 12 digits of the hash that names the source as a whole. */
  get version() {
    return this.provenance.sha256.slice(0, 12);
  }

  #indexFunctions() {
    // Outer ones first, so that the innermost is what a line keeps.
    const order = this.functions.map((_, index) => index);
    const length = (index) => this.functions[index].lines[1] - this.functions[index].lines[0];
    order.sort((one, other) => length(other) - length(one));
    for (const index of order) {
      const { file, lines, conditions } = this.functions[index];
      this.functionLines[file]?.fill(index, lines[0], lines[1] + 1);
      const common = this.commonConditions[file] ?? conditions;
      const differs = common.findIndex((condition, at) => condition !== conditions[at]);
      this.commonConditions[file] = differs < 0 ? common : common.slice(0, differs);
    }
  }

  /** The `#if` conditions around a function, without those around its whole file (include guards). */
  conditionsOf(fn) {
    const { file, conditions } = this.functions[fn];
    return conditions.slice(this.commonConditions[file].length);
  }

  #indexEdges() {
    this.incoming = this.functions.map(() => []);
    this.outgoing = this.functions.map(() => []);
    this.externalFrom = this.functions.map(() => []);
    this.edges.forEach((edge, index) => {
      this.outgoing[edge.from]?.push(index);
      this.incoming[edge.to]?.push(index);
    });
    this.external_calls.forEach((call, index) => this.externalFrom[call.from]?.push(index));
  }

  /** Indexes of roots: declared ones first, then those from which most is reached. */
  #orderRoots() {
    const reached = this.roots.map(({ function: root }) => {
      const seen = new Set([root]);
      for (const fn of seen) for (const edge of this.outgoing[fn]) seen.add(this.edges[edge].to);
      return seen.size;
    });
    const declared = (index) => (this.roots[index].source === "declared" ? 1 : 0);
    return this.roots.map((_, index) => index).sort((one, other) =>
      declared(other) - declared(one) || reached[other] - reached[one] || one - other);
  }

  #indexPlaces() {
    this.marksByFunction = new Map();
    this.marksByFile = new Map();
    this.marks.forEach((mark, index) => {
      if (mark.function !== null) pushTo(this.marksByFunction, mark.function, index);
      pushTo(this.marksByFile, mark.file, index);
    });
    this.syncByFunction = new Map();
    this.sync.forEach((pair, index) => {
      for (const side of ["publishers", "waiters"]) {
        pair[side].forEach((end, position) =>
          pushTo(this.syncByFunction, end.function, { index, side, position, line: end.line }));
      }
    });
    this.transfersByFunction = new Map();
    this.memory.transfers.forEach((transfer, index) =>
      pushTo(this.transfersByFunction, transfer.function, index));
  }

  /** Innermost function that holds the line, or null. */
  functionAt(file, line) {
    const index = this.functionLines[file]?.[line] ?? -1;
    return index < 0 ? null : index;
  }

  /** Position of the segment that holds the line in the function's list, or null. */
  segmentAt(fn, line) {
    if (fn === null) return null;
    const { segments } = this.functions[fn];
    let low = 0;
    let high = segments.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const [first, last] = segments[middle].lines;
      if (line < first) high = middle - 1;
      else if (line > last) low = middle + 1;
      else return middle;
    }
    return null;
  }

  /** Index of the stage that holds the line, or null for "none". */
  stageAt(file, line) {
    const ranges = this.files[file].line_stages;
    let low = 0;
    let high = ranges.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const [first, last, stage] = ranges[middle];
      if (line < first) high = middle - 1;
      else if (line > last) low = middle + 1;
      else return stage < 0 ? null : stage;
    }
    return null;
  }

  /** Roles that execute the line: those whose branch holds it, else those of its function. */
  rolesAt(file, line) {
    const fn = this.functionAt(file, line);
    if (fn === null) return [];
    const branches = [];
    this.roles.forEach((role, index) => {
      if (role.function === fn && line >= role.lines[0] && line <= role.lines[1]) branches.push(index);
    });
    return branches.length ? branches : this.functions[fn].roles;
  }

  marksAt(file, line) {
    return (this.marksByFile.get(file) ?? []).filter((index) =>
      this.marks[index].lines.some(([first, last]) => line >= first && line <= last));
  }

  /** Ends of synchronisation pairs in a range of a function: {index, side, position, line}. */
  syncIn(fn, first, last) {
    return (this.syncByFunction.get(fn) ?? []).filter((end) => end.line >= first && end.line <= last);
  }

  /** The ends to be shown: whoever comes to a barrier both publishes and waits, and is named once. */
  syncEnds(ends) {
    return ends.filter(({ index, side, line }) => this.sync[index].kind !== "barrier" || side === "waiters" ||
      !ends.some((other) => other.index === index && other.side === "waiters" && other.line === line));
  }

  syncEndsIn(fn, first, last) {
    return this.syncEnds(this.syncIn(fn, first, last));
  }

  transfersIn(fn, first, last) {
    return (this.transfersByFunction.get(fn) ?? []).filter((index) => {
      const { line } = this.memory.transfers[index];
      return line >= first && line <= last;
    });
  }

  /** Everything that a line belongs to. Every field is an index, a list of them, or null: "none". */
  describe(file, line) {
    const fn = this.functionAt(file, line);
    const segment = this.segmentAt(fn, line);
    const [first, last] = segment === null ? [line, line] : this.functions[fn].segments[segment].lines;
    const transfers = fn === null ? [] : this.transfersIn(fn, first, last);
    const regions = new Set();
    for (const index of transfers) {
      const { source, target } = this.memory.transfers[index];
      for (const end of [source, target]) if (end?.region != null) regions.add(end.region);
    }
    this.memory.regions.forEach((region, index) => {
      if (region.file === file && region.line === line) regions.add(index);
    });
    return {
      file, line, fn, segment, transfers,
      stage: this.stageAt(file, line),
      roles: this.rolesAt(file, line),
      marks: this.marksAt(file, line),
      sync: fn === null ? [] : this.syncIn(fn, first, last),
      regions: [...regions],
    };
  }

  /** Ends that wait where this one publishes, or publish where it waits; at a barrier, all others. */
  partners(end) {
    const pair = this.sync[end.index];
    const others = pair[end.side === "publishers" ? "waiters" : "publishers"];
    if (pair.kind !== "barrier") return others;
    const self = pair[end.side][end.position];
    return others.filter((one) => one.function !== self.function || one.line !== self.line);
  }
}
