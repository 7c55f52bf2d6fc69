// The panel of the chosen topic: its facts, words, documents and trend.

function topicPanel(place, choose, chooseWord) {
  const words = wordTable(chooseWord);
  const head = html("header", { class: "topic-head" });
  const documents = html("section", { class: "documents", "aria-label": `Documents of the ${one}` });
  const trend = html("section", { class: "trend", "aria-label": `Trend of the ${one}` });
  let shown = -1;
  renamed.push((i) => { // the field of the name stays: whoever types there goes on
    if (i !== shown) return;
    byId("topic-name").textContent = titled(i);
    byId("topic-words").hidden = given[i] === null;
  });
  place.append(head, ...words.parts, documents, trend);

  return {
    mark: words.mark,
    show(i) {
      const topic = data.topics[(shown = i)];
      const held = head.contains(document.activeElement) ? document.activeElement.id : "";
      head.replaceChildren(...topicHead(topic, i, choose));
      if (held) byId(held).focus();
      words.show(topic);
      documents.replaceChildren(...topicDocuments(topic));
      trend.replaceChildren(...topicTrend(topic));
    },
  };
}

const hasOwnPriors = data.topics.some((topic) => topic.alpha !== data.topics[0].alpha);

function topicHead(topic, i, choose) {
  const at = order.indexOf(i);
  const go = (to, id, name, sign) =>
    html("button", { type: "button", id, class: "round", "aria-label": name, title: name,
      onclick: () => choose(order[(to + order.length) % order.length]) }, sign);
  return [
    html("div", { class: "topic-bar" },
      html("p", { class: "overline" }, `${One} ${topic.number}`, html("span", {}, ` · ${at + 1} of ${order.length} by size${topic.group === null ? "" : ` · ${topic.group}`}`)),
      html("div", {}, go(at - 1, "larger", `Larger ${one}`, "←"), go(at + 1, "smaller", `Smaller ${one}`, "→"))),
    nameField(i), // above what changes with the name, so that nothing moves under the mouse
    html("h2", { id: "topic-name" }, titled(i)),
    html("p", { class: "measures", id: "topic-words", hidden: given[i] === null }, labels[i].join(" · ")),
    html("p", { class: "topic-facts" },
      html("span", {}, html("b", {}, percent(topic.share[0])), ` of all ${data.terms.of}`,
        ` (${topic.share[1] === null ? `interval: ${UNTOLD}` : interval(topic.share[1], topic.share[2])})`),
      stability(topic)),
    html("p", { class: "measures" },
      topic.npmi === null ? null : html("span", {}, "Coherence ", html("b", {}, decimals(topic.npmi))),
      html("span", {}, "Exclusivity ", html("b", {}, decimals(topic.exclusivity))),
      hasOwnPriors ? html("span", {}, "Prior α ", html("b", {}, topic.alpha.toPrecision(2))) : null),
    topic.near.length
      ? html("p", { class: "near" }, "Nearest: ", topic.near.map((to) => topicLink(position.get(to))))
      : null,
  ].filter(Boolean);
}

function topicLink(i) {
  return html("a", { class: "chip", href: `#${one}-${data.topics[i].number}` },
    html("b", {}, data.topics[i].number), ` ${names[i]}`);
}

/** Whether the chains, or the samples, agree on a topic, in a word and a sign. */
function stability(topic) {
  if (topic.held !== undefined) {
    const met = `found again in ${wholePercent(topic.held)} of the samples, mean Jaccard index ${decimals(1 - topic.distance)}`;
    return html("span", { class: `badge ${topic.stable ? "good" : "bad"}`, title: met },
      `${topic.stable ? "●" : "○"} in ${wholePercent(topic.held)} of samples`);
  }
  if (topic.stable === null) return html("span", { class: "badge" }, data.chains === 1 ? "one chain" : "no samples yet");
  const found = `found by ${topic.found} of ${data.chains} chains, mean distance ${decimals(topic.distance)}`;
  return html("span", { class: `badge ${topic.stable ? "good" : "bad"}`, title: found },
    topic.stable ? "● stable" : `○ ${topic.found} of ${data.chains} chains`);
}

function topicDocuments(topic) {
  if (!topic.documents.length) return [];
  return [
    html("h3", {}, "Documents"),
    html("ol", {}, topic.documents.map((one) =>
      html("li", {},
        html("span", { class: "title" }, one.title ?? one.name),
        one.title ? html("span", { class: "name" }, one.name) : null,
        one.columns.length
          ? html("span", { class: "name" }, one.columns.map(([name, value]) => `${name}: ${value}`).join(" · "))
          : null,
        one.share === null ? null : html("span", { class: "share" }, percent(one.share)),
        one.words.length ? html("span", { class: "bag" }, one.words.join(" ")) : null))),
  ];
}

function topicTrend(topic) {
  if (!data.periods) return [];
  const { unit, names: periods, least, documents, read, dated } = data.periods;
  const seen = read < dated ? " that were read" : "";
  const drawn = seen ? `. ${whole.format(read)} of ${whole.format(dated)} documents with a time were read, drawn at random` : "";
  const known = topic.trend.flatMap((row, i) => (row[0] === null ? [] : [[i, ...row]]));
  if (!known.length) return [html("h3", {}, "Trend"), html("p", {}, UNTOLD)]; // no chain with samples has found it
  return [
    lineChart({
      title: "Trend",
      note: `Share of the ${data.terms.of} of each ${unit} of at least ${least} documents${seen}, with ${levelOf(data)} intervals${drawn}`,
      x: { name: unit, names: periods },
      y: { name: "share", format: percent, zero: true },
      series: [{ name: "share", points: known.map(([i, share]) => [i, share]) }],
      band: { name: `${levelOf(data)} interval`, ends: new Map(known.map(([i, , low, high]) => [i, [low, high]])) },
      count: { name: "documents", of: (i) => documents[i] },
    }),
  ];
}
