// The tree of topics: leaves at the left, joins at their distances.

const LEAF = 20, MARGIN = 12; // pixels

function showTree() {
  const n = data.topics.length;
  if (n < 2) return;
  const leaves = [], waiting = [2 * n - 2];
  while (waiting.length) {
    const node = waiting.pop();
    if (node < n) leaves.push(node);
    else waiting.push(data.tree[node - n][1], data.tree[node - n][0]);
  }
  const height = leaves.length * LEAF;
  whenResized(byId("tree"), (width) => {
    const left = Math.min(230, width / 2);
    const begin = 0.95 * data.tree[0][2];
    const scale = (width - left - MARGIN) / Math.max(data.tree.at(-1)[2] - begin, 1e-9);
    const places = new Map(leaves.map((leaf, row) => [leaf, [left, (row + 0.5) * LEAF]]));
    const lines = data.tree.map(([one, other, distance], i) => {
      const [[x0, y0], [x1, y1]] = [places.get(one), places.get(other)];
      const x = left + (distance - begin) * scale;
      places.set(n + i, [x, (y0 + y1) / 2]);
      return svg("path", { d: `M${x0} ${y0}H${x}V${y1}H${x1}` }, svg("title", {}, `distance ${distance}`));
    });
    const tags = leaves.map((leaf, row) => svg("text", { x: left - 8, y: (row + 0.5) * LEAF + 4, "text-anchor": "end" }));
    const write = () => tags.forEach((tag, row) => {
      const topic = data.topics[leaves[row]];
      tag.replaceChildren(svg("a", { href: `#${one}-${topic.number}` }, `${names[leaves[row]]}  ${topic.number}`));
    });
    write();
    renamed.push(write);
    byId("tree").replaceChildren(
      svg("svg", { width, height, role: "group", "aria-label": `Tree of ${many} by their distances` }, lines, tags));
  });
}
