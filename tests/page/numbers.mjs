// Runs the script of the page of a served program without a browser; prints what it makes of numbers as JSON.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const elements = {};
const node = (tag = "") => ({
  tag, dataset: {}, children: [], style: {}, value: "", textContent: "",
  append(...more) { this.children.push(...more); },
  replaceChildren(...more) { this.children = more; },
  setAttribute() {},
});
const told = { shown: [] };
const document = {
  hidden: true,
  createElement: node,
  getElementById: (id) => (elements[id] ??= node()),
};
const context = vm.createContext({ document, fetch: async () => ({ ok: false, status: 0, json: async () => ({}) }), setInterval() {}, AbortController });
vm.runInContext(readFileSync(process.argv[2], "utf-8"), context);
await new Promise((go) => setTimeout(go, 10));
const schemas = { id: "integer", small: "integer", share: "number", none: "integer", loud: "boolean", calm: "boolean", any: "array", text: "string" };
const parameters = Object.entries(schemas).map(([name, type]) => ({ name, schema: { type }, required: !["loud"].includes(name) }));
const values = { id: "9007199254740993", small: "-07", share: "1.5", none: "", loud: "", any: "[9007199254740993, 0.12345678901234567]", text: 'a"b' };
context.parameters = parameters;
elements.arguments.elements = {};
for (const parameter of parameters) {
  const input = context.field(parameter).children[0];
  input.type ??= input.tag === "select" ? "select-one" : input.tag;
  elements.arguments.elements[parameter.name] = Object.assign(input, parameter.name in values ? { value: values[parameter.name] } : { checked: true });
}
elements.function.value = "f";
vm.runInContext('functions = [{ name: "f", parameters }]', context);
told.given = context.given();
document.getElementById("outcome").append = (line) => told.shown.push(line.textContent);
context.event('event: emit\ndata: {"channel":"c","payload":{"payload":9007199254740993,"s":"9007199254740993 \\"x\\" 1"}}');
context.event('event: result\ndata: [-9223372036854775808,1234567890123456.5,12]');
told.pretty = context.pretty('{"a":18014398509481985}');
told.question = context.question({ key: "k", function: "f", channel: "c", answer: {}, payload: vm.runInContext("parsed('[9007199254740993]')", context) }).children[1].textContent;
console.log(JSON.stringify(told));
