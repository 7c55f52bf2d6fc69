// Line charts: drawn in SVG, read out under the pointer, and told again as a table.

const SHADES = 6; // colours of series in style.css

/** About n round numbers that span [low, high]. */
function ticks(low, high, n) {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, i) => (first + i) * step);
}

function extent(values, includeZero) {
  const low = values.reduce((a, b) => Math.min(a, b), includeZero ? 0 : Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), includeZero ? 0 : -Infinity);
  const margin = 0.05 * (high - low || Math.abs(high) || 1);
  return [includeZero ? low : low - margin, high + margin];
}

/**
 * chart: title, note, x and y: {name, format, zero, names (of whole x)}, series: [{name, points: [[x, y]…]}],
 * bars: whether points are bars; shaded: {until, name} or null; band: {name, ends: x → [low, high], null where they cannot be told} or null;
 * count: {name, of: x → number} or null. Of named x those without a point break the line.
 */
function lineChart(chart) {
  const plot = html("div", { class: "plot" });
  const figure = html(
    "figure",
    { class: "chart" },
    html("figcaption", {}, html("h3", {}, chart.title), chart.note ? html("p", {}, chart.note) : null),
    plot,
    chart.series.length > 1 ? legend(chart.series) : null,
    chartTable(chart),
  );
  whenResized(plot, (width) => plot.replaceChildren(...drawChart(chart, width)));
  return figure;
}

function legend(series) {
  const keys = series.map((one, i) =>
    html("li", { class: `shade-${i % SHADES}` }, html("i", { class: "key" }), one.name),
  );
  return html("ul", { class: "legend" }, keys);
}

function chartTable(chart) {
  const at = [...new Set(chart.series.flatMap((one) => one.points.map((p) => p[0])))];
  const values = chart.series.map((one) => new Map(one.points));
  const head = [chart.x.name, ...chart.series.map((one) => one.name), chart.band?.name, chart.count?.name].filter(Boolean);
  const rows = at.sort((a, b) => a - b).map((x) =>
    html(
      "tr",
      {},
      html("th", { scope: "row" }, told(chart.x, x)),
      values.map((y) => html("td", {}, y.has(x) ? told(chart.y, y.get(x)) : "")),
      chart.band ? html("td", {}, ends(chart.band, x)) : null,
      chart.count ? html("td", {}, whole.format(chart.count.of(x))) : null,
    ),
  );
  return html(
    "details",
    { class: "as-table" },
    html("summary", {}, "As a table", unseen(`: ${chart.title}`)),
    html(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": chart.title },
      html(
        "table",
        {},
        html("thead", {}, html("tr", {}, head.map((name) => html("th", { scope: "col" }, name)))),
        html("tbody", {}, rows),
      ),
    ),
  );
}

const told = (axis, value) => (axis.names ? axis.names[value] : axis.format(value));

function ends(band, x) {
  const [low, high] = band.ends.get(x);
  return low === null ? UNTOLD : interval(low, high);
}

/** The points in runs that nothing is missing between. */
function unbroken(chart, points) {
  const runs = [];
  for (const p of points) {
    const before = runs.at(-1)?.at(-1);
    if (before && (!chart.x.names || p[0] === before[0] + 1)) runs.at(-1).push(p);
    else runs.push([p]);
  }
  return runs;
}

function drawChart(chart, width) {
  const height = Math.round(Math.min(220, Math.max(150, width * 0.5)));
  const left = 52, right = 12, top = 10, bottom = 34;
  const points = chart.series.flatMap((one) => one.points);
  const at = points.map((p) => p[0]);
  const [x0, x1] = chart.bars
    ? [Math.min(...at) - 0.5, Math.max(...at) + 0.5]
    : chart.x.names
    ? [0, Math.max(1, chart.x.names.length - 1)]
    : [Math.min(0, ...at), Math.max(...at)];
  const highs = [...(chart.band?.ends.values() ?? [])].map(([, high]) => high ?? 0);
  const [y0, y1] = extent([...points.map((p) => p[1]), ...highs], chart.y.zero);
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);

  const picture = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${chart.title}: ${chart.series.length} line${chart.series.length > 1 ? "s" : ""}; the table below has the numbers`,
  });
  if (chart.shaded) {
    const edge = x(Math.min(chart.shaded.until, x1));
    picture.append(
      svg("rect", { class: "shaded", x: left, y: top, width: edge - left, height: height - top - bottom }),
      svg("text", { class: "shaded-name", x: left + 6, y: height - bottom - 6 }, chart.shaded.name),
    );
  }
  for (const value of ticks(y0, y1, 4)) {
    picture.append(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, chart.y.format(value)),
    );
  }
  picture.append(xAxis(chart, x, x0, x1, width, height - bottom));
  const line = (run) => run.map((p) => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join("L");
  for (const run of chart.band ? unbroken(chart, chart.series[0].points) : []) {
    const known = run.map(([at]) => [at, ...chart.band.ends.get(at)]).filter((end) => end[1] !== null);
    if (!known.length) continue;
    // One point alone has a band as wide as a dot.
    const wide = known.length > 1 ? known : [-3, 3].map((d) => [known[0][0] + (d * (x1 - x0)) / (width - left - right), known[0][1], known[0][2]]);
    const around = [...wide.map(([at, low]) => [at, low]), ...wide.toReversed().map(([at, , high]) => [at, high])];
    picture.append(svg("path", { class: "band shade-0", d: `M${line(around)}Z` }));
  }
  if (chart.bars) {
    picture.append(...points.map(([value, share]) => svg("rect", {
      class: "column shade-0", x: x(value - 0.4), y: y(share), width: x(value + 0.4) - x(value - 0.4), height: y(0) - y(share) })));
  }
  chart.series.forEach((one, i) => {
    if (chart.bars) return;
    const runs = unbroken(chart, one.points);
    if (runs.length) picture.append(svg("path", { class: `line shade-${i % SHADES}`, d: runs.map((run) => `M${line(run)}`).join("") }));
    if (one.points.length <= 40) {
      picture.append(
        ...one.points.map((p) => svg("circle", { class: `dot shade-${i % SHADES}`, cx: x(p[0]), cy: y(p[1]), r: 2.2 })),
      );
    }
  });
  return [picture, readout(chart, picture, x, top, height - bottom)];
}

function xAxis(chart, x, x0, x1, width, floor) {
  const room = Math.max(2, Math.floor(width / 80));
  const names = chart.x.names;
  const every = names ? Math.ceil(names.length / room) : 0;
  const at = names ? names.map((_, i) => i).filter((i) => i % every === 0)
    : ticks(x0, x1, room).filter((value) => !chart.bars || Number.isInteger(value));
  return svg(
    "g",
    {},
    at.map((value) =>
      svg("text", { class: "tick", x: x(value), y: floor + 16, "text-anchor": "middle" },
        names ? names[value] : number(value)),
    ),
    svg("text", { class: "tick axis", x: x(x1), y: floor + 31, "text-anchor": "end" }, chart.x.name),
  );
}

/** A rule and the values at the point of the x axis nearest to the pointer. */
function readout(chart, picture, x, top, floor) {
  const rule = svg("line", { class: "rule", y1: top, y2: floor, visibility: "hidden" });
  const words = html("p", { class: "readout", "aria-hidden": "true", hidden: true });
  const at = [...new Set(chart.series.flatMap((one) => one.points.map((p) => p[0])))];
  const values = chart.series.map((one) => new Map(one.points));
  picture.append(rule);
  picture.addEventListener("pointermove", (event) => {
    const here = event.clientX - picture.getBoundingClientRect().left;
    const nearest = at.reduce((a, b) => (Math.abs(x(b) - here) < Math.abs(x(a) - here) ? b : a));
    build(rule, { x1: x(nearest), x2: x(nearest), visibility: "visible" }, []);
    const found = values.flatMap((y, i) =>
      y.has(nearest) ? [`${values.length > 1 ? `${chart.series[i].name} ` : ""}${told(chart.y, y.get(nearest))}`] : [],
    );
    if (chart.band) found.push(`(${ends(chart.band, nearest)})`);
    if (chart.count) found.push(`· ${whole.format(chart.count.of(nearest))} ${chart.count.name}`);
    words.textContent = `${told(chart.x, nearest)}: ${found.join(chart.band ? " " : " · ")}`;
    words.hidden = false;
  });
  picture.addEventListener("pointerleave", () => {
    rule.setAttribute("visibility", "hidden");
    words.hidden = true;
  });
  return words;
}
