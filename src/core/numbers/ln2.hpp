// log 2 in two parts.
#pragma once

namespace arborand {
namespace ARBORAND_ISA {

constexpr double ln2_high = 6.93147180369123816490e-01;  // 33 bits: integer multiples are exact
constexpr double ln2_low = 1.90821492927058770002e-10;

}  // namespace ARBORAND_ISA
}  // namespace arborand
