// SPDX-License-Identifier: Apache-2.0
// The call path shown as breadcrumbs: frames {fn, line, edge, guessed}, outermost first. `line` is the
// call site that led on; a guessed frame was not walked but is the shortest way from a root.
import { pathFromRoot } from "../model/paths.js";

export function guessedTrail(document, fn) {
  if (fn === null) return [];
  return pathFromRoot(document, fn).map((edge) => ({
    fn: document.edges[edge].from, line: document.edges[edge].sites[0][0], edge, guessed: true,
  }));
}

/** The trail after a call was followed from its caller. */
export function extendedTrail(document, trail, current, edge, site) {
  const { from } = document.edges[edge];
  const frame = { fn: from, line: document.edges[edge].sites[site][0], edge, guessed: false };
  const walked = current === from ? trail : guessedTrail(document, from);
  const again = walked.findIndex((one) => one.fn === from);
  return [...(again < 0 ? walked : walked.slice(0, again)), frame];
}
