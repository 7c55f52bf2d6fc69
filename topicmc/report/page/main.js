// One state: the chosen topic, and perhaps a word. The address keeps the topic (#topic-12).

let chosen = -1;
let word = null;

const map = topicMap(byId("map"), choose);
const panel = topicPanel(byId("topic"), choose, chooseWord);

function choose(i) {
  if (i === chosen) return;
  const isFirst = chosen < 0;
  chosen = i;
  map.mark(i);
  panel.show(i);
  const topic = data.topics[i];
  if (isFirst) return;
  byId("no-topic").hidden = true;
  history.replaceState(null, "", `#${one}-${topic.number}`);
  byId("announcement").textContent = `${One} ${topic.number}, ${percent(topic.share[0])} of all ${data.terms.of}: ${spoken(i)}`;
}

/** Chooses a word, or lets go of the one that is chosen. */
function chooseWord(id) {
  word = id === word ? null : id;
  map.weigh(word === null ? null : new Map(data.spread[word].map(([k, p]) => [position.get(k), p])));
  panel.mark(word);
  noteOfMap();
}

function noteOfMap() {
  const note = word === null
    ? [`Area: share of the ${data.terms.of}. Near ${many} use similar words; lines lead to the nearest. `,
       data.topics.some((topic) => topic.stable === false) ? `Dashed: ${data.how_many ? "most samples lack it" : "chains disagree"}.` : ""]
    : ["Area: where ", html("b", {}, data.words[word]), " is used. ",
       html("button", { type: "button", class: "plain", onclick: () => { chooseWord(word); map.focus(); } }, "Back to sizes")];
  byId("map-note").replaceChildren(...note);
}

function followAddress() {
  const match = new RegExp(`^#${one}-(\\d+)$`).exec(location.hash);
  const i = match && position.get(Number(match[1]));
  byId("no-topic").hidden = !match || i !== undefined;
  if (!match) return false;
  if (i === undefined) {
    byId("no-topic").textContent = `There is no ${one} ${match[1]} here: ${missing(Number(match[1]))}.`;
    byId("no-topic").scrollIntoView();
    return false;
  }
  choose(i);
  byId("explore").scrollIntoView();
  return true;
}

const missing = (k) => data.numbers.includes(k)
  ? `only the ${number(data.topics.length)} largest are on this page`
  : data.view ? "see what the view has merged and dropped" : `${many} have the numbers 0 to ${data.n_topics - 1}`;

function dressIn(theme) {
  const isDark = theme === "dark";
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(isDark));
  byId("theme").title = `Dark is ${isDark ? "on" : "off"}`;
}

showFacts();
showVerdict();
noteOfMap();
showTopics();
showTree();
showTraces();
showHowMany();
showDiagnostics();
showSettings();
showGuide();
search(choose, (id) => id === word || chooseWord(id));
if (!followAddress()) choose(order[0]);
addEventListener("hashchange", () => followAddress() && byId("topic").focus({ preventScroll: true }));

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
dressIn(prefersDark.matches ? "dark" : "light");
prefersDark.addEventListener("change", () => dressIn(prefersDark.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => dressIn(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
