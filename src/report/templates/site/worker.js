// Runs the module. It has no imports: it can do nothing but compute.
"use strict";
function put(exports, room, bytes) {
  var place = exports[room](bytes.length);
  new Uint8Array(exports.memory.buffer, place >>> 0, bytes.length).set(bytes);
}

onmessage = function (event) {
  var task = event.data;
  WebAssembly.instantiate(task.module, {}).then(function (made) {
    var exports = made.instance.exports;
    put(exports, "room_for_file", new Uint8Array(task.file));
    put(exports, "room_for_order", new TextEncoder().encode(JSON.stringify(task.order)));
    var length = exports.judge() >>> 0;
    var answer = new Uint8Array(exports.memory.buffer, exports.answer() >>> 0, length);
    postMessage(JSON.parse(new TextDecoder().decode(answer)));
  }).catch(function (error) {
    postMessage({ stopped: String(error) });
  });
};
