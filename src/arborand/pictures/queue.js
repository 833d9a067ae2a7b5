// Which question to ask next.  The head of a word, with its label if labels have scores, is a function
// of the tree, so learning it removes, on average, exactly its own entropy from that of the trees: the
// word with the largest entropy is the question that settles the most.
const queue = (() => {
  const LEAST_ASKED = SIZES.UNCERTAIN_NATS; // nats
  const SETTLED = 0.05; // a sentence with less than this share of its entropy left counts as settled

  class Queue {
    #skipped = new Set();
    #answered = []; // the sentences that were decided about here, in order

    // `corpus` has `size`, and for each sentence an `entropyOf` and the values of its words.
    constructor(corpus) {
      this.corpus = corpus;
    }
    // The most valuable open question { index, word, value }: from sentence `near`, if it has any.
    next(near = null) {
      let best = null;
      const look = (index) => {
        this.corpus.valuesOf(index)?.forEach((value, word) => {
          if (value < LEAST_ASKED || this.#skipped.has(`${index} ${word}`)) return;
          if (!best || value > best.value) best = { index, word, value };
        });
      };
      if (near !== null) look(near);
      if (best) return best;
      for (let index = 0; index < this.corpus.size; ++index) look(index);
      return best;
    }
    skip({ index, word }) {
      this.#skipped.add(`${index} ${word}`);
    }
    get numSkipped() {
      return this.#skipped.size;
    }
    askAgain() {
      this.#skipped.clear();
    }
    // Remember an answer, so that it can be undone wherever it was given.
    answered(index) {
      this.#answered.push(index);
    }
    lastAnswered() {
      return this.#answered.pop() ?? null;
    }
    // The progress: entropy in nats, at first and now, and how many words are worth asking about.
    progress() {
      let before = 0, left = 0, questions = 0;
      for (let index = 0; index < this.corpus.size; ++index) {
        const values = this.corpus.valuesOf(index);
        if (!values) continue;
        before += this.corpus.entropyAtFirst(index);
        left += this.corpus.entropyOf(index);
        questions += values.filter((value) => value >= LEAST_ASKED).length;
      }
      return { before, left, questions };
    }
  }

  // What each of these heads of a word would leave: { entropy, settled }, in nats, and the other
  // words that would no longer be asked about; null if no tree has it.
  const consequences = (choices, word, heads) => {
    const before = choices.values;
    return heads.map((head) => {
      const answer = choices.suppose([{ kind: "fix", head, dependent: word }]);
      if (answer.leftOut) return null;
      const after = choices.valuesOf(answer);
      const settled = [...before.keys()].filter((j) =>
        j && j !== word && before[j] >= LEAST_ASKED && after[j] < LEAST_ASKED);
      return { entropy: choices.entropyOf(answer), settled };
    });
  };

  // How many answers settle a sentence, if each is the likeliest one to the best question: the head of
  // a word or, once that is fixed, its label.
  const answersNeeded = (choices) => {
    const ahead = choices.copy(), most = 2 * choices.sentence.n;
    let count = 0;
    while (ahead.entropy > SETTLED * ahead.entropyAtFirst && count < most) {
      const { values } = ahead, dependent = values.indexOf(Math.max(...values)), fixed = ahead.headOf(dependent);
      const head = fixed ?? ahead.likeliestHeads(dependent, 1)[0].head;
      const label = fixed === undefined ? undefined : ahead.labelToWrite(head, dependent);
      ahead.decide([{ kind: "fix", head, dependent, label }]);
      count += 1;
    }
    return count;
  };

  return { Queue, consequences, answersNeeded, LEAST_ASKED };
})();
