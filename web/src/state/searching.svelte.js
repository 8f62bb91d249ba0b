// SPDX-License-Identifier: Apache-2.0
import { firstHitAfter, search, step } from "../model/search.js";

/** The search box's state; hits are walked in a ring. */
export class Searching {
  kind = $state("symbol");
  query = $state("");
  hits = $state.raw([]);
  total = $state(0);
  error = $state(null);
  index = $state(-1);
  wrapped = $state(false);

  constructor(explorer) {
    this.explorer = explorer;
  }

  run() {
    const { hits, total, error } = search(this.explorer.document, this.kind, this.query);
    Object.assign(this, { hits, total, error, index: -1, wrapped: false });
  }

  setKind(kind) {
    this.kind = kind;
    this.run();
  }

  show(index) {
    this.index = index;
    const { file, line, fn } = this.hits[index];
    if (fn !== null) this.explorer.chooseFunction(fn);
    else this.explorer.chooseLine(file, line);
  }

  move(by) {
    const count = this.hits.length;
    if (count === 0) return;
    if (this.index < 0) {
      this.wrapped = false;
      this.show(this.kind === "symbol" || by < 0 ? (by < 0 ? count - 1 : 0)
                                                  : firstHitAfter(this.hits, this.explorer.place));
      return;
    }
    const next = step(this.index, count, by);
    this.wrapped = next.wrapped;
    this.show(next.index);
  }

  clear() {
    this.query = "";
    this.run();
  }
}
