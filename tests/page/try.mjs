// Uses the page of a served program in Chromium as a person would; prints what it showed as JSON.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [executablePath, url, scheme] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1100, height: 800 } });
const page = await context.newPage();
const messages = [], hosts = new Set();
page.on("console", (message) => messages.push(message.text()));
page.on("pageerror", (error) => messages.push(String(error)));
page.on("request", (request) => hosts.add(new URL(request.url()).origin));
await page.goto(url);
const text = async (selector) => (await page.textContent(selector)).trim();
async function until(what) {
  for (let left = 1000; left > 0; left--) {
    if (await what()) return;
    await new Promise((go) => setTimeout(go, 20));
  }
  throw new Error(`never came true: ${what}`);
}
const told = {};
await until(async () => (await text("#about")).includes("token"));
told.without = await text("#about");
await page.getByLabel("Token").fill("0123456789abcdef");
await page.getByLabel("Session").fill("mine");
await page.getByRole("button", { name: "Load" }).click();
await until(async () => (await text("#about")).includes("functions"));
const messagesOfLoading = messages.splice(0);
async function choose(name, values) {
  await page.getByLabel("Function").selectOption(name);
  for (const [label, value] of Object.entries(values)) await page.locator(`#arguments [name="${label}"]`).fill(value);
}
const outcome = async () => text("#outcome");
await choose("hello", { name: '<img src=x onerror="alert(1)">' });
told.doc = await text("#doc");
await page.getByRole("button", { name: "Call" }).click();
await until(outcome);
told.called = await outcome();
await choose("tell", { count: "3" });
await page.getByRole("button", { name: "Stream" }).click();
await until(async () => (await outcome()).includes("result"));
told.streamed = await outcome();
await choose("echo", { value: '{"a": [1' });
await page.getByRole("button", { name: "Call" }).click();
await until(outcome);
told.wrong = await outcome();
await choose("pay", { sum: "7" });
await page.getByRole("button", { name: "Stream" }).click();
await until(async () => (await page.locator("#questions li").count()) === 1);
told.question = await text("#questions li");
const session = await context.newCDPSession(page);
await session.send("Runtime.evaluate", { expression: readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8") });
const axe = await session.send("Runtime.evaluate", { expression: "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html + ' ' + n.failureSummary)]))", awaitPromise: true, returnByValue: true });
told.axe = axe.result.value;
await page.getByRole("button", { name: "Yes" }).click();
await until(async () => (await outcome()).includes("paid 7"));
told.paid = await outcome();
await until(async () => (await page.locator("#questions li").count()) === 0);
await choose("wait", { ms: "60000" });
await page.getByRole("button", { name: "Stream" }).click();
await until(async () => (await outcome()).includes("begun"));
await page.getByRole("button", { name: "Cancel" }).click();
await until(async () => (await outcome()).includes("cancelled"));
told.images = await page.locator("img").count();
await browser.close();
console.log(JSON.stringify({ ...told, messages, loading: messagesOfLoading.length, hosts: [...hosts] }));
