// Where decisions are kept between visits: in the browser's storage, in files, and in addresses.
// Everything read from these is checked: it may be old, damaged or written by others.
const decisions = (() => {
  const FORMAT = 1;

  // A 53-bit hash of a text (cyrb53): to recognise it, not to protect it.
  const digest = (text) => {
    let a = 0xdeadbeef, b = 0x41c6ce57;
    for (let i = 0; i < text.length; ++i) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 2654435761);
      b = Math.imul(b ^ code, 1597334677);
    }
    a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
    return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
  };
  const scoresOf = (sentence) => (sentence.scores ? digest(sentence.scores) : null);
  const wordsOf = (sentence) => sentence.tokens.join("\n");

  const isNode = (x) => Number.isInteger(x) && x >= 0;
  const isArc = (arc) =>
    Array.isArray(arc) && isNode(arc[0]) && isNode(arc[1]) &&
    (arc.length === 2 || (arc.length === 3 && typeof arc[2] === "string"));
  const isState = (state) =>
    state !== null && typeof state === "object" && ["fixed", "forbidden"].every((kind) =>
      Array.isArray(state[kind]) && state[kind].every(isArc));
  const isEmpty = ({ fixed, forbidden }) => !fixed.length && !forbidden.length;

  // ---- in the browser ---------------------------------------------------------------------------
  // One entry per sentence, by its id and its words: pages about the same sentences share it.
  class Store {
    // `storage` is localStorage, or null if the browser has none.
    constructor(storage) {
      this.storage = storage;
      this.isFailing = false; // whether something could not be stored
    }
    #keyOf(sentence) {
      return `arborand/${FORMAT}/${digest(wordsOf(sentence))}/${sentence.id}`;
    }
    // Returns { state, isOfOtherScores }, or null.
    load(sentence) {
      try {
        const state = JSON.parse(this.storage.getItem(this.#keyOf(sentence)));
        return isState(state) ? { state, isOfOtherScores: state.scores !== scoresOf(sentence) } : null;
      } catch {
        return null; // no storage, or no JSON
      }
    }
    save(sentence, state) {
      try {
        const key = this.#keyOf(sentence);
        if (isEmpty(state)) this.storage.removeItem(key);
        else this.storage.setItem(key, JSON.stringify({ ...state, scores: scoresOf(sentence) }));
        this.isFailing = false;
      } catch {
        this.isFailing = true; // no storage, or it is full
      }
    }
  }

  // ---- in files ---------------------------------------------------------------------------------
  // `made` are pairs of a sentence and its state.
  const toFile = (made) => {
    const sentences = made.filter(([, state]) => !isEmpty(state)).map(([sentence, state]) => ({
      sent_id: sentence.id, words: sentence.tokens, fixed: state.fixed, forbidden: state.forbidden,
      scores: scoresOf(sentence),
    }));
    const lines = sentences.map((sentence) => `  ${JSON.stringify(sentence)}`).join(",\n");
    return `{"arborand": "decisions", "format": ${FORMAT}, "sentences": [\n${lines}\n]}\n`;
  };
  const isEntry = (entry) =>
    isState(entry) && typeof entry.sent_id === "string" && Array.isArray(entry.words) &&
    entry.words.every((word) => typeof word === "string");

  // Read a file for these sentences.  Returns { found: [{ index, state, isOfOtherScores }], missing,
  // differing, damaged }: the ids of sentences that are not on the page, that have other words here,
  // and of entries that are not understood.  Throws an error if the file is of another kind, or decides
  // about a sentence in two ways.
  const fromFile = (text, sentences) => {
    let file = null;
    try {
      file = JSON.parse(text);
    } catch {
      throw new Error("It is not a JSON file.");
    }
    if (file?.arborand !== "decisions" || !Array.isArray(file.sentences))
      throw new Error("It does not contain decisions of arborand.");
    if (file.format !== FORMAT)
      throw new Error(`It has the format ${JSON.stringify(file.format)}, but this page reads format ${FORMAT}.`);
    const byId = new Map();
    sentences.forEach(({ id }, index) => byId.set(id, [...(byId.get(id) || []), index]));
    const answer = { found: [], missing: [], differing: [], damaged: [] }, states = new Map();
    for (const [number, entry] of file.sentences.entries()) {
      if (!isEntry(entry)) {
        answer.damaged.push(String(entry?.sent_id ?? `entry ${number + 1}`));
        continue;
      }
      const { sent_id: id, words, fixed, forbidden } = entry;
      const key = JSON.stringify([id, words]), decided = JSON.stringify([fixed, forbidden]);
      if ((states.get(key) ?? decided) !== decided)
        throw new Error(`Entry ${number + 1} decides about sentence ${id} again, in another way: keep one of the two.`);
      states.set(key, decided);
      const same = byId.get(id), index = same?.find((i) => wordsOf(sentences[i]) === wordsOf({ tokens: words }));
      if (!same) answer.missing.push(id);
      else if (index === undefined) answer.differing.push(id);
      else {
        const isOfOtherScores = entry.scores !== scoresOf(sentences[index]);
        answer.found.push({ index, state: { fixed, forbidden }, isOfOtherScores });
      }
    }
    return answer;
  };

  // ---- in addresses -----------------------------------------------------------------------------
  // "#id=en-1&fix=2:3,4:1&not=5:6" of sentence en-1: word 2 depends on word 3, word 4 on word 1, and
  // word 5 not on word 6.  A label follows the head: "fix=2:3:obj".
  const ofWord = ([head, dependent, label]) =>
    [dependent, head, ...(label ? [encodeURIComponent(label)] : [])].join(":");
  const toAddress = (id, { fixed, forbidden }) => {
    const part = (name, arcs) => (arcs.length ? `&${name}=${arcs.map(ofWord).join(",")}` : "");
    return `#id=${encodeURIComponent(id)}${part("fix", fixed)}${part("not", forbidden)}`;
  };
  // Returns { id, state }, or null if the address names no sentence; `state` is null if the address
  // has no choices, or they are not understood.
  const fromAddress = (hash) => {
    try {
      const parts = new Map(hash.replace(/^#/, "").split("&").map((part) => {
        const at = part.indexOf("=");
        return [part.slice(0, at), part.slice(at + 1)];
      }));
      if (!parts.get("id")) return null;
      const arcs = (name) => (parts.get(name) || "").split(",").filter(Boolean).map((text) => {
        const [dependent, head, label] = text.split(":");
        return [Number(head), Number(dependent), ...(label ? [decodeURIComponent(label)] : [])];
      });
      const state = { fixed: arcs("fix"), forbidden: arcs("not") };
      return { id: decodeURIComponent(parts.get("id")), state: isState(state) && !isEmpty(state) ? state : null };
    } catch {
      return null; // a broken escape
    }
  };

  return { Store, toFile, fromFile, toAddress, fromAddress };
})();
