// Which instruction set the kernels are compiled for: the best that this machine has, or the one
// that ARBORAND_INSTRUCTION_SET names.
#include "python/instruction_set.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "python/registration.hpp"

namespace arborand {
namespace {

bool has_avx2() {
#ifdef ARBORAND_HAS_AVX2
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

const Kernels& best_kernels() {
#ifdef ARBORAND_HAS_AVX2
    if (has_avx2()) return avx2::kernels();
#endif
    return baseline::kernels();
}

void use(const std::string& name, const char* argument) {
    if (name == best_kernels().name) {
        kernels = &best_kernels();
    } else if (name == baseline::kernels().name) {
        kernels = &baseline::kernels();
    } else {
        throw std::invalid_argument(std::string(argument) + " is \"" + name +
                                    "\", which this machine does not support: use \"baseline\"" +
                                    (has_avx2() ? " or \"avx2\"" : ""));
    }
}

}  // namespace

const Kernels* kernels = &best_kernels();

void register_instruction_set(nb::module_& m) {
    constexpr const char* variable = "ARBORAND_INSTRUCTION_SET";
    const char* wanted = std::getenv(variable);
    if (wanted != nullptr && *wanted != 0) use(wanted, variable);
    m.def(
        "instruction_set", [] { return kernels->name; },
        "The name of the instruction set the kernels were compiled for.");
    m.def(
        "use_instruction_set", [](const char* name) { use(name, "name"); }, nb::arg("name"),
        "Choose the kernels by name; for tests that compare instruction sets.");
}

}  // namespace arborand
