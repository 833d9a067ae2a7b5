// The sentences of the page with the decisions about them.  A sentence is computed only when it is
// viewed, or has decisions.
const corpus = (() => {
  class Corpus {
    #made = new Map(); // choices, by the number of the sentence
    #listeners = [];

    // `data` are the sentences as script_data.py writes them; `store` comes from decisions.js.
    constructor(data, store) {
      this.data = data;
      this.store = store;
      this.size = data.length;
      this.ofOtherScores = new Set(); // sentences whose decisions were made with other scores
      this.refused = new Set(); // sentences whose stored decisions no tree meets
    }
    // Called with the number of a sentence and the event, after each step anywhere.
    listen(listener) {
      this.#listeners.push(listener);
    }
    choicesOf(index) {
      if (this.#made.has(index)) return this.#made.get(index);
      const data = this.data[index], made = new choices.Choices(choices.readSentence(data));
      this.#made.set(index, made);
      if (!data.scores) return made;
      const kept = this.store.load(data);
      if (kept) {
        if (kept.isOfOtherScores) this.ofOtherScores.add(index);
        if (!this.#try(() => made.begin(kept.state))) this.refused.add(index);
      }
      made.listen((event) => {
        // The choices of a link are stored as soon as the reader works on them.
        if (event.kind !== "refused" && event.kind !== "linked") this.store.save(data, made.state);
        for (const listener of this.#listeners) listener(index, event);
      });
      return made;
    }
    // Open the sentences that have decisions from an earlier visit.
    openKept() {
      this.data.forEach((data, index) => data.scores && this.store.load(data) && this.choicesOf(index));
    }
    get decided() {
      return [...this.#made.keys()].filter((index) => this.#made.get(index).count).sort((a, b) => a - b);
    }
    // Import the decisions of a file.  Returns { taken, refused, missing, differing, damaged,
    // ofOtherScores }, each a list of ids.
    take(text) {
      const { found, ...answer } = decisions.fromFile(text, this.data);
      const taken = [], refused = [], ofOtherScores = [];
      for (const { index, state, isOfOtherScores } of found) {
        const { id } = this.data[index], made = this.choicesOf(index);
        if (!this.#try(() => made.restore(state))) refused.push(id);
        else {
          taken.push(id);
          if (isOfOtherScores) ofOtherScores.push(id);
        }
      }
      return { taken, refused, ofOtherScores, ...answer };
    }
    toFile() {
      return decisions.toFile(this.decided.map((index) => [this.data[index], this.#made.get(index).state]));
    }

    // ---- for the queue --------------------------------------------------------------------------
    // The value of the answer about each word, by number; nothing for sentences without scores.
    valuesOf(index) {
      if (!this.data[index].scores) return null;
      return this.#made.get(index)?.values ?? this.data[index].values ?? this.data[index].entropies;
    }
    entropyAtFirst(index) {
      const made = this.#made.get(index), { entropy, labelEntropy = 0 } = this.data[index];
      return made ? made.entropyAtFirst : entropy + labelEntropy;
    }
    entropyOf(index) {
      return this.#made.get(index)?.entropy ?? this.entropyAtFirst(index);
    }

    #try(step) {
      try {
        return step();
      } catch {
        return false; // arcs that the sentence does not have
      }
    }
  }

  return { Corpus };
})();
