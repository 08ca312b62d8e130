(function () {
  "use strict";
  // A browser may refuse to hold more in one piece, and the module has its own limit.
  var LARGEST = 1 << 30;
  var at = function (id) { return document.getElementById(id); };
  var form = at("judge"), drop = at("drop"), choose = at("file"), edition = at("edition");
  var status = at("status"), result = at("result"), stop = at("stop");
  var module = null, worker = null, file = null, saved = null;

  // The module stands in the page, packed: fetching it would need a connection.
  function unpack() {
    var text = atob(at("module").textContent);
    var packed = Uint8Array.from(text, function (letter) { return letter.charCodeAt(0); });
    var plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).arrayBuffer();
  }

  function say(text, kind) {
    status.textContent = text;
    status.className = kind ? "notice " + kind : "";
  }

  function end() {
    if (worker) { worker.terminate(); }
    worker = null;
    stop.hidden = true;
  }

  function refuse(reason) {
    end();
    say(reason, "fail");
  }

  function size(bytes) {
    return bytes < 1e6 ? Math.ceil(bytes / 1e3) + " kB" : (bytes / 1e6).toFixed(1) + " MB";
  }

  function show(judged, seconds) {
    end();
    say("Judged " + file.name + ", " + size(file.size) + ", in " + seconds.toFixed(1) + " s.");
    at("headline").textContent = judged.headline.charAt(0).toUpperCase() + judged.headline.slice(1);
    document.querySelectorAll("[data-decision]").forEach(function (sign) {
      sign.hidden = sign.dataset.decision !== judged.decision;
    });
    at("notes").replaceChildren.apply(at("notes"), judged.notes.map(function (note) {
      var item = document.createElement("li");
      item.textContent = note;
      return item;
    }));
    if (saved) { URL.revokeObjectURL(saved); }
    saved = URL.createObjectURL(new Blob([judged.html], { type: "text/html" }));
    // In a tab of its own: within a frame that is shut off, its links to its own parts would lead nowhere.
    at("open").href = at("save").href = saved;
    result.hidden = false;
  }

  function judge() {
    if (!file) { return; }
    end();
    result.hidden = true;
    if (file.size > LARGEST) {
      refuse(file.name + " is larger than 1 GiB: judge it with clusterprofile-conformance run --from");
      return;
    }
    var began = performance.now();
    say("Judging " + file.name + ", " + size(file.size) + " …");
    stop.hidden = false;
    var own = worker = new Worker(URL.createObjectURL(new Blob([at("worker").textContent], { type: "text/javascript" })));
    own.onmessage = function (event) {
      var answer = event.data;
      if (own !== worker) { return; }
      if (answer.judged) {
        show(answer.judged, (performance.now() - began) / 1000);
      } else {
        refuse(answer.refused || "The judge stopped, perhaps out of memory: judge the file with " +
          "clusterprofile-conformance run --from (" + answer.stopped + ")");
      }
    };
    own.onerror = function (event) {
      event.preventDefault();
      if (own === worker) { refuse("The judge cannot be started: " + event.message); }
    };
    module = module || unpack();
    Promise.all([module, file.arrayBuffer()]).then(function (read) {
      if (own !== worker) { return; }
      own.postMessage({
        module: read[0],
        file: read[1],
        order: {
          name: file.name,
          edition: edition.value || null,
          now: new Date().toISOString(),
          key: Array.from(crypto.getRandomValues(new Uint8Array(32)))
        }
      }, [read[1]]);
    }).catch(function (error) {
      if (own === worker) { refuse(file.name + " cannot be read: " + error.message); }
    });
  }

  function take(files) {
    if (files.length > 1) {
      refuse("These are " + files.length + " files: drop one, such as a dump of all profiles and namespaces");
      return;
    }
    file = files[0] || file;
    judge();
  }

  form.hidden = false;
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  choose.addEventListener("change", function () { take(choose.files); });
  edition.addEventListener("change", judge);
  stop.addEventListener("click", function () { end(); say("Stopped."); });
  // A file that misses the field would replace the page.
  ["dragover", "dragleave", "drop"].forEach(function (kind) {
    document.addEventListener(kind, function (event) {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop") { take(event.dataTransfer.files); }
    });
  });
})();
