"use strict";
// Numbers of any size, for trees.js and projective.js: a mantissa and an exponent.
//
// As in the library's core, nothing is ever subtracted.  So no digits are lost to cancellation,
// however far apart the scores are.
const numbers = (() => {
  // A number is m * BASE^e, with 1 <= m < BASE, or m = 0.  The product of two m fits into a double.
  // If the exponents of two numbers differ by 2 or more, the smaller does not change the sum.
  const BASE = 2 ** 256;
  const INVERSE = 2 ** -256;
  // log(BASE) in two parts: the first has so few digits that its multiples are exact.
  const LOG_HIGH = 177.44567775726318;
  const LOG_LOW = 4.6608281561706143e-7;

  const table = (rows, columns) => ({
    m: new Float64Array(rows * columns),
    e: new Float64Array(rows * columns),
    columns,
  });

  const put = (to, at, m, e) => {
    if (m >= BASE) {
      m *= INVERSE;
      e += 1;
    } else if (m > 0 && m < 1) {
      m *= BASE;
      e -= 1;
    }
    to.m[at] = m;
    to.e[at] = e;
  };

  const putExp = (to, at, x) => {
    if (x === -Infinity) return put(to, at, 0, 0);
    const e = Math.floor(x / LOG_HIGH);
    put(to, at, Math.exp(x - e * LOG_HIGH - e * LOG_LOW), e);
  };

  const copy = (to, at, from, begin, count) => {
    const toM = to.m, toE = to.e, fromM = from.m, fromE = from.e;
    for (let i = 0; i < count; ++i) {
      toM[at + i] = fromM[begin + i];
      toE[at + i] = fromE[begin + i];
    }
  };

  // to[at ...] += factors[which] * from[begin ...], `count` numbers: this takes nearly all the time.
  const addMultiple = (to, at, factors, which, from, begin, count) => {
    const factorM = factors.m[which];
    if (factorM === 0) return;
    const factorE = factors.e[which];
    const toM = to.m, toE = to.e, toH = to.h, fromM = from.m, fromE = from.e;
    for (let i = 0; i < count; ++i) {
      let m = factorM * fromM[begin + i];
      if (m === 0) continue;
      let e = factorE + fromE[begin + i], h = toH ? factors.h[which] + from.h[begin + i] : 0;
      if (m >= BASE) {
        m *= INVERSE;
        e += 1;
      }
      let old = toM[at + i];
      if (old !== 0) {
        const apart = e - toE[at + i];
        if (apart < -1) continue;
        if (apart < 2) {
          if (apart === 1) old *= INVERSE;
          else if (apart === -1) {
            m *= INVERSE;
            e += 1;
          }
          if (toH) h = entropyOfSum(m, h, old, toH[at + i]);
          m += old;
          if (m >= BASE) {
            m *= INVERSE;
            e += 1;
          }
        }
      }
      toM[at + i] = m;
      toE[at + i] = e;
      if (toH) toH[at + i] = h;
    }
  };

  // A number, with an entropy if `like` has one.
  const numberLike = (like, m) => {
    const number = like.h ? withEntropy(table(1, 1)) : table(1, 1);
    number.m[0] = m;
    return number;
  };
  const sum = (from, begin, count) => {
    const total = numberLike(from, 0), unit = numberLike(from, 1);
    for (let i = 0; i < count; ++i) addMultiple(total, 0, unit, 0, from, begin + i, 1);
    return total;
  };

  const divide = (numbers, begin, count, by) => {
    for (let i = begin; i < begin + count; ++i) {
      if (numbers.m[i] > 0) put(numbers, i, numbers.m[i] / by.m[0], numbers.e[i] - by.e[0]);
      if (numbers.h) numbers.h[i] -= by.h[0];
    }
  };

  const multiply = (product, by) => {
    put(product, 0, product.m[0] * by.m[0], product.e[0] + by.e[0]);
    if (product.h) product.h[0] += by.h[0];
  };
  const toDouble = (numbers, at) => numbers.m[at] * BASE ** numbers.e[at];
  const toLog = (numbers) =>
    Math.log(numbers.m[0]) + numbers.e[0] * LOG_LOW + numbers.e[0] * LOG_HIGH;

  // ---- with an entropy -------------------------------------------------------------------------
  // Each number x is a sum of products of weights; h[x] is the entropy of choosing among its terms.
  // It is 0 for a weight; products add it, quotients subtract it, and a sum adds the entropy of the
  // choice between its two parts.  Scores, which may be huge, are not involved.  It takes three times
  // as long.
  const withEntropy = (numbers) => ({ ...numbers, h: new Float64Array(numbers.m.length) });

  const entropyOfSum = (m, h, old, oldH) => {
    const share = m / (m + old), rest = old / (m + old), mean = share * h + rest * oldH;
    if (share <= 1e-18 || rest <= 1e-18) return mean;
    return mean - share * Math.log(share) - rest * Math.log(rest);
  };

  return { table, numberLike, put, putExp, copy, addMultiple, sum, divide, multiply, toDouble, toLog, withEntropy };
})();
