// SPDX-License-Identifier: Apache-2.0
// "What must be true before this line?" - the waits, guards, fences and barriers that come before a
// place: earlier in its function, around it, and in the callers on the way to it. It is read off the
// text, so it is a list of suspects, not a proof.

const CONDITIONS = new Set(["guard", "loop", "flag_poll", "fence", "barrier", "exit"]);
const WAITS = new Set(["flag_poll", "fence", "barrier"]);
const CALLERS_MAX = 4;

/** Mechanisms of the segment that a reader must know of, in the glossary's words. */
function mechanismsOf(segment) {
  return [segment.mechanism, ...segment.also];
}

/**
 * A call in the segment to a function that itself waits: {edge, segment, kind} of the first wait
 * there. What a guard only may do is left out: its condition counts, its body does not.
 */
function waitBehindCall(document, segment) {
  const last = segment.mechanism === "guard" ? segment.lines[0] : segment.lines[1];
  const isCertain = ([line]) => line >= segment.lines[0] && line <= last;
  for (const index of segment.edges) {
    const edge = document.edges[index];
    if (edge.kind !== "control" || !edge.sites.some(isCertain)) continue;
    const { segments } = document.functions[edge.to];
    for (let position = 0; position < segments.length; ++position) {
      const kind = mechanismsOf(segments[position]).find((one) => WAITS.has(one));
      if (kind) return { edge: index, segment: position, kind };
    }
  }
  return null;
}

/**
 * Publishers of what is waited for in a range of a function, each once, those that a root reaches
 * first. At a barrier nobody waits for one.
 */
function publishersFor(document, fn, [first, last]) {
  const found = publishersIn(document, fn, first, last);
  const isFirst = (one, at) => at === found.findIndex((other) => other.function === one.function && other.sync === one.sync);
  const reached = ({ function: publisher }) => (document.functions[publisher].reach === "unreachable" ? 1 : 0);
  return found.filter(isFirst).sort((one, other) => reached(one) - reached(other));
}

function publishersIn(document, fn, first, last) {
  const found = [];
  for (const end of document.syncIn(fn, first, last)) {
    if (end.side === "waiters" && document.sync[end.index].kind !== "barrier") found.push(...document.sync[end.index].publishers.map(
      (publisher) => ({ ...publisher, sync: end.index })));
  }
  return found;
}

function conditionsIn(document, fn, line) {
  const found = [];
  document.functions[fn].segments.forEach((segment, position) => {
    const [first, last] = segment.lines;
    if (first >= line) return;
    const behind = waitBehindCall(document, segment);
    // Of a guard only its condition is certain.
    const certain = segment.mechanism === "guard" ? ["guard"] : mechanismsOf(segment);
    const kinds = certain.filter((kind) => CONDITIONS.has(kind));
    if (behind && !kinds.includes(behind.kind)) kinds.push(behind.kind);
    if (kinds.length === 0) return;
    let publishers = publishersFor(document, fn, segment.lines);
    if (behind) {
      const callee = document.edges[behind.edge].to;
      publishers = publishers.concat(publishersFor(document, callee,
        document.functions[callee].segments[behind.segment].lines));
    }
    // A loop that is over has no say; a guard may have left, and a wait that is over was true.
    const around = line >= first && line <= last;
    const matters = around || kinds.includes("guard") || kinds.some((kind) => WAITS.has(kind));
    if (matters) found.push({ fn, segment: position, kinds, behind, publishers, around });
  });
  return found;
}

/** The caller to go on with: the one on the trail, else the only one, else the first exact one. */
function callerOf(document, fn, trail) {
  const edges = document.incoming[fn].filter((index) => document.edges[index].kind === "control");
  const onTrail = edges.find((index) => trail.includes(document.edges[index].from));
  if (onTrail !== undefined) return onTrail;
  return edges.find((index) => document.edges[index].class === "exact") ?? edges[0] ?? null;
}

/**
 * @param trail functions on the way here, outermost first.
 * @returns levels, innermost first: {fn, line, edge, conditions: {fn, segment, kinds, behind,
 *   publishers, around}[], others}; `edge` is the call by which the level was entered (null for the
 *   place itself) and `others` how many more callers there are.
 */
export function conditionsBefore(document, fn, line, trail = []) {
  const levels = [];
  const seen = new Set();
  let edge = null;
  let others = 0;
  while (fn !== null && !seen.has(fn) && levels.length <= CALLERS_MAX) {
    seen.add(fn);
    levels.push({ fn, line, edge, others, conditions: conditionsIn(document, fn, line) });
    edge = callerOf(document, fn, trail);
    if (edge === null) break;
    others = document.incoming[fn].length - 1;
    fn = document.edges[edge].from;
    line = document.edges[edge].sites[0][0];
  }
  return levels;
}
