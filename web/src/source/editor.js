// SPDX-License-Identifier: Apache-2.0
// The source as CodeMirror shows it: read-only, with a caret, native selection and drawn lines only
// where they are in view.
import { standardKeymap } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { python } from "@codemirror/lang-python";
import { syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, EditorView, GutterMarker, drawSelection, gutter, highlightActiveLine, keymap, lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const setDecorations = StateEffect.define();
const decorations = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setDecorations)) return effect.value;
    return value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class StageMarker extends GutterMarker {
  constructor(stage) {
    super();
    this.stage = stage;
  }
  eq(other) {
    return other.stage === this.stage;
  }
  toDOM() {
    const bar = document.createElement("div");
    bar.className = "stage-bar";
    if (this.stage >= 0) bar.style.background = `var(--stage-${this.stage % 8})`;
    return bar;
  }
}

class SuspectMarker extends GutterMarker {
  toDOM() {
    const sign = document.createElement("div");
    sign.className = "suspect-sign";
    sign.textContent = "!";
    return sign;
  }
}
const SUSPECT = new SuspectMarker();
const stageMarkers = new Map();
function stageMarker(stage) {
  if (!stageMarkers.has(stage)) stageMarkers.set(stage, new StageMarker(stage));
  return stageMarkers.get(stage);
}

const setMarkedLines = StateEffect.define();
const markedLines = StateField.define({
  create: () => new Map(),
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMarkedLines)) return effect.value;
    return value;
  },
});

const lineAt = (view, block) => view.state.doc.lineAt(block.from).number;

function stageGutter(stageOf) {
  return gutter({
    class: "cm-stages",
    lineMarker: (view, block) => stageMarker(stageOf(lineAt(view, block)) ?? -1),
  });
}

/** `onmark(line)` is called when the sign of a suspect is pressed. */
function markGutter(onmark) {
  return gutter({
    class: "cm-marks",
    lineMarker: (view, block) => (view.state.field(markedLines).has(lineAt(view, block)) ? SUSPECT : null),
    lineMarkerChange: (update) =>
      update.startState.field(markedLines) !== update.state.field(markedLines),
    initialSpacer: () => SUSPECT,
    domEventHandlers: {
      mousedown(view, block) {
        const line = lineAt(view, block);
        if (view.state.field(markedLines).has(line)) onmark(line);
        return true;
      },
    },
  });
}

/** Lines that the parser could not read stay marked as such. */
function unparsedLines(file) {
  return EditorView.decorations.compute([], ({ doc }) => {
    const mark = Decoration.line({ class: "not-parsed", attributes: { title: "not parsed" } });
    const ranges = file.unparsed.flatMap(([first, last]) => Array.from(
      { length: Math.max(0, Math.min(last, doc.lines) - first + 1) }, (_, at) => mark.range(doc.line(first + at).from)));
    return Decoration.set(ranges, true);
  });
}

function languageOf(language) {
  if (language === "python") return python();
  return language === "text" ? [] : cpp();
}

/**
 * @param options {file, stageOf(line), onmark(line), oncaret(line)}; `oncaret` hears of carets that the
 *   reader sets, not of selections and not of programmatic moves.
 */
export function sourceState({ file, stageOf, onmark, oncaret, label }) {
  return EditorState.create({
    doc: file.text ?? "",
    extensions: [
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", spellcheck: "false", tabindex: "0" }),
      markGutter(onmark),
      lineNumbers(),
      stageGutter(stageOf),
      drawSelection(),
      highlightActiveLine(),
      languageOf(file.language),
      syntaxHighlighting(classHighlighter),
      unparsedLines(file),
      decorations,
      markedLines,
      keymap.of([
        { key: "Enter", run: (view) => (oncaret(view.state.doc.lineAt(view.state.selection.main.head).number), true) },
        ...standardKeymap,
      ]),
      EditorView.updateListener.of((update) => {
        const byReader = update.transactions.some((transaction) => transaction.isUserEvent("select"));
        if (byReader && update.state.selection.main.empty) {
          oncaret(update.state.doc.lineAt(update.state.selection.main.head).number);
        }
      }),
    ],
  });
}

/** Ranges of lines and columns that are lit; later ones lie on top. */
export function lightUp(view, { functionLines, segmentLines, hereLine, sites, found, foundNow }) {
  const { doc } = view.state;
  const ranges = [];
  const lines = (span, name) => {
    if (!span) return;
    const mark = Decoration.line({ class: name });
    for (let line = span[0]; line <= Math.min(span[1], doc.lines); ++line) ranges.push(mark.range(doc.line(line).from));
  };
  const text = ([line, column, length], name) => {
    if (line < 1 || line > doc.lines || length <= 0) return;
    const { from, to } = doc.line(line);
    const [start, end] = [Math.min(from + column, to), Math.min(from + column + length, to)];
    if (start < end) ranges.push(Decoration.mark({ class: name }).range(start, end));
  };
  lines(functionLines, "lit-function");
  lines(segmentLines, "lit-segment");
  lines(hereLine && [hereLine, hereLine], "lit-here");
  for (const site of sites) text(site, "lit-call");
  for (const hit of found) text(hit, "lit-found");
  if (foundNow) text(foundNow, "lit-found-now");
  view.dispatch({ effects: setDecorations.of(Decoration.set(ranges, true)) });
}

export function setMarks(view, linesWithMarks) {
  view.dispatch({ effects: setMarkedLines.of(linesWithMarks) });
}

/** Puts the line into the upper third, with the caret on it. */
export function showLine(view, number) {
  const line = view.state.doc.line(Math.min(Math.max(1, number), view.state.doc.lines));
  view.dispatch({
    selection: { anchor: line.from },
    effects: EditorView.scrollIntoView(line.from, { y: "start", yMargin: Math.max(40, view.dom.clientHeight * 0.28) }),
  });
}

export { EditorView };
