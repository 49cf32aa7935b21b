// Asks a served program by the client of OpenAI for JavaScript; prints a line for each answer.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "unused-0123456789", maxRetries: 0 });
const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }];
const asked = await client.chat.completions.create({ model: "loud", messages });
console.log(asked.choices[0].message.content.replace("\n", "|"));
let text = "";
for await (const chunk of await client.chat.completions.create({ model: "told", messages: [{ role: "user", content: "x" }], stream: true })) {
  text += chunk.choices[0]?.delta.content ?? "";
}
console.log(text);
console.log((await client.responses.create({ model: "told", input: "y" })).output_text);
try {
  await client.chat.completions.create({ model: "Hidden", messages });
} catch (error) {
  console.log(error.status);
}
