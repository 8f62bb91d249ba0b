// SPDX-License-Identifier: Apache-2.0
// Positions of the stage graph when the program brought none: layers by longest path, then a few
// passes that pull nodes to the middle of their neighbours. For at most a few hundred nodes.

const NODE = { width: 190, height: 58, gapX: 28, gapY: 54 };
const PASSES = 4;

/** Edges that close a cycle are left out of the layering; they are drawn all the same. */
function forwardEdges(count, edges) {
  const next = Array.from({ length: count }, () => []);
  for (const edge of edges) next[edge.from].push(edge);
  const state = new Uint8Array(count);
  const kept = [];
  const visit = (start) => {
    const stack = [[start, 0]];
    state[start] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      const edge = next[top[0]][top[1]++];
      if (!edge) {
        state[top[0]] = 2;
        stack.pop();
      } else if (state[edge.to] !== 1) {
        kept.push(edge);
        if (state[edge.to] === 0) {
          state[edge.to] = 1;
          stack.push([edge.to, 0]);
        }
      }
    }
  };
  for (let node = 0; node < count; ++node) if (state[node] === 0) visit(node);
  return kept;
}

function layersOf(count, edges) {
  const layer = new Int32Array(count);
  for (let round = 0, moved = true; moved && round < count; ++round) {
    moved = false;
    for (const { from, to } of edges) {
      if (layer[to] <= layer[from]) {
        layer[to] = layer[from] + 1;
        moved = true;
      }
    }
  }
  return layer;
}

function orderLayers(layers, edges) {
  const position = new Map();
  const place = (nodes) => nodes.forEach((node, index) => position.set(node, index));
  layers.forEach(place);
  for (let pass = 0; pass < PASSES; ++pass) {
    for (const nodes of layers) {
      const middle = (node) => {
        const near = edges.flatMap(({ from, to }) =>
          from === node ? [position.get(to)] : to === node ? [position.get(from)] : []);
        return near.length ? near.reduce((sum, at) => sum + at, 0) / near.length : position.get(node);
      };
      const weight = new Map(nodes.map((node) => [node, middle(node)]));
      nodes.sort((one, other) => weight.get(one) - weight.get(other));
      place(nodes);
    }
  }
}

/** @returns a layout as in the schema's `layouts[]`. */
export function layeredLayout(count, edges) {
  const links = edges.filter(({ from, to }) => from !== to);
  const forward = forwardEdges(count, links);
  const layers = [];
  layersOf(count, forward).forEach((layer, node) => (layers[layer] ??= []).push(node));
  orderLayers(layers, forward);
  const widest = Math.max(1, ...layers.map((nodes) => nodes.length));
  const width = widest * (NODE.width + NODE.gapX) - NODE.gapX;
  const nodes = [];
  layers.forEach((members, layer) => {
    const left = (width - members.length * (NODE.width + NODE.gapX) + NODE.gapX) / 2;
    members.forEach((index, position) => nodes.push({
      index, x: left + position * (NODE.width + NODE.gapX), y: layer * (NODE.height + NODE.gapY),
      width: NODE.width, height: NODE.height,
    }));
  });
  return { graph: "stages", nodes, edges: routes(nodes, links), width,
           height: layers.length * (NODE.height + NODE.gapY) - NODE.gapY };
}

function routes(nodes, edges) {
  const byIndex = new Map(nodes.map((node) => [node.index, node]));
  return edges.map(({ from, to }) => {
    const [a, b] = [byIndex.get(from), byIndex.get(to)];
    const down = a.y < b.y;
    const start = [a.x + a.width / 2, down ? a.y + a.height : a.y];
    const end = [b.x + b.width / 2, down ? b.y : b.y + b.height];
    const middle = (start[1] + end[1]) / 2;
    return { from, to, points: [start, [start[0], middle], [end[0], middle], end] };
  });
}
