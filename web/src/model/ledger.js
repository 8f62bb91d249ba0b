// SPDX-License-Identifier: Apache-2.0
// The coverage ledger: how much of the source is understood, and how surely. Every table sums to its
// total; a sum that does not is shown as such.

function table(title, total, rows) {
  const sum = rows.reduce((all, row) => all + row.count, 0);
  return { title, total, rows: rows.filter((row) => row.count > 0), sum, complete: sum === total };
}

/** Tables of {title, total, rows: {label, count, stage?}[], sum, complete}. */
export function ledgerTables(document) {
  const { ledger } = document;
  if (!ledger) return [];
  const named = (counts) => Object.entries(counts ?? {}).map(([label, count]) => ({ label, count }));
  const stages = (ledger.by_stage ?? []).map(({ stage, lines }) => ({
    label: stage < 0 ? "none" : document.stages[stage].name, stage, count: lines,
  })).sort((one, other) => (one.stage < 0) - (other.stage < 0) || other.count - one.count);
  const byClass = named(ledger.edges_by_class);
  return [
    table("Lines by stage", ledger.lines, stages),
    table("Lines by kind", ledger.lines, named(ledger.by_kind)),
    table("Lines of functions by reachability",
          named(ledger.by_reach).reduce((sum, row) => sum + row.count, 0), named(ledger.by_reach)),
    table("Edges by certainty", document.edges.length, byClass),
  ];
}
