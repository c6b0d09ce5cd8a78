// The site's own search outside a browser: `node search.js SITE WORD..` prints the pages that each word finds, best first.
// It runs the worker that the browser runs, on the index of the built site.
"use strict";
const fs = require("fs");
const path = require("path");

const [site, ...words] = process.argv.slice(2);
const workers = path.join(site, "assets/javascripts/workers");
const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json")));
let receive, answered;
globalThis.self = globalThis;
globalThis.addEventListener = (_, listener) => (receive = listener);
globalThis.postMessage = (message) => answered(message);
const ask = (message) => new Promise((done) => {
    answered = done;
    receive({ data: message });
  });

new Function(fs.readFileSync(path.join(workers, fs.readdirSync(workers).find((name) => name.endsWith(".js"))), "utf8"))();
(async () => {
  await ask({ type: 0, data: { ...index, options: { suggest: false } } });
  const found = {};
  for (const word of words) {
    const { data } = await ask({ type: 2, data: word });
    found[word] = data.items.map((sections) => sections.sort((a, b) => b.score - a.score)[0].location);
  }
  process.stdout.write(JSON.stringify(found));
})();
