// Finding words and topics: results are buttons under the field; arrow keys walk through them, and
// the one that is chosen takes the reader to the topic.

const MOST_FOUND = 12;

function search(choose, chooseWord) {
  const field = byId("find");
  const list = byId("found");
  const lower = data.words.map((word) => word.toLowerCase());

  function matches(text) {
    const topics = data.topics.flatMap((topic, i) => (String(topic.number) === text || given[i]?.toLowerCase().includes(text) ? [i] : []));
    const starting = [], inside = [];
    lower.forEach((word, id) => {
      if (word.startsWith(text)) starting.push(id);
      else if (word.includes(text)) inside.push(id);
    });
    // The exact word comes first, then frequent ones.
    starting.sort((a, b) => (lower[b] === text) - (lower[a] === text) || data.overall[b] - data.overall[a]);
    return { topics, words: [...starting, ...inside] };
  }

  function show() {
    const text = field.value.trim().toLowerCase().replace(new RegExp(`^${one} `), "");
    const found = text ? matches(text) : { topics: [], words: [] };
    const topics = found.topics.slice(0, MOST_FOUND), words = found.words.slice(0, MOST_FOUND - topics.length);
    const most = [
      ...topics.map((i) => result(() => choose(i), `${One} ${data.topics[i].number}${given[i] === null ? "" : ` ${given[i]}`}`, labels[i].join(", "))),
      ...words.map((id) => result(() => (choose(mainTopic(id)), chooseWord(id)), data.words[id], places(id))),
    ];
    const count = found.topics.length + found.words.length;
    byId("found-count").textContent = text ? `${count} found` : "";
    list.replaceChildren(...(most.length || !text ? most : [html("li", { class: "none" }, `Nothing found among the words of the ${many}`)]));
    list.hidden = !text;
  }

  const mainTopic = (id) => position.get(data.spread[id][0][0]);
  const places = (id) => data.spread[id].slice(0, 3).map(([k, p]) => `${one} ${k}: ${wholePercent(p)}`).join(", ");

  function result(act, name, note) {
    return html("li", {}, html("button", { type: "button", onclick: () => { act(); close(); byId("topic").focus(); } }, html("b", {}, name), html("span", {}, note)));
  }

  function close() {
    list.hidden = true;
  }

  function walk(event) {
    const buttons = [...list.querySelectorAll("button")];
    if (event.key === "Escape") {
      close();
      field.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const at = buttons.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      (buttons[at] ?? field).focus();
      event.preventDefault();
    } else if (event.key === "Enter" && document.activeElement === field) {
      buttons[0]?.click();
    }
  }

  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  field.parentElement.addEventListener("keydown", walk);
  field.parentElement.addEventListener("focusout", (event) => {
    if (!field.parentElement.contains(event.relatedTarget)) close();
  });
}
