"use strict";
// The page of a served program. All texts are set as text, never as markup.

const at = (id) => document.getElementById(id);
let functions = [];
let running = null; // what ends the call or stream that runs

function headers(more) {
  const all = { ...more };
  const token = at("token").value.trim();
  const session = at("session").value.trim();
  if (token) all.Authorization = `Bearer ${token}`;
  if (session) all["Concerto-Session"] = session;
  return all;
}

function made(tag, text, parts = {}) {
  const node = Object.assign(document.createElement(tag), parts);
  if (text !== undefined) node.textContent = text;
  return node;
}

async function failureOf(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `HTTP ${response.status}`;
  }
}

async function load() {
  const response = await fetch("functions", { headers: headers() });
  if (!response.ok) {
    at("about").textContent = await failureOf(response);
    return;
  }
  const told = await response.json();
  functions = told.functions;
  document.title = at("title").textContent = told.program;
  at("about").textContent = `${functions.length} functions`;
  at("function").replaceChildren(...functions.map((one) => made("option", one.name, { value: one.name })));
  choose();
  questions();
}

const chosen = () => functions.find((one) => one.name === at("function").value);

function choose() {
  const one = chosen();
  at("doc").textContent = one ? one.doc : "";
  at("arguments").replaceChildren(...(one ? one.parameters.map(field) : []));
}

// A field for each parameter: by its schema a text, a number, a box, or JSON.
function field(parameter) {
  const type = parameter.schema.type;
  const label = made("label", `${parameter.name}${parameter.required ? "" : " (may be left out)"} `);
  let input;
  if (type === "boolean" && parameter.required) input = made("input", undefined, { type: "checkbox" });
  else if (type === "boolean") {
    input = made("select");
    input.append(...["", "true", "false"].map((word) => made("option", word, { value: word })));
  }
  else if (type === "string" && !parameter.schema.contentEncoding) input = made("input", undefined, { type: "text" });
  else if (type === "integer" || type === "number") input = made("input", undefined, { type: "number", step: type === "integer" ? "1" : "any" });
  else input = made("textarea", undefined, { spellcheck: false, placeholder: "JSON" });
  input.name = parameter.name;
  input.autocomplete = "off";
  label.append(input);
  return label;
}

// The arguments as JSON text. What a person writes as JSON goes as it stands, since numbers of JavaScript are not those of JSON.
function given() {
  const rows = [];
  for (const parameter of chosen().parameters) {
    const input = at("arguments").elements[parameter.name];
    const isNumber = input.type === "number"; // the server says that it is missing
    if (input.type !== "checkbox" && input.value === "" && (isNumber || !parameter.required)) continue;
    rows.push(`${JSON.stringify(parameter.name)}: ${written(input)}`);
  }
  return `{${rows.join(", ")}}`;
}

function written(input) {
  if (input.type === "checkbox") return String(input.checked);
  if (input.type === "text") return JSON.stringify(input.value);
  if (input.type === "number") return /^-?[0-9]+$/.test(input.value) ? String(BigInt(input.value)) : JSON.stringify(Number(input.value));
  JSON.parse(input.value); // what is none is told here
  return input.value;
}

function show(text, bad = false) {
  const line = made("span", `${text}\n`);
  if (bad) line.className = "bad";
  at("outcome").append(line);
  at("outcome").scrollTop = at("outcome").scrollHeight;
}

async function begin(stream) {
  at("outcome").replaceChildren();
  running = new AbortController();
  at("cancel").disabled = false;
  try {
    const response = await fetch(`call/${at("function").value.split("/").map(encodeURIComponent).join("/")}`, {
      method: "POST",
      signal: running.signal,
      body: given(),
      headers: headers({ "Content-Type": "application/json", Accept: stream ? "text/event-stream" : "application/json" }),
    });
    if (stream && response.ok) await watch(response);
    else show(pretty(await response.text()), !response.ok);
  } catch (error) {
    show(error.name === "AbortError" ? "cancelled" : String(error.message || error), true);
  } finally {
    running = null;
    at("cancel").disabled = true;
  }
}

async function watch(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) event(block);
  }
}

function event(block) {
  const parts = Object.fromEntries(block.split("\n").filter((line) => !line.startsWith(":")).map((line) => {
    const cut = line.indexOf(": ");
    return [line.slice(0, cut), line.slice(cut + 2)];
  }));
  if (parts.data === undefined) return;
  const data = parsed(parts.data);
  if (parts.event === "text") at("outcome").append(data.text);
  else if (parts.event === "emit") show(`${data.channel}: ${line(data.payload)}`);
  else if (parts.event === "question") {
    show(`asks on ${data.channel}: ${line(data.payload)}`);
    questions();
  } else if (parts.event === "error") show(pretty(parts.data), true);
  else show(`${parts.event}: ${pretty(parts.data)}`);
}

// JSON whose whole numbers have more digits than those of JavaScript: each such number is an object with its digits.
const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
const parsed = (text) => JSON.parse(text.replace(TOKEN, (one) => (/^-?[0-9]{16,}$/.test(one) ? `{"\\u0000":"${one}"}` : one)));
const printed = (value, indent) => JSON.stringify(value, null, indent).replace(/\{\s*"\\u0000":\s*"(-?[0-9]+)"\s*\}/g, "$1");
const line = (value) => (typeof value === "string" ? value : printed(value));

function pretty(text) {
  try {
    return printed(parsed(text), 2);
  } catch {
    return text;
  }
}

async function questions() {
  const response = await fetch("questions", { headers: headers() }).catch(() => null);
  if (!response || !response.ok) return;
  const open = parsed(await response.text());
  const shown = new Set([...at("questions").children].map((one) => one.dataset.key));
  const keys = new Set(open.map((one) => one.key));
  for (const item of [...at("questions").children]) if (!keys.has(item.dataset.key)) item.remove();
  // Those that are shown stay as they are: a person may be writing the answer.
  for (const one of open) if (!shown.has(one.key)) at("questions").append(question(one));
  at("none").hidden = open.length > 0;
}

function question(one) {
  const item = made("li");
  item.dataset.key = one.key;
  const payload = made("pre", typeof one.payload === "string" ? one.payload : printed(one.payload, 2));
  payload.tabIndex = 0;
  item.append(made("p", `${one.function} asks on ${one.channel}:`), payload);
  const form = made("form", undefined, { className: "bar" });
  const status = made("span", "", { className: "bad" });
  status.setAttribute("role", "status");
  const send = async (text) => {
    const response = await fetch(`questions/${one.key}`, { method: "POST", body: text, headers: headers({ "Content-Type": "application/json" }) });
    if (response.ok) questions();
    else status.textContent = await failureOf(response);
  };
  if (one.answer.type === "boolean") {
    for (const [word, value] of [["Yes", "true"], ["No", "false"]]) {
      const button = made("button", word, { type: "button" });
      button.onclick = () => send(value);
      form.append(button);
    }
  } else {
    const label = made("label", "Answer ");
    const input = made("input", undefined, { autocomplete: "off" });
    label.append(input);
    form.append(label, made("button", "Send"));
    form.onsubmit = (submitted) => {
      submitted.preventDefault();
      send(one.answer.type === "string" ? JSON.stringify(input.value) : input.value);
    };
  }
  form.append(status);
  item.append(form);
  return item;
}

at("who").onsubmit = (submitted) => {
  submitted.preventDefault();
  load();
};
at("arguments").onsubmit = (submitted) => {
  submitted.preventDefault();
  begin(false);
};
at("function").onchange = choose;
at("call").onclick = () => begin(false);
at("stream").onclick = () => begin(true);
at("cancel").onclick = () => running && running.abort();
setInterval(() => {
  if (!document.hidden) questions();
}, 2000);
load();
