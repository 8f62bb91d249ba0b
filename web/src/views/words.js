// SPDX-License-Identifier: Apache-2.0
// How things are named and coloured on the page.

export const stageTone = (stage) => (stage == null ? "var(--line)" : `var(--stage-${stage % 8})`);

/** Edge classes, surest first, each with the sign that stands beside every edge. */
export const EDGE_CLASSES = [
  { name: "exact", sign: "●", meaning: "One definition can be meant; scope and argument count fit." },
  { name: "name-only", sign: "◐", meaning: "One definition has that name; the receiver is not known." },
  { name: "ambiguous", sign: "◇", meaning: "Several definitions can be meant; each is shown." },
  { name: "textual", sign: "┄", meaning: "The name stands in a string, a table or a macro's text." },
];
export const EDGE_KINDS = ["control", "data", "sync", "handshake"];
const SIGNS = new Map(EDGE_CLASSES.map(({ name, sign }) => [name, sign]));
export const classSign = (name) => SIGNS.get(name) ?? "?";

/** The colour of a mechanism follows its plane, control flow aside. */
export function mechanismTone(document, kind) {
  if (kind === "guard" || kind === "loop" || kind === "exit") return "var(--flow)";
  const plane = document.glossaryByKind.get(kind)?.plane;
  if (plane === "sync") return "var(--sync)";
  if (plane === "data") return "var(--data)";
  return kind === "straight" ? "var(--soft)" : "var(--api)";
}

export const mechanismTitle = (document, kind) =>
  document.glossaryByKind.get(kind)?.title.toLowerCase() ?? kind.replaceAll("_", " ");

/** A stage's name without the folders in it: what is left of them is in the title. */
export const brief = (name) => name.replace(/\S+\/(?=[^/\s])/g, "…/");

export const lineRange = ([first, last]) => (first === last ? `${first}` : `${first}–${last}`);

export const count = (number, word, words = `${word}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? word : words}`;
