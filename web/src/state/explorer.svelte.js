// SPDX-License-Identifier: Apache-2.0
// What is chosen. Every view reads this and calls a choose_() of it; choosing one thing moves all tracks.
import { SvelteSet } from "svelte/reactivity";

import { decodeLink, encodeLink } from "../model/link.js";
import { extendedTrail, guessedTrail } from "./trail.js";

const NOTHING = { stage: null, role: null, focus: null };
const HISTORY_MAX = 500;

export class Explorer {
  mode = $state("execution");
  place = $state.raw({ file: 0, line: 1 });
  fn = $state(null);
  segment = $state(null);
  stage = $state(null);
  role = $state(null);
  /** One more thing that is lit: {kind: "mark"|"sync"|"transfer"|"region"|"edge", index}, or null. */
  focus = $state.raw(null);
  trail = $state.raw([]);
  /** Counts choices made outside the source; the source track scrolls when it changes. */
  reveal = $state(0);
  drawer = $state(null);
  problems = $state.raw([]);
  /** What a path goes between; null until chosen. */
  pathEnds = $state({ from: null, to: null });
  hiddenClasses = new SvelteSet();
  hiddenKinds = new SvelteSet();
  hiddenRules = new SvelteSet();
  #past = [];
  #future = [];

  constructor(explored) {
    this.document = explored;
    this.here = $derived(this.document.describe(this.place.file, this.place.line));
  }

  /** Says whether the filters show the edge. */
  admits = (edge) => !this.hiddenClasses.has(edge.class) && !this.hiddenKinds.has(edge.kind);

  get link() {
    const { mode, place, fn, segment } = this;
    return encodeLink(this.document, { mode, ...place, fn, segment });
  }

  #snapshot() {
    const { mode, place, fn, segment, stage, role, focus, trail } = this;
    return { mode, place, fn, segment, stage, role, focus, trail };
  }

  #go(next, { record = true, reveal = true } = {}) {
    if (record) {
      this.#past.push(this.#snapshot());
      if (this.#past.length > HISTORY_MAX) this.#past.shift();
      this.#future = [];
    }
    Object.assign(this, next);
    if (reveal) this.reveal += 1;
  }

  #trailFor(fn) {
    return fn === this.fn ? this.trail : guessedTrail(this.document, fn);
  }

  #choosePlace(file, line, more = {}, options = {}) {
    const { fn, segment, stage } = this.document.describe(file, line);
    this.#go({ ...NOTHING, place: { file, line }, fn, segment, stage, trail: this.#trailFor(fn), ...more },
             options);
  }

  /** `byReader` is true when the reader put the caret there: the source must not scroll then. */
  chooseLine(file, line, { byReader = false } = {}) {
    this.#choosePlace(file, line, {}, { record: !byReader, reveal: !byReader });
  }

  chooseFunction(fn, more = {}) {
    const { file, name_line: line, stage } = this.document.functions[fn];
    this.#go({ ...NOTHING, place: { file, line }, fn, segment: null, stage, trail: this.#trailFor(fn), ...more });
  }

  chooseSegment(fn, segment) {
    const { file, segments, stage } = this.document.functions[fn];
    this.#go({ ...NOTHING, place: { file, line: segments[segment].lines[0] }, fn, segment, stage,
               trail: this.#trailFor(fn) });
  }

  chooseStage(stage) {
    const [first] = this.document.stages[stage].functions;
    if (first !== undefined) this.chooseFunction(first, { stage });
    else this.#go({ ...NOTHING, stage });
  }

  chooseRole(index) {
    const role = this.document.roles[index];
    const { file } = this.document.functions[role.function];
    this.#choosePlace(file, role.lines[0], { role: index, stage: null });
  }

  chooseMark(index) {
    const mark = this.document.marks[index];
    this.#choosePlace(mark.file, mark.lines[0][0], { focus: { kind: "mark", index } });
  }

  chooseSyncEnd(index, end) {
    this.#choosePlace(end.file, end.line, { focus: { kind: "sync", index } });
  }

  chooseTransfer(index) {
    const { file, line } = this.document.memory.transfers[index];
    this.#choosePlace(file, line, { focus: { kind: "transfer", index } });
  }

  chooseRegion(index) {
    const { file, line } = this.document.memory.regions[index];
    this.#choosePlace(file, line, { focus: { kind: "region", index } });
  }

  /** Shows a call site, in its caller. */
  chooseSite(edge, site = 0) {
    const { from, sites } = this.document.edges[edge];
    const { file } = this.document.functions[from];
    this.#choosePlace(file, sites[site][0], { focus: { kind: "edge", index: edge } });
  }

  /** Goes down a call to what it calls; the call path grows by the caller. */
  follow(edge, site = 0) {
    const trail = extendedTrail(this.document, this.trail, this.fn, edge, site);
    this.chooseFunction(this.document.edges[edge].to, { trail });
  }

  /** Goes back up to a frame of the call path, at its call site. */
  climb(position) {
    const frame = this.trail[position];
    const { file } = this.document.functions[frame.fn];
    this.#choosePlace(file, frame.line, {
      trail: this.trail.slice(0, position), focus: { kind: "edge", index: frame.edge },
    });
  }

  back() {
    const last = this.#past.pop();
    if (!last) return;
    this.#future.push(this.#snapshot());
    this.#go(last, { record: false });
  }

  forward() {
    const next = this.#future.pop();
    if (!next) return;
    this.#past.push(this.#snapshot());
    this.#go(next, { record: false });
  }

  toggleDrawer(name) {
    this.drawer = this.drawer === name ? null : name;
  }

  /** Opens what the address names; the first root when it names nothing. */
  open(hash) {
    const link = decodeLink(this.document, hash);
    this.problems = link?.problems ?? [];
    if (link?.file != null) {
      this.mode = link.mode;
      if (link.segment !== null) this.chooseSegment(link.fn, link.segment);
      else this.#choosePlace(link.file, link.line, link.fn === null ? {} : { fn: link.fn });
      return;
    }
    const root = this.document.roots[this.document.rootOrder[0]]?.function ?? (this.document.functions.length ? 0 : null);
    if (root !== null) this.chooseFunction(root);
  }
}
