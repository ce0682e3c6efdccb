// node perfetto_engine.mjs WEB_DIST REQUESTS RESPONSES
//
// Gives the bytes of REQUESTS (a TraceProcessorRpcStream) to the engine of Perfetto's web interface
// in the folder WEB_DIST, and writes what it answers. The engine is written for a web worker: here
// are the few things of one that it uses.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [dist, requests, responses] = process.argv.slice(2);
const read = (name) => fs.readFileSync(path.join(dist, path.basename(String(name))));
const fail = (error) => {
  console.error(String(error?.stack ?? error).slice(0, 1000));  // its code is one long line
  process.exit(1);
};
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

const worker = { console, setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, performance,
                 crypto };
worker.self = worker;
worker.location = { href: "file:///" };
worker.WorkerGlobalScope = class {};
worker.XMLHttpRequest = class {
  open(_, name) { this.name = name; }
  send() { this.response = read(this.name); }
};
worker.fetch = async (name) =>
  new Response(read(name), { headers: { "content-type": "application/wasm" } });
vm.createContext(worker);
vm.runInContext(read("engine_bundle.js").toString(), worker);

// The engine answers each request before it returns.
const answers = [];
const port = { postMessage: (bytes) => answers.push(Buffer.from(bytes)) };
worker.onmessage({ data: port });
const bytes = vm.runInContext("(x) => new Uint8Array(x)", worker)(fs.readFileSync(requests));
const deadline = Date.now() + 60000;
const ask = () => {
  try {
    port.onmessage({ data: bytes });
  } catch (error) {  // before WebAssembly is compiled
    if (Date.now() > deadline) return fail(error);
    return setTimeout(ask, 200);
  }
  fs.writeFileSync(responses, Buffer.concat(answers));
  process.exit(0);
};
setTimeout(ask, 1500);
