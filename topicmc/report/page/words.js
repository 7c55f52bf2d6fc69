// Relevance of words to topics (Sievert & Shirley 2014): λ log p(w|k) + (1 − λ) log (p(w|k) / p(w)).

const ID = 0, MEAN = 1, LOW = 2, HIGH = 3, IN_TOP = 4; // columns of a topic's words

function relevant(topic, lambda, n) {
  const score = (row) => Math.log(row[MEAN]) - (1 - lambda) * Math.log(data.overall[row[ID]]);
  return topic.words
    .map((row) => [score(row), row])
    .sort((a, b) => b[0] - a[0])
    .slice(0, n)
    .map(([, row]) => row);
}

/** What the signs in the bars mean. */
function keys(hasIntervals) {
  const key = (name, text) =>
    html("li", {}, html("span", { class: "bar", "aria-hidden": "true" }, html("i", { class: name })), text);
  return html("ul", { class: "keys" },
    key("mean", `in this ${one}`),
    hasIntervals ? key("whisker", `${levelOf(data)} interval`) : null,
    key("overall", data.terms.overall),
    html("li", {}, "Choose a word to see where it is used"));
}

const labels = data.topics.map((topic) => relevant(topic, 0.6, 3).map((row) => data.words[row[ID]]));

/** On the map and in links: one word, or two where topics share it, and the number where that is not enough. */
const names = (() => {
  const times = (list) => list.reduce((seen, name) => seen.set(name, (seen.get(name) ?? 0) + 1), new Map());
  const one = labels.map(([first]) => brief(first));
  const ones = times(one);
  const two = labels.map(([, second], i) => (ones.get(one[i]) > 1 && second ? `${one[i]} ${brief(second)}` : one[i]));
  const twos = times(two);
  return two.map((name, i) => (twos.get(name) > 1 ? `${name} (${data.topics[i].number})` : name));
})();

/** The chosen topic's words as a table whose cells are a bar chart; {show(topic), word(id or null)}. */
function wordTable(chooseWord) {
  let topic = data.topics[0];
  let lambda = 1;
  let word = null;
  const rows = new Map(); // word id → row, so that rows can glide to their new places

  const caption = html("caption", { class: "unseen" });
  const body = html("tbody");
  const value = html("output", { for: "lambda" }, "1");
  const slider = html("input", {
    type: "range", id: "lambda", min: 0, max: 1, step: data.lambda_step, value: 1, "aria-describedby": "lambda-note",
    oninput: () => {
      lambda = Number(slider.value);
      value.textContent = rounded.format(lambda);
      slider.setAttribute("aria-valuetext", `λ ${value.textContent}`);
      draw();
    },
  });
  const control = html(
    "div",
    { class: "lambda" },
    html("label", { for: "lambda" }, "Relevance λ = ", value),
    html("div", { class: "ends" }, html("span", {}, "distinctive"), slider, html("span", {}, "likeliest")),
    html("p", { id: "lambda-note", class: "unseen" },
      `At 1 words are ordered by probability; towards 0, words that other ${many} seldom use come first.`),
  );
  const hasIntervals = data.samples > 1;
  const table = html(
    "table",
    { class: "words" },
    caption,
    html("thead", {}, html("tr", {},
      html("th", { scope: "col" }, "Word"),
      html("th", { scope: "col", class: "bar-head" }, unseen("Bar")),
      html("th", { scope: "col" }, "Probability"),
      hasIntervals ? html("th", { scope: "col", class: "wide" }, `${levelOf(data)} interval`) : null,
      hasIntervals ? html("th", { scope: "col", class: "wide", title: `Probability to be among the ten likeliest words of the ${one}` }, "In top 10") : null,
    )),
    body,
  );

  function draw() {
    const shown = relevant(topic, lambda, data.words_shown);
    const scale = shown.reduce((most, row) => Math.max(most, row[HIGH] ?? row[MEAN], data.overall[row[ID]]), 0);
    const before = new Map([...rows].map(([id, row]) => [id, row.offsetTop]));
    const held = [...rows.keys()].find((id) => rows.get(id).contains(document.activeElement));
    rows.clear();
    for (const row of shown) rows.set(row[ID], wordRow(row, scale));
    body.replaceChildren(...rows.values());
    caption.textContent = `The ${shown.length} most relevant words of ${one} ${topic.number}`;
    rows.get(held)?.querySelector("button").focus();
    glide(before);
  }

  function wordRow(row, scale) {
    const part = (p) => `${(100 * p) / scale}%`;
    const known = row[LOW] !== null;
    return html("tr", { class: row[ID] === word ? "chosen" : null },
      html("th", { scope: "row" },
        html("button", { type: "button", class: "word", "aria-pressed": String(row[ID] === word),
          title: "Show on the map where this word is used", onclick: () => chooseWord(row[ID]) }, data.words[row[ID]])),
      html("td", { class: "bar-cell", "aria-hidden": "true" },
        html("div", { class: "bar", "--mean": part(row[MEAN]), "--overall": part(data.overall[row[ID]]),
          "--low": part(row[LOW] ?? row[MEAN]), "--high": part(row[HIGH] ?? row[MEAN]) },
        html("i", { class: "mean" }), known ? html("i", { class: "whisker" }) : null, html("i", { class: "overall" }))),
      html("td", {}, percent(row[MEAN])),
      hasIntervals ? html("td", { class: "wide" }, known ? interval(row[LOW], row[HIGH]) : UNTOLD) : null,
      hasIntervals ? html("td", { class: "wide" }, row[IN_TOP] === null ? "" : wholePercent(row[IN_TOP])) : null,
    );
  }

  function glide(before) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const [id, row] of rows) {
      const from = before.get(id);
      if (from === undefined || from === row.offsetTop) continue;
      row.animate([{ transform: `translateY(${from - row.offsetTop}px)` }, { transform: "none" }],
        { duration: 250, easing: "ease-out" });
    }
  }

  return {
    parts: [control, keys(hasIntervals), table],
    show(next) {
      topic = next;
      rows.clear();
      draw();
    },
    mark(id) {
      word = id;
      draw();
    },
  };
}
