// Names of topics: as given, or as typed here; saved as a file that `topicmc edit --labels` reads.

const given = data.topics.map((topic) => topic.label);
const unnamed = [...names];
const renamed = []; // who wants to know: called with the place of the topic

const titled = (i) => given[i] ?? labels[i].join(" · ");
const spoken = (i) => given[i] ?? labels[i].join(", ");
const shortly = (i) => { names[i] = given[i] === null ? unnamed[i] : brief(given[i]); };
given.forEach((_, i) => shortly(i));

function rename(i, text) {
  given[i] = text.trim() || null;
  shortly(i);
  renamed.forEach((tell) => tell(i));
}

function nameField(i) {
  // Groups of several mixtures are numbered anew here, and `topicmc edit` knows those of one.
  if (data.how_many && data.runs.length > 1) return null;
  const field = html("input", { type: "text", id: "name", maxlength: 100, autocomplete: "off", value: given[i] ?? "",
    placeholder: `Name this ${one}`, "aria-label": `Name of ${one} ${data.topics[i].number}`,
    onchange: () => rename(i, field.value) });
  return html("p", { class: "naming" }, field,
    html("button", { type: "button", id: "save-names", class: "plain", onclick: saveNames }, "Save names as a file"));
}

function saveNames() {
  const known = given.flatMap((name, i) => (name === null ? [] : [[data.topics[i].number, name]]));
  const text = JSON.stringify(Object.fromEntries(known), null, 2);
  const link = html("a", { href: URL.createObjectURL(new Blob([text])), download: "labels.json" });
  link.click();
  URL.revokeObjectURL(link.href);
}
