// SPDX-License-Identifier: Apache-2.0
// Who sends how many routes to which expert.

const cellsMax = 20000;

function ownerGroups(owners) {
  const found = [];
  owners.forEach((rank, expert) => {
    if (expert === 0 || owners[expert - 1] !== rank) found.push({ first: expert, name: `rank ${rank}`, rank });
  });
  return found;
}

// Too many cells to read or draw: columns become ranks.
function routesByRank(routes) {
  const ranks = routes.rank_count;
  const experts = routes.expert_rank.length;
  const sums = new Array(ranks * ranks).fill(0);
  for (let r = 0; r < ranks; ++r) {
    for (let e = 0; e < experts; ++e) sums[r * ranks + routes.expert_rank[e]] += routes.routes[r * experts + e];
  }
  return { columns: ranks, at: (r, c) => sums[r * ranks + c], names: (c) => String(c), owner: (c) => c, word: "rank" };
}

function routesByExpert(routes) {
  const experts = routes.expert_rank.length;
  return { columns: experts, at: (r, c) => routes.routes[r * experts + c], names: (c) => String(c), owner: (c) => routes.expert_rank[c], word: "expert" };
}

function drawRoutes(routes) {
  const experts = routes.expert_rank.length;
  const byRank = routes.rank_count * experts > cellsMax;
  const table = byRank ? routesByRank(routes) : routesByExpert(routes);
  const rows = [...Array(routes.rank_count).keys()];
  const columns = [...Array(table.columns).keys()];
  const rowTotal = (r) => columns.reduce((sum, c) => sum + table.at(r, c), 0);
  const columnTotal = (c) => rows.reduce((sum, r) => sum + table.at(r, c), 0);
  const total = rows.reduce((sum, r) => sum + rowTotal(r), 0);
  const columnTotals = columns.map(columnTotal);
  const busiest = columnTotals.indexOf(Math.max(...columnTotals));
  const mean = total / table.columns;
  const body = addSection("routing", "Routing", "Routes (token, lane) from each source rank to each expert; experts stand under the rank that owns them.", [routes.origin]);
  body.append(heatmap({
    label: `routes from source ranks to ${table.word}s`, rowNames: rows.map((r) => `rank ${r}`), columnNames: columns.map(table.names),
    columnGroups: byRank ? null : ownerGroups(routes.expert_rank), corner: table.word, value: table.at, format: count,
    low: "var(--ramp-low)", high: "var(--ramp-high)", cellText: (r, c) => count(table.at(r, c)), rowTotal, columnTotal, totalName: "total", scaleName: "routes per cell",
    content: (r, c) => ({
      title: `rank ${r} to ${table.word} ${c}`,
      rows: [["routes", count(table.at(r, c))], ["of the rank's routes", percent(table.at(r, c), rowTotal(r))], [`of the ${table.word}'s routes`, percent(table.at(r, c), columnTotals[c])]],
      text: table.owner(c) === r ? "stays on its rank" : `owned by rank ${table.owner(c)}`,
    }),
    columnContent: (c, sum) => ({ title: `${table.word} ${c}`, rows: [["routes from all ranks", count(sum)], ["times the mean", (sum / (mean || 1)).toFixed(2)]] }),
  }));
  const local = rows.reduce((sum, r) => sum + columns.reduce((own, c) => own + (table.owner(c) === r ? table.at(r, c) : 0), 0), 0);
  body.append(el("p", { class: "note" },
    `${count(total)} routes; ${percent(local, total)} stay on their rank. Busiest: ${table.word} ${busiest} with ${count(columnTotals[busiest])}, ${(columnTotals[busiest] / (mean || 1)).toFixed(2)} times the mean. `,
    byRank ? `${count(experts)} experts are too many columns: they are summed by owning rank. ` : "", originChip("derived")));
}
