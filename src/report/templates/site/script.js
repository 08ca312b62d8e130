(function () {
  "use strict";
  Array.from(document.querySelectorAll("form.tools")).forEach(function (form) {
    var table = form.nextElementSibling.querySelector("table");
    var suites = Array.from(table.tBodies);
    var field = function (name) { return form.elements[name].value; };

    function show() {
      var seen = 0;
      suites.forEach(function (suite) {
        var rows = Array.from(suite.rows).filter(function (row) { return row.dataset.level; });
        var kept = rows.filter(function (row) {
          var hides = [
            field("suite") !== "" ? suite.dataset.suite !== field("suite") : false,
            field("level") !== "" ? row.dataset.level !== field("level") : false,
            field("basis") !== "" ? row.dataset.basis !== field("basis") : false,
            field("trait") !== "" ? !row.dataset.traits.split(" ").includes(field("trait")) : false
          ].includes(true);
          row.hidden = hides;
          return !hides;
        });
        suite.hidden = kept.length === 0;
        seen += kept.length;
      });
      form.querySelector("output").textContent = seen + " of " + table.dataset.rules + " rules";
    }

    form.hidden = false;
    form.addEventListener("input", show);
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    show();
  });
})();
