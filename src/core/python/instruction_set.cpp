// Which instruction set the kernels are compiled for.
#include "python/instruction_set.hpp"

#include <stdexcept>
#include <string>

#include "python/registration.hpp"

namespace arborand {
namespace {

const Kernels& chosen_kernels() {
#ifdef ARBORAND_HAS_AVX2
    static const bool has_avx2 = __builtin_cpu_supports("avx2");
    if (has_avx2) return avx2::kernels();
#endif
    return baseline::kernels();
}

}  // namespace

const Kernels* kernels = &chosen_kernels();

void register_instruction_set(nb::module_& m) {
    m.def(
        "instruction_set", [] { return kernels->name; },
        "The name of the instruction set the kernels were compiled for.");
    m.def(
        "use_instruction_set",
        [](const char* name) {
            const std::string wanted(name);
            if (wanted == "baseline") {
                kernels = &baseline::kernels();
            } else if (wanted == chosen_kernels().name) {
                kernels = &chosen_kernels();
            } else {
                throw std::invalid_argument("name: this machine has no kernels called " + wanted);
            }
        },
        nb::arg("name"), "Choose the kernels by name; for tests that compare instruction sets.");
}

}  // namespace arborand
