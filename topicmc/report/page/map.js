// The map: a circle for each topic, its area that of its share, near topics near to each other.

const INK = 0.17; // part of the map that circles cover when they stand for sizes
const WORD_INK = 0.04; // the same when they stand for the uses of a word

const order = data.topics.map((_, i) => i).sort((a, b) => data.topics[b].share[0] - data.topics[a].share[0]);
const position = new Map(data.topics.map((topic, i) => [topic.number, i])); // number → place in data.topics

/** Builds the map into its place; returns {mark(chosen), focus(), weigh(shares or null)}. */
function topicMap(place, choose) {
  let size = [0, 0];
  let chosen = order[0];
  let shares = null; // of a word's uses, instead of sizes

  const circles = data.topics.map((topic, i) =>
    svg("g", { class: `spot ${topic.stable === false ? "unstable" : ""}`, role: "option", id: `spot-${topic.number}`, tabindex: -1,
      onclick: () => choose(i) }, svg("title", {}), svg("circle", {})),
  );
  function nameCircle(i) {
    const { number, share } = data.topics[i];
    build(circles[i], { "aria-label": `${One} ${number}, ${percent(share[0])}: ${spoken(i)}` }, []);
    circles[i].firstChild.textContent = `${One} ${number} · ${spoken(i)}`;
  }
  circles.forEach((_, i) => nameCircle(i));
  const tags = names.map((name) => svg("text", { class: "name", "text-anchor": "middle" }, name));
  renamed.push((i) => {
    nameCircle(i);
    tags[i].textContent = names[i];
    nameTheLargest();
  });
  const links = svg("g", { class: "links" });
  const picture = svg(
    "svg",
    { role: "listbox", "aria-label": `Map of ${many}, by size; arrow keys choose`, "aria-describedby": "map-note",
      onkeydown: (event) => step(event) },
    links, order.map((i) => circles[i]), svg("g", { "aria-hidden": "true", class: "names" }, tags),
  );
  place.append(picture);

  function step(event) {
    const at = order.indexOf(chosen);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: order.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(order[(to + order.length) % order.length]);
    circles[chosen].focus();
  }

  const area = () => ((shares ? WORD_INK : INK) * size[0] * size[1]) / Math.PI;
  const radius = (i) => Math.sqrt((shares ? shares.get(i) ?? 0 : data.topics[i].share[0]) * area());
  const height = Math.max(...data.topics.map((topic) => Math.abs(topic.y)), 0.01); // width is 1
  /** Pixels of a unit, the same along both axes; the largest circle has room at any edge. */
  function scale() {
    const largest = Math.sqrt((data.topics[order[0]].share[0] * INK * size[0] * size[1]) / Math.PI);
    const margin = Math.min(0.14 * size[0], largest + 6);
    return Math.min(size[0] / 2 - margin, (size[1] / 2 - margin) / height);
  }
  const x = (i) => size[0] / 2 + data.topics[i].x * scale();
  const y = (i) => size[1] / 2 + data.topics[i].y * scale();

  function draw() {
    circles.forEach((spot, i) =>
      build(spot.lastChild, { cx: x(i), cy: y(i), r: Math.max(radius(i), shares ? 2 : 4) }, []),
    );
    nameTheLargest();
    mark(chosen);
  }

  /** Names where there is room: the chosen topic first, then from large to small. */
  function nameTheLargest() {
    const taken = [];
    for (const i of [chosen, ...order.filter((k) => k !== chosen)]) {
      const half = (names[i].length * 6.6) / 2 + 3;
      const down = Math.max(9, radius(i)) + 9, aside = radius(i) + half;
      // In the circle, or else beside it.
      const places = [[0, 0], [0, -down], [0, down], [aside, 0], [-aside, 0]].map(([right, below]) =>
        [Math.min(Math.max(x(i) + right, half), size[0] - half), y(i) + below]);
      const box = ([cx, cy]) => [cx - half, cy - 9, cx + half, cy + 9];
      const isFree = (a) => taken.every((b) => a[2] < b[0] || a[0] > b[2] || a[3] < b[1] || a[1] > b[3]);
      const place = i === chosen || !shares || radius(i) > 5 ? places.find((at) => isFree(box(at))) : undefined;
      const [cx, cy] = place ?? places[0];
      build(tags[i], { x: cx, y: cy + 4, visibility: place ? "visible" : "hidden" }, []);
      if (place) taken.push(box(place));
    }
  }

  function mark(i) {
    circles[chosen].classList.remove("chosen");
    chosen = i;
    circles.forEach((spot, k) => build(spot, { "aria-selected": String(k === i), tabindex: k === i ? 0 : -1 }, []));
    circles[i].classList.add("chosen");
    tags.forEach((tag, k) => tag.classList.toggle("chosen", k === i));
    if (!size[0]) return;
    nameTheLargest();
    links.replaceChildren(
      ...data.topics[i].near.map((to) => position.get(to)).map((k) =>
        svg("line", { x1: x(i), y1: y(i), x2: x(k), y2: y(k) })),
    );
  }

  whenResized(place, (width) => {
    size = [width, Math.round(Math.min(width, 640))];
    build(picture, { width: size[0], height: size[1], viewBox: `0 0 ${size[0]} ${size[1]}` }, []);
    draw();
  });
  return {
    mark,
    focus: () => circles[chosen].focus(),
    weigh(spread) {
      shares = spread;
      picture.classList.toggle("weighed", shares !== null);
      draw();
    },
  };
}
