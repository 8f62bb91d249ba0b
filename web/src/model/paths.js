// SPDX-License-Identifier: Apache-2.0
// From A to B over the calls: the shortest way, or the reason why there is none.

/** Shortest distances from `start`: a map function -> edge by which it was first reached. */
function reach(document, start, admits, direction) {
  const [out, end] = direction === "forward" ? ["outgoing", "to"] : ["incoming", "from"];
  const via = new Map([[start, -1]]);
  const queue = [start];
  for (let head = 0; head < queue.length; ++head) {
    for (const index of document[out][queue[head]]) {
      const edge = document.edges[index];
      if (admits(edge) && !via.has(edge[end])) {
        via.set(edge[end], index);
        queue.push(edge[end]);
      }
    }
  }
  return via;
}

function walkBack(document, via, target) {
  const edges = [];
  for (let at = target; via.get(at) !== -1; at = document.edges[edges[0]].from) {
    edges.unshift(via.get(at));
  }
  return edges;
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** In one line, why `admits` leads nowhere; `offer` is what would. */
function explain(document, from, to, admits, via) {
  const name = (index) => document.functions[index].qualified;
  const everything = () => true;
  if (via.size > 0) {
    const unfiltered = reach(document, from, everything, "forward");
    if (unfiltered.has(to)) {
      const hidden = walkBack(document, unfiltered, to)
        .map((index) => document.edges[index]).filter((edge) => !admits(edge));
      const classes = [...new Set(hidden.map((edge) => edge.class))].join(", ");
      return { reason: `Only over ${plural(hidden.length, "edge")} that the filters hide (${classes}).`,
               offer: "unfiltered" };
    }
  }
  if (reach(document, to, everything, "forward").has(from)) {
    return { reason: `None in this direction: ${name(to)} leads to ${name(from)}.`, offer: "reverse" };
  }
  const callers = document.incoming[to].map((index) => document.edges[index].from);
  if (callers.length === 0) {
    return { reason: `Nothing that was found calls ${name(to)}.`, offer: null };
  }
  const names = [...new Set(callers)].slice(0, 3).map(name).join(", ");
  return {
    reason: `${name(from)} reaches ${plural(via.size - 1, "function")}, none of which calls ` +
            `${name(to)}; it is called by ${names}${callers.length > 3 ? ", ..." : ""}.`,
    offer: null,
  };
}

/**
 * @param admits says whether an edge may be used.
 * @returns {{edges: number[], reason: ?string, offer: ?string}} `edges` in order, empty when there is
 *   no path (then `reason` says why and `offer` is "unfiltered", "reverse" or null) or A is B.
 */
export function findPath(document, from, to, admits = () => true) {
  if (from === to) return { edges: [], reason: "A and B are the same function.", offer: null };
  const via = reach(document, from, admits, "forward");
  if (via.has(to)) return { edges: walkBack(document, via, to), reason: null, offer: null };
  return { edges: [], ...explain(document, from, to, admits, via) };
}

/** Edges of the shortest way from a root to the function; empty for a root or when there is none. */
export function pathFromRoot(document, fn) {
  const via = reach(document, fn, () => true, "backward");
  let best = null;
  for (const { function: root } of document.roots) {
    if (!via.has(root)) continue;
    const edges = [];
    for (let at = root; via.get(at) !== -1; at = document.edges[edges[edges.length - 1]].to) {
      edges.push(via.get(at));
    }
    if (best === null || edges.length < best.length) best = edges;
  }
  return best ?? [];
}

/** A path as text for a message or a ticket: one line a step. */
export function pathAsText(document, edges) {
  if (edges.length === 0) return "";
  const at = (fn) => {
    const { qualified, file, name_line } = document.functions[fn];
    return `${qualified}  (${document.files[file].path}:${name_line})`;
  };
  const lines = [at(document.edges[edges[0]].from)];
  for (const index of edges) {
    const edge = document.edges[index];
    lines.push(`  line ${edge.sites[0][0]}, ${edge.class}, ${edge.form} -> ${at(edge.to)}`);
  }
  return lines.join("\n");
}
