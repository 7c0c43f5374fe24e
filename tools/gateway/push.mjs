// Pushes with Node's http2: node push.mjs AUTHORITY URL PATH HEADERS, with one body per line of the
// standard input, all streams at once. Prints one line of JSON per answer: status, apns-id, body.
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { createInterface } from "node:readline";

const [authority, url, path, headers] = process.argv.slice(2);
const session = connect(url, { ca: readFileSync(authority) });
session.on("error", (error) => {
  console.error(error.message);
  process.exit(1);
});

const push = (body) =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": path, ...JSON.parse(headers) });
    let status, id, text = "";
    stream.setEncoding("utf8");
    stream.on("response", (fields) => ([status, id] = [fields[":status"], fields["apns-id"]]));
    stream.on("data", (part) => (text += part));
    stream.on("end", () => resolve({ status, id, body: text }));
    stream.on("error", reject);
    stream.end(body);
  });

const answers = [];
for await (const line of createInterface({ input: process.stdin })) answers.push(push(line));
for (const answer of await Promise.all(answers)) console.log(JSON.stringify(answer));
session.close();
