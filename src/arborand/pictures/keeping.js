// The menu that saves decisions: writes the corpus with them, and writes and reads files of decisions.
(() => {
  const { html, button } = diagram;
  const { corpus, data, say, source } = page;
  const packed = document.getElementById("corpus");
  if (!packed || !data.some(({ scores }) => scores)) return; // nothing can be decided
  const { name, places, deflated, is_whole: isWhole } = JSON.parse(packed.textContent);
  const stem = name.replace(/\.conllu$/i, "").replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "corpus";
  const MOST_NAMED = 5;

  const offer = (content, fileName, kind) => {
    const address = URL.createObjectURL(new Blob([content], { type: kind }));
    html("a", { href: address, download: fileName }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const listed = (ids) => markup.enumerate(ids, MOST_NAMED);
  const counted = (count) => (count === 1 ? "1 sentence" : `${count} sentences`);

  // ---- the corpus -------------------------------------------------------------------------------
  const check = (words) => {
    const box = html("input", { type: "checkbox" });
    return { box, label: html("label", {}, box, " ", words) };
  };
  const complete = check("In sentences with decisions, give open words the heads of the best tree");
  const signed = check("Record in MISC who chose a head: Head=decided, Head=best");
  let file = null;
  const save = async () => {
    file ||= await conllu.unpack(deflated);
    const made = corpus.decided.map((index) => {
      const [start, stop] = places[index];
      return { id: data[index].id, choices: corpus.choicesOf(index), start, stop };
    });
    const options = { isComplete: complete.box.checked, isSigned: signed.box.checked };
    const { bytes, changed, unsound } = conllu.save(file, made, options);
    offer(bytes, `${stem}.decided.conllu`, "text/plain");
    const contradictions = unsound.length
      ? ` In ${listed(unsound.map(({ id }) => id))}, the lines that were kept contradict your decisions: ` +
        "together they are not a tree. Give open words the heads of the best tree."
      : "";
    say(`Saved ${isWhole ? "the whole corpus" : counted(data.length)}: ${counted(changed.length)} changed, ` +
      `the rest is unchanged.${contradictions}`, Boolean(unsound.length));
  };

  // ---- files of decisions -----------------------------------------------------------------------
  const exportAll = () => {
    offer(corpus.toFile(), `${stem}.decisions.json`, "application/json");
    say(`Exported the decisions about ${counted(corpus.decided.length)}.`);
  };
  const take = async (input) => {
    const [chosen] = input.files;
    if (!chosen) return;
    try {
      const found = corpus.take(await chosen.text());
      const notes = [
        [found.refused, "No tree agrees with the decisions about"],
        [found.missing, "Not on this page:"],
        [found.differing, "With different words on this page:"],
        [found.damaged, "Not understood:"],
        [found.ofOtherScores, "Decided with other scores:"],
      ].filter(([ids]) => ids.length).map(([ids, words]) => ` ${words} ${listed(ids)}.`);
      say(`Imported the decisions about ${counted(found.taken.length)}.${notes.join("")}`, notes.length > 0);
    } catch (error) {
      say(`${chosen.name} was not imported. ${error.message}`, true);
    }
    input.value = "";
  };
  const input = html("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "Decisions" });
  input.addEventListener("change", () => take(input));

  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const copyCommand = async () => {
    const text = `${source} --decisions ${quoted(`${stem}.decisions.json`)}`;
    try {
      await navigator.clipboard.writeText(text);
      say(`Copied: ${text}`);
    } catch {
      say(text);
    }
  };

  const summary = html("summary", {}, "Save");
  const count = html("p", { class: "hint" });
  const exporting = button({ class: "export", onclick: exportAll }, "Export decisions");
  const menu = html("details", { class: "keeping menu" }, summary,
    html("div", { class: "sheet" }, count,
      html("p", {}, button({ class: "save", onclick: save }, isWhole ? "Save the corpus (CoNLL-U)" : "Save these sentences (CoNLL-U)")),
      complete.label, signed.label,
      html("p", {}, exporting, " ", button({ class: "import", onclick: () => input.click() }, "Import decisions"), input),
      source ? html("p", {}, button({ class: "copy", onclick: copyCommand }, "Copy command")) : null,
      html("p", { class: "hint" }, "Decisions stay in this browser, by sentence. A file of decisions can be sent to others, " +
        "or passed to the commands best and evaluate (--decisions).")));
  const update = () => {
    const { length } = corpus.decided;
    summary.textContent = length ? `Save (${length})` : "Save";
    count.textContent = length ? `Decisions about ${counted(length)}.` : "Nothing decided yet.";
    exporting.disabled = !length;
    if (corpus.store.isFailing) say("This browser does not keep decisions: export them before you leave.", true);
  };
  corpus.listen(update);
  update();
  page.legend.before(menu);
})();
