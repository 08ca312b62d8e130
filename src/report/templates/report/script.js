(function () {
  "use strict";
  var form = document.querySelector("form.tools");
  var list = document.querySelector("[data-list=rules]");
  var items = Array.from(list.children);
  var texts = new Map(items.map(function (item) { return [item, item.textContent.toLowerCase()]; }));
  var field = function (name) { return form.elements[name]; };
  var details = function () { return Array.from(document.querySelectorAll("details")); };

  function show() {
    var text = field("text").value.trim().toLowerCase();
    var seen = items.filter(function (item) {
      var hides = [
        text !== "" ? !texts.get(item).includes(text) : false,
        field("verdict").value !== "" ? item.dataset.verdict !== field("verdict").value : false,
        field("level").value !== "" ? item.dataset.level !== field("level").value : false,
        field("basis").value !== "" ? item.dataset.basis !== field("basis").value : false
      ].includes(true);
      item.hidden = hides;
      return !hides;
    });
    form.querySelector("output").textContent = seen.length + " of " + items.length + " rules";
  }

  function sort() {
    var by = field("order").value;
    items.sort(function (one, other) { return one.dataset[by] - other.dataset[by]; });
    list.append.apply(list, items);
  }

  function reveal(hash) {
    var target = document.getElementById(decodeURIComponent(hash.slice(1)));
    var holder = target ? target.closest("details") : null;
    if (holder) {
      var item = holder.closest("li");
      item.hidden = false;
      holder.open = true;
    }
    if (target) { target.scrollIntoView(); }
    if (holder) {
      holder.querySelector("summary").focus({ preventScroll: true });
    }
  }

  form.hidden = false;
  form.addEventListener("input", function () { sort(); show(); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  field("toggle").addEventListener("click", function (event) {
    var opens = event.target.textContent === "Open all";
    list.querySelectorAll("details.entry").forEach(function (entry) { entry.open = opens; });
    event.target.textContent = opens ? "Close all" : "Open all";
  });
  show();

  var closed = [];
  window.addEventListener("beforeprint", function () {
    closed = details().filter(function (one) { return !one.open; });
    closed.forEach(function (one) { one.open = true; });
  });
  window.addEventListener("afterprint", function () {
    closed.forEach(function (one) { one.open = false; });
  });
  window.addEventListener("hashchange", function () { reveal(location.hash); });
  // What a page on a disk opens has no address that could change: its links to its own parts need help.
  var isOpened = [origin === "null", location.protocol === "blob:"].every(Boolean);
  if (isOpened) {
    document.addEventListener("click", function (event) {
      var link = event.target.closest("a[href^='#']");
      if (link) {
        event.preventDefault();
        reveal(link.hash);
      }
    });
  }
  reveal(location.hash);
})();
