// SPDX-License-Identifier: Apache-2.0
// Makes a document (docs/explorer-schema.md) from a hand-written inventory, so that the page can be
// tested without the analyser. What an inventory does not say (segments, stages) is cut here by rules
// of thumb: good enough to click on, no statement about the source.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { GLOSSARY, RULES, STAGES } from "./tables.js";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

const MECHANISMS = [
  ["barrier", /SyncAll|__syncthreads|PipeBarrier/],
  ["fence", /StoreFence\(|__threadfence|DataSyncBarrier|\bquiet\(/],
  ["flag_poll", /while \((MESH_LOAD_FLAG|load_acquire)|word = MESH_LOAD_FLAG|const uint64_t flag =/],
  ["flag_write", /MESH_STORE_FLAG|store_release|\*flag = value/],
  ["doorbell", /\*doorbell =|DataCacheCleanAndInvalid\(doorbell\)/],
  ["work_request", /request->|WriteRequest_v\d\(/],
  ["reserve", /AtomicAdd/],
  ["prefix_sum", /PrefixSum|running \+=/],
  ["copy", /DataCopy|CopyRow\(|memcpy|put_row\(|\.put\(/],
  ["launch", /<<</],
  ["allocate", /InitBuffer\(|cudaMalloc|make_unique/],
  ["exit", /^\s*(return|continue|throw|raise)\b/],
  ["guard", /^\s*(\} else )?if\b|\belse\b/],
  ["loop", /^\s*(for|while|MESH_FOR_EACH_PEER)\b/],
];

const mechanismsOf = (text) =>
  MECHANISMS.filter(([, pattern]) => pattern.test(text)).map(([kind]) => kind);

function language(path) {
  if (path.endsWith(".py")) return "python";
  if (/\.cuh?$/.test(path)) return "cuda";
  return path.endsWith(".c") ? "c" : path.startsWith("mesh_") ? "ascendc" : "c++";
}

function file(path, text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const kinds = { code: 0, comment: 0, blank: 0, preprocessor: 0 };
  for (const line of lines) {
    if (!line.trim()) kinds.blank += 1;
    else if (/^\s*(\/\/|\/\*|\*|# )/.test(line)) kinds.comment += 1;
    else if (/^\s*#/.test(line)) kinds.preprocessor += 1;
    else kinds.code += 1;
  }
  return { path, language: language(path), sha256: sha256(text), bytes: text.length,
           line_count: lines.length, text, encoding: "utf-8", masked: [], unparsed: [],
           line_stages: [], line_kinds: kinds };
}

/** Cuts a body where a statement with a mechanism of its own begins. */
function segmentsOf(id, [first, last], lines) {
  const cuts = [first];
  const depthAt = (line) => Math.max(0, Math.round((lines[line - 1].search(/\S|$/) - 4) / 4));
  for (let line = first + 1; line <= last; ++line) {
    const kinds = mechanismsOf(lines[line - 1]);
    const before = mechanismsOf(lines[line - 2]);
    const changes = kinds.length > 0 && kinds[0] !== before[0];
    if (changes && lines[line - 1].trim() && depthAt(line) < 3) cuts.push(line);
  }
  return cuts.map((start, index) => {
    const end = (cuts[index + 1] ?? last + 1) - 1;
    const text = lines.slice(start - 1, end);
    const kinds = [...new Set(text.flatMap(mechanismsOf))];
    const written = [...new Set(text.flatMap((line) => /^\s*(?:[\w<>:*&]+\s+)*\*?(\w+)(?:\.\w+)? [-+]?= /.exec(line)?.[1] ?? []))];
    const read = [...new Set(text.flatMap((line) => line.replace(/^.*? = /, "").match(/\b[a-z]\w*_?\b(?!\()/g) ?? []))]
      .filter((name) => !written.includes(name) && !/^(const|auto|return|if|else|for|while|uint\w*|int\w*|static_cast|reinterpret_cast|template)$/.test(name));
    return { id: `${id}/${index + 1}`, lines: [start, end], mechanism: kinds[0] ?? "straight",
             also: kinds.slice(1), head: (text.find((line) => /\w/.test(line)) ?? text[0]).trim(),
             depth: depthAt(start), reads: read.slice(0, 6), writes: written.slice(0, 6), edges: [],
             external_calls: [], spaces: kinds.includes("copy") ? ["local", "global"] : null, note: null };
  });
}

function functionOf(entry, fileIndex, lines) {
  const { qualified, lines: span } = entry;
  const id = `${qualified}#${sha256(entry.file + qualified + entry.text).slice(0, 8)}`;
  let open = entry.line;
  while (entry.kind !== "macro" && open < span[1] && !lines[open - 1].includes("{")) open += 1;
  const body = entry.file.endsWith(".py") ? [Math.min(entry.line + 1, span[1]), span[1]] : [open, span[1]];
  const parameters = [...entry.text.matchAll(/(\w+)(?=[,)])/g)].map(([name]) => ({ name, type: "", read: true }));
  return { id, name: qualified.split(/::|\./).at(-1), qualified, signature: entry.text, kind: entry.kind,
           language: language(entry.file), execution: entry.execution, template: false, file: fileIndex,
           lines: span, name_line: entry.line, signature_lines: [span[0], body[0]], body_lines: body,
           parent: null, parameters, conditions: entry.conditions ?? [],
           compiled_out: entry.compiled_out ?? false, body_hash: sha256(id).slice(0, 16),
           found_by: ["tree-sitter", "scanner"], declarations: [], reach: "reachable", roots: [0],
           roles: [], stage: null, segments: segmentsOf(id, body, lines), note: null };
}

class Maker {
  constructor(folder) {
    this.golden = JSON.parse(readFileSync(join(folder, "golden.json"), "utf8"));
    this.files = this.golden.files.map(({ path }) => file(path, readFileSync(join(folder, path), "utf8")));
    this.lines = this.files.map((entry) => entry.text.split("\n"));
    this.fileOf = (path) => this.files.findIndex((entry) => entry.path === path);
    this.functions = this.golden.functions.map((entry) =>
      functionOf(entry, this.fileOf(entry.file), this.lines[this.fileOf(entry.file)]));
    this.functions.sort((one, other) => one.file - other.file || one.lines[0] - other.lines[0]);
  }

  find(qualified, line) {
    return this.functions.findIndex((entry) =>
      entry.qualified === qualified && (line === undefined || entry.name_line === line));
  }

  edges() {
    const edges = new Map();
    for (const entry of this.golden.edges) {
      const [from, to] = [this.find(entry.from, entry.from_line), this.find(entry.to, entry.to_line)];
      const key = `${from} ${to} ${entry.form}`;
      const text = this.lines[this.fileOf(entry.file)][entry.line - 1];
      const name = this.functions[to].name;
      const site = [entry.line, Math.max(0, text.indexOf(name)), text.includes(name) ? name.length : text.trim().length];
      if (edges.has(key)) edges.get(key).sites.push(site);
      else edges.set(key, { from, to, class: entry.class, kind: "control", form: entry.form, sites: [site],
                            alternatives: [], conditions: [], sync: null });
    }
    this.edgeList = [...edges.values()];
    this.edgeList.forEach((edge, index) => {
      for (const segment of this.functions[edge.from].segments) {
        const inside = edge.sites.some(([line]) => line >= segment.lines[0] && line <= segment.lines[1]);
        if (inside) segment.edges.push(index);
      }
    });
    return this.edgeList;
  }

  reachFrom(start) {
    const seen = new Set([start]);
    for (const fn of seen) for (const edge of this.edgeList) if (edge.from === fn) seen.add(edge.to);
    return [...seen].sort((one, other) => one - other);
  }

  roles() {
    return this.golden.roles.map((entry, index) => {
      const fn = this.find(entry.function);
      const next = this.golden.roles[index + 1]?.line ?? entry.line + 2;
      const functions = this.reachFrom(this.find(entry.entry));
      for (const member of functions) this.functions[member].roles.push(index);
      return { id: `${entry.function}/${entry.name}`, name: entry.name, function: fn, condition: entry.text.replace(/^\} else |\{$/g, "").trim(),
               axis: entry.axis, lines: [entry.line, next - 1], entry: this.find(entry.entry), functions,
               parent: null, class: "exact" };
    });
  }

  stages(roles) {
    const stages = STAGES.map(([name, pattern], order) => {
      const functions = this.functions.flatMap((entry, index) => pattern.test(entry.qualified) ? [index] : []);
      const free = functions.filter((index) => this.functions[index].stage === null);
      for (const index of free) this.functions[index].stage = order;
      const executed = roles.flatMap((role, index) => free.includes(role.entry) ? [index] : []);
      return { id: `stage-${order + 1}`, name, source: "proposed", order, functions: free, roles: executed,
               lines: 0, mechanisms: [], summary: null };
    });
    const kept = stages.filter((stage) => stage.functions.length > 0);
    kept.forEach((stage, index) => {
      stage.order = index;
      for (const fn of stage.functions) this.functions[fn].stage = index;
      const kinds = stage.functions.flatMap((fn) => this.functions[fn].segments.map((part) => part.mechanism));
      stage.mechanisms = [...new Set(kinds)].filter((kind) => kind !== "straight").slice(0, 6);
    });
    this.files.forEach((entry, index) => this.#lineStages(entry, index, kept));
    return kept;
  }

  #lineStages(entry, index, stages) {
    const of = new Int32Array(entry.line_count + 1).fill(-1);
    for (const fn of this.functions) if (fn.file === index && fn.stage !== null) of.fill(fn.stage, fn.lines[0], fn.lines[1] + 1);
    for (let first = 1; first <= entry.line_count;) {
      let last = first;
      while (last < entry.line_count && of[last + 1] === of[first]) last += 1;
      entry.line_stages.push([first, last, of[first]]);
      if (of[first] >= 0) stages[of[first]].lines += last - first + 1;
      first = last + 1;
    }
  }

  segmentAt(fn, line) {
    const position = this.functions[fn].segments.findIndex(({ lines: [first, last] }) => line >= first && line <= last);
    return position < 0 ? null : position;
  }

  sync() {
    const end = (key) => (qualified) => {
      const fn = this.find(qualified);
      const { file: index, lines: [first, last] } = this.functions[fn];
      let line = first;
      while (line < last && !this.lines[index][line - 1].includes(`${key}(`)) line += 1;
      return { function: fn, file: index, line, text: this.lines[index][line - 1].trim(), segment: this.segmentAt(fn, line) };
    };
    return this.golden.sync.map((pair, index) => ({
      id: `sync-${index + 1}`, kind: pair.kind, key: pair.key, publishers: pair.publishers.map(end(pair.key)),
      waiters: pair.waiters.map(end(pair.key)), class: "name-only",
      complete: pair.publishers.length > 0 && pair.waiters.length > 0,
    }));
  }

  stageEdges(sync) {
    const seen = new Map();
    const add = (from, to, kind, evidence) => {
      if (from == null || to == null || from === to) return;
      const key = `${from} ${to} ${kind}`;
      if (!seen.has(key)) seen.set(key, { from, to, kind, class: "exact", edges: [] });
      if (evidence !== null) seen.get(key).edges.push(evidence);
    };
    this.edgeList.forEach((edge, index) =>
      add(this.functions[edge.from].stage, this.functions[edge.to].stage, edge.kind, index));
    for (const { publishers, waiters } of sync)
      for (const from of publishers) for (const to of waiters)
        add(this.functions[from.function].stage, this.functions[to.function].stage, "sync", null);
    return [...seen.values()];
  }

  marks() {
    return this.golden.marks.map((entry, index) => {
      const fn = entry.function ? this.find(entry.function, undefined) : -1;
      const at = this.functions.findIndex((one) => one.qualified === entry.function &&
        entry.line >= one.lines[0] && entry.line <= one.lines[1]);
      const target = at >= 0 ? at : fn;
      return { id: `${entry.rule}@${index}`, rule: entry.rule, function: target < 0 ? null : target,
               file: this.fileOf(entry.file), lines: [[entry.line, entry.line]], text: entry.text,
               related: (entry.related ?? []).map((name) => this.find(name)) };
    });
  }

  memory(sync) {
    const regions = (this.golden.memory?.regions ?? []).map((entry) => ({
      id: `region-${entry.name}`, name: entry.name, space: "global", function: this.find(entry.function),
      file: this.fileOf(entry.file), line: entry.line, requested: entry.requested, reserved: entry.reserved,
      written: entry.written, lifetime: "object", allocator: "cudaMalloc", class: "exact", kernel_arguments: [],
      registered: [{ file: this.fileOf(entry.file), line: entry.registered_line, text: "cudaIpcGetMemHandle" }],
    }));
    const transfers = this.functions.flatMap((entry, fn) => entry.segments.flatMap((segment, position) => {
      if (!segment.mechanism.startsWith("copy") && !segment.also.includes("copy")) return [];
      const lines = this.lines[entry.file].slice(segment.lines[0] - 1, segment.lines[1]);
      const offset = lines.findIndex((text) => /DataCopy|CopyRow\(|memcpy|put_row\(|\.put\(/.test(text));
      const [target, source, length] = (/\((.*)\)/.exec(lines[offset])?.[1] ?? "").split(",").map((text) => text.trim());
      const publish = sync.findIndex((pair) => pair.publishers.some((end) => end.function === fn));
      return [{ function: fn, file: entry.file, line: segment.lines[0] + offset,
                source: { text: source ?? "?", space: "global", region: null },
                target: { text: target ?? "?", space: "window", region: regions.length ? 0 : null },
                length: length ?? null, engine: "bulk_copy", sync: publish < 0 ? null : publish,
                segment: position, class: "name-only" }];
    }));
    return { regions, transfers };
  }
}

function ledger(files, functions, stages, edges) {
  const lines = files.reduce((sum, entry) => sum + entry.line_count, 0);
  const byKind = {};
  for (const entry of files) for (const [kind, count] of Object.entries(entry.line_kinds)) byKind[kind] = (byKind[kind] ?? 0) + count;
  const staged = stages.map((stage, index) => ({ stage: index, lines: stage.lines }));
  const byClass = {};
  for (const edge of edges) byClass[edge.class] = (byClass[edge.class] ?? 0) + 1;
  const span = ({ lines: [first, last] }) => last - first + 1;
  const byReach = { root: 0, reachable: 0, unreachable: 0 };
  for (const entry of functions) byReach[entry.reach] += span(entry);
  const none = lines - staged.reduce((sum, entry) => sum + entry.lines, 0);
  return { lines, by_kind: byKind, by_stage: [...staged, { stage: -1, lines: none }], edges_by_class: byClass,
           in_functions: functions.reduce((sum, entry) => sum + span(entry), 0), in_segments: 0,
           by_reach: byReach, masked_lines: 0, unparsed_lines: 0, files_skipped: 0 };
}

/** @param folder a fixture with a golden.json. */
export function documentFromInventory(folder, name) {
  const maker = new Maker(folder);
  const edges = maker.edges();
  const roots = (maker.golden.roots ?? maker.golden.paths?.map((path) => path.root).filter((root, index, all) => all.indexOf(root) === index) ?? [])
    .map((root) => ({ function: maker.find(root), source: "guessed", reason: "kernel entry or public name" }));
  const reached = new Set(roots.flatMap((root) => maker.reachFrom(root.function)));
  maker.functions.forEach((entry, index) => {
    entry.reach = roots.some((root) => root.function === index) ? "root" : reached.has(index) ? "reachable" : "unreachable";
  });
  const roles = maker.roles();
  const stages = maker.stages(roles);
  const sync = maker.sync();
  const forks = roles.length
    ? [{ function: roles[0].function, line: roles[0].lines[0], join_line: null, join: "end", roles: roles.map((_, index) => index) }]
    : [];
  const { files, functions } = maker;
  return {
    schema: "crossdock.explore/1", generator: { program: "from_inventory", version: "0" },
    provenance: { name, paths: [name], command: `crossdock explore ${name}`, commit: "0123456789abcdef0123456789abcdef01234567",
                  dirty: false, sha256: sha256(files.map((entry) => `${entry.sha256}  ${entry.path}\n`).join("")) },
    analysers: [{ name: "tree-sitter", used: true, version: "0.20", reason: null }, { name: "ctags", used: false, version: null, reason: "not asked for" }],
    files, functions, edges, external_calls: [], bindings: [], roots, paths: [], roles, forks, stages,
    stage_edges: maker.stageEdges(sync), layouts: [], marks: maker.marks(), rules: RULES, sync,
    memory: maker.memory(sync), disagreements: [{ file: 0, line: functions[0].name_line, name: functions[0].name,
      found_by: ["scanner"], missing_in: ["ctags"], reason: "an operator" }],
    ledger: ledger(files, functions, stages, edges), glossary: GLOSSARY, overlay: null, warnings: [],
  };
}
