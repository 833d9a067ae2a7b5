#pragma once
#include <cmath>
namespace arborand {
namespace ARBORAND_ISA {
inline double natural_log(double x) { return std::log(x); }
inline double natural_log1p(double x) { return std::log1p(x); }
inline double natural_exp(double x) { return std::exp(x); }
inline double expm1_of(double x) { return std::expm1(x); }
}  // namespace ARBORAND_ISA
}  // namespace arborand
