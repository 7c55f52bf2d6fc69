// What stands around the topics: facts, verdict, the table of all, traces, settings, how to read.

/** The last value of a trace in each run that has one. */
const final = (name) =>
  data.runs.flatMap((run) => run.metrics[name].filter((value) => value !== null).slice(-1));

function range(values) {
  if (!values.length) return "–";
  const [low, high] = [Math.min(...values), Math.max(...values)].map(number);
  return low === high ? low : `${low} – ${high}`;
}

function showFacts() {
  const facts = [
    ["documents", whole.format(data.corpus.documents)],
    ["tokens", short.format(data.corpus.tokens)],
    ["words", whole.format(data.corpus.words)],
    [many, whole.format(data.n_topics)],
    [data.chains === 1 ? "chain" : "chains", `${data.chains}`],
    [data.samples === 1 ? "sample" : "samples", `${data.samples}`],
    [data.terms.score, range([data.terms.averaged, data.terms.newest].map(final).find((known) => known.length) ?? [])],
    ["of training", duration(final("seconds").reduce((a, b) => a + b, 0))],
  ];
  byId("facts").append(...facts.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
}

const SIGNS = { true: ["✓", "good"], false: ["!", "bad"], null: ["?", "unsure"] };

function showVerdict() {
  const [sign, kind] = SIGNS[data.verdict.converged];
  byId("verdict").classList.add(kind);
  byId("verdict").append(
    html("span", { class: "sign", "aria-hidden": "true" }, sign),
    html("div", {},
      html("h2", { id: "verdict-name", class: "unseen" }, "Verdict"),
      html("p", { class: "sentence" }, data.verdict.sentence),
      html("ul", {}, [...data.verdict.flags, ...data.notes].map((text) => html("li", {}, text)))),
  );
}

const COLUMNS = [
  [One, (t) => t.number, 1],
  [`Share of ${data.terms.of}`, (t) => t.share[0], -1],
  ["Likeliest words", null],
  ["Coherence", (t) => t.npmi ?? -Infinity, -1],
  ["Exclusivity", (t) => t.exclusivity, -1],
  ["Stability", (t) => t.distance ?? Infinity, 1],
];

if (data.topics.some((topic) => topic.group !== null)) COLUMNS.push(["Group", (t) => t.group ?? "\uffff", 1]);

const decimals = (value) => (value === null ? "–" : value.toFixed(2).replace("-", "−"));

/** All topics; its heads sort, and the number of a topic leads to it. */
function showTopics() {
  const table = byId("topics");
  const most = data.topics[order[0]].share[0];
  const inFront = data.topics.map((_, i) => html("b", {}, given[i] === null ? "" : `${given[i]} `));
  renamed.push((i) => { inFront[i].textContent = given[i] === null ? "" : `${given[i]} `; });
  const rows = data.topics.map((topic, i) =>
    html("tr", {},
      html("td", {}, html("a", { href: `#${one}-${topic.number}` }, unseen(`${One} `), topic.number)),
      html("td", { class: "share-cell" },
        html("span", {}, percent(topic.share[0])),
        topic.share[1] === null ? null : html("small", {}, interval(topic.share[1], topic.share[2])),
        html("div", { class: "bar", "aria-hidden": "true", "--mean": `${(100 * topic.share[0]) / most}%` }, html("i", { class: "mean" }))),
      html("td", { class: "list" }, inFront[i], topic.words.slice(0, 10).map((row) => data.words[row[ID]]).join(" ")),
      html("td", { class: "extra" }, decimals(topic.npmi)),
      html("td", { class: "extra" }, decimals(topic.exclusivity)),
      html("td", {}, stability(topic)),
      COLUMNS.length > 6 ? html("td", {}, topic.group) : null));
  const body = html("tbody");
  const heads = COLUMNS.map(([name, key, direction], i) =>
    html("th", { scope: "col" }, key ? html("button", { type: "button", onclick: () => sort(i, direction) }, name) : name));
  function sort(column, direction) {
    const reverse = heads[column].getAttribute("aria-sort") === (direction > 0 ? "ascending" : "descending");
    const sign = reverse ? -direction : direction;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const keys = data.topics.map(COLUMNS[column][1]);
    const sorted = rows.map((_, i) => i).sort((a, b) => (keys[a] === keys[b] ? 0 : sign * (keys[a] < keys[b] ? -1 : 1)));
    body.replaceChildren(...sorted.map((i) => rows[i]));
  }
  table.append(html("thead", {}, html("tr", {}, heads)), body);
  sort(1, -1);
}

function showTraces() {
  const series = (key, name) =>
    data.runs.flatMap((run, r) => {
      const columns = key(run.metrics);
      return columns.map((values, c) => ({
        name: name(r, c, columns.length),
        points: values.flatMap((v, i) => (v === null ? [] : [[run.metrics.seconds[i], v]])),
      }));
    }).filter((one) => one.points.length);
  const ofRun = (r) => (data.runs.length > 1 ? data.runs[r].name : "");
  const until = Math.max(...data.runs.map((run) => run.metrics.burn_in_until ?? 0));
  const shaded = until > 0 ? { until, name: "burn-in" } : null;
  const x = { name: "seconds of training", format: (v) => `${rounded.format(v)} s` };
  const traced = new Map(data.runs.flatMap((run) => run.traces.map(({ title, note }) => [title, note]))); // not all by each run
  const traces = [
    [capital(data.terms.score), "Lower is better", number, data.runs.length > 1
      ? series((m) => [m[data.terms.newest]], ofRun)
      : series((m) => [m[data.terms.averaged], m[data.terms.newest]], (_, c) => ["averaged over samples", "newest sample"][c])],
    ["Log-likelihood of each chain", "Mean log p of a scored held-out token", (v) => v.toFixed(3).replace("-", "−"),
      series((m) => m.log_likelihood, (r, c, n) => [ofRun(r), n > 1 || !ofRun(r) ? `chain ${c}` : ""].filter(Boolean).join(" "))],
    ["Step size", "What one update moves by", (v) => v.toPrecision(2), series((m) => [m.step_size], (r) => ofRun(r) || "step size")],
    ...[...traced].map(([title, note]) => [title, note, number, data.runs.flatMap((run, r) =>
      run.traces.filter((trace) => trace.title === title).flatMap(({ seconds, chains }) => chains.map((values, c) => ({
        name: [ofRun(r), `chain ${c}`].filter(Boolean).join(" "),
        points: values.flatMap((v, i) => (v === null ? [] : [[seconds[i], v]])),
      }))).filter((one) => one.points.length))]),
  ];
  byId("traces").append(
    ...traces.filter(([, , , lines]) => lines.length).map(([title, note, format, lines]) =>
      lineChart({ title, note, x, y: { name: title, format }, series: lines, shaded })));
  if (!byId("traces").children.length) byId("traces").append(html("p", {}, "No evaluations were recorded."));
}

/** The posterior of the number of groups, of mixtures. */
function showHowMany() {
  byId("how-many").hidden = !data.how_many?.length;
  if (byId("how-many").hidden) return;
  byId("numbers").append(
    lineChart({
      title: "Number of groups", note: "Posterior probability, from the trace of all chains past the first half", bars: true,
      x: { name: "groups", format: whole.format }, y: { name: "probability", format: percent, zero: true },
      series: [{ name: "probability", points: data.how_many }],
    }));
}

function showDiagnostics() {
  byId("diagnostics").append(
    html("h3", {}, "Agreement of chains"),
    html("p", { class: "remark" }, data.verdict.remark),
    html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Agreement of chains" },
      html("table", { class: "narrow" },
        html("thead", {}, html("tr", {}, ["Summary", "R̂", "Effective samples"].map((name) => html("th", { scope: "col" }, name)))),
        html("tbody", {}, data.verdict.summaries.map(([name, ...values]) =>
          html("tr", {}, html("th", { scope: "row" }, name),
            values.map((value) => html("td", {}, value === null ? UNTOLD : value.toPrecision(3)))))))));
}

function showSettings() {
  const names = Object.keys(data.runs[0].settings);
  byId("runs").append(
    html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Setting"),
      data.runs.map((run) => html("th", { scope: "col" }, run.name)))),
    html("tbody", {}, names.map((name) =>
      html("tr", {}, html("th", { scope: "row" }, name),
        data.runs.map((run) => html("td", {}, setting(run.settings[name])))))),
  );
}

function setting(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" && !Number.isInteger(value) ? rounded.format(value) : String(value);
}

function showGuide() {
  byId("kept").textContent = data.words_shown;
  byId("citation").textContent = data.citation.text;
  byId("references").append(...data.citation.references.map((text) => html("li", {}, text)));
  byId("foot").append(`Made by topicmc ${data.version}, ${data.created}`);
}
