// Trees without crossing arcs, by Eisner's chart: the nodes in a line, the root first.
//
//   gap(i, j)   = sum over k of right(i, k) left(k + 1, j)              i <= k < j
//   right(i, j) = sum over k of arc(i -> k) gap(i, k) right(k, j)       k the farthest dependent
//   left(i, j)  = sum over k of left(i, k) gap(k, j) arc(j -> k)        right(i, i) = left(i, i) = 1
//
// Z is right(0, n).  Every tree is counted once.  If only one arc may leave the root, gap(0, j) has
// only the term of k = 0.  The probability of an arc is its share of Z: the adjoint of the same sums.
const projective = (() => {
  const { table, putExp, addMultiple, withEntropy, put, divide, toDouble } = numbers;

  const lastSplit = (single, i, j) => (single && i === 0 ? 0 : j - 1);

  // The chart as tables of size * size, indexed by i * size + j.  `make` chooses the number type.
  const inward = ({ n, single, scores }, make) => {
    const size = n + 1, at = (i, j) => i * size + j;
    const weights = make(table(size, size));
    for (let arc = 0; arc < size * size; ++arc) putExp(weights, arc, scores[arc]);
    const [gap, right, left, toRight, toLeft] = Array.from({ length: 5 }, () => make(table(size, size)));
    for (let i = 0; i < size; ++i) {
      put(right, at(i, i), 1, 0);
      put(left, at(i, i), 1, 0);
    }
    for (let length = 1; length <= n; ++length)
      for (let i = 0, j = length; j <= n; ++i, ++j) {
        const here = at(i, j);
        for (let k = i; k <= lastSplit(single, i, j); ++k) addMultiple(gap, here, right, at(i, k), left, at(k + 1, j), 1);
        addMultiple(toRight, here, weights, at(i, j), gap, here, 1);
        addMultiple(toLeft, here, weights, at(j, i), gap, here, 1);
        for (let k = i + 1; k <= j; ++k) addMultiple(right, here, toRight, at(i, k), right, at(k, j), 1);
        for (let k = i; k < j; ++k) addMultiple(left, here, left, at(i, k), toLeft, at(k, j), 1);
      }
    return { weights, gap, right, left, toRight, toLeft };
  };

  // The adjoints, from long spans to short ones.
  const marginalsOf = ({ n, single }, { weights, gap, right, left, toRight, toLeft }, z) => {
    const size = n + 1, at = (i, j) => i * size + j, marginals = new Float64Array(size * size);
    const [ofGap, ofRight, ofLeft, ofToRight, ofToLeft] = Array.from({ length: 5 }, () => table(size, size));
    const share = table(1, 1);
    const setMarginal = (arc, adjoint, here) => {
      share.m[0] = 0;
      addMultiple(share, 0, adjoint, here, gap, here, 1);
      const product = table(1, 1);
      addMultiple(product, 0, share, 0, weights, arc, 1);
      if (product.m[0] === 0) return;
      divide(product, 0, 1, z);
      marginals[arc] = Math.min(toDouble(product, 0), 1);
    };
    put(ofRight, at(0, n), 1, 0);
    for (let length = n; length >= 1; --length)
      for (let i = 0, j = length; j <= n; ++i, ++j) {
        const here = at(i, j);
        if (ofRight.m[here] > 0)
          for (let k = i + 1; k <= j; ++k) {
            addMultiple(ofToRight, at(i, k), ofRight, here, right, at(k, j), 1);
            addMultiple(ofRight, at(k, j), ofRight, here, toRight, at(i, k), 1);
          }
        if (ofLeft.m[here] > 0)
          for (let k = i; k < j; ++k) {
            addMultiple(ofLeft, at(i, k), ofLeft, here, toLeft, at(k, j), 1);
            addMultiple(ofToLeft, at(k, j), ofLeft, here, left, at(i, k), 1);
          }
        setMarginal(at(i, j), ofToRight, here);
        setMarginal(at(j, i), ofToLeft, here);
        addMultiple(ofGap, here, ofToRight, here, weights, at(i, j), 1);
        addMultiple(ofGap, here, ofToLeft, here, weights, at(j, i), 1);
        if (ofGap.m[here] > 0)
          for (let k = i; k <= lastSplit(single, i, j); ++k) {
            addMultiple(ofRight, at(i, k), ofGap, here, left, at(k + 1, j), 1);
            addMultiple(ofLeft, at(k + 1, j), ofGap, here, right, at(i, k), 1);
          }
      }
    return marginals;
  };

  const sums = (graph) => {
    const chart = inward(graph, (made) => made), z = table(1, 1);
    put(z, 0, chart.right.m[graph.n], chart.right.e[graph.n]);
    return {
      z,
      marginals: z.m[0] > 0 ? marginalsOf(graph, chart, z) : null,
      carriedEntropy: () => Math.max(inward(graph, withEntropy).right.h[graph.n], 0),
    };
  };

  // The same chart with maxima instead of sums, and back pointers.
  const bestTree = ({ n, single, scores }) => {
    const size = n + 1, at = (i, j) => i * size + j;
    const best = () => ({ score: new Float64Array(size * size).fill(-Infinity), from: new Int32Array(size * size) });
    const [gap, right, left] = [best(), best(), best()];
    const offer = (to, here, score, k) => {
      if (score > to.score[here]) [to.score[here], to.from[here]] = [score, k];
    };
    for (let i = 0; i < size; ++i) right.score[at(i, i)] = left.score[at(i, i)] = 0;
    for (let length = 1; length <= n; ++length)
      for (let i = 0, j = length; j <= n; ++i, ++j) {
        const here = at(i, j);
        for (let k = i; k <= lastSplit(single, i, j); ++k)
          offer(gap, here, right.score[at(i, k)] + left.score[at(k + 1, j)], k);
        for (let k = i + 1; k <= j; ++k)
          offer(right, here, scores[at(i, k)] + gap.score[at(i, k)] + right.score[at(k, j)], k);
        for (let k = i; k < j; ++k)
          offer(left, here, left.score[at(i, k)] + gap.score[at(k, j)] + scores[at(j, k)], k);
      }
    const heads = new Int32Array(size).fill(-1), spans = [["right", 0, n]];
    while (spans.length) {
      const [kind, i, j] = spans.pop();
      if (i === j) continue;
      const k = { gap, right, left }[kind].from[at(i, j)];
      if (kind === "gap") spans.push(["right", i, k], ["left", k + 1, j]);
      else if (kind === "right") {
        heads[k] = i;
        spans.push(["gap", i, k], ["right", k, j]);
      } else {
        heads[k] = j;
        spans.push(["left", i, k], ["gap", k, j]);
      }
    }
    return heads;
  };

  return { sums, bestTree };
})();
