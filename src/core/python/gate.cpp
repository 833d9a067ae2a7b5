// The gate for weights of dense graphs: clean copies, and what is wrong or odd about them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <memory>
#include <optional>
#include <tuple>

#include "python/batch.hpp"
#include "python/registration.hpp"

namespace arborand {
namespace {

// Every entry becomes its logarithm.
void logarithms(Array<double, 1> numbers) {
    constexpr Index at_once = 1 << 16;
    const Index count = static_cast<Index>(numbers.shape(0));
    run((count + at_once - 1) / at_once, 1, [&](Index piece, Workspace&, const Interrupt&) {
        const Index first = piece * at_once;
        const Index left = count - first;
        kernels->logarithms(numbers.data() + first, left < at_once ? left : at_once);
        return Status::ok;
    });
}

// The clean log-weights of a graph whose weights are `from`; a bad entry is named as in clean().
Inspection clean_logarithms(const double* from, double* to, Index size, Index num_words) {
    if (!kernels->logarithms_of_weights(from, to, size * size)) {
        // Something is bad, or nearly 0, or is not read and may be anything.
        std::memcpy(to, from, static_cast<std::size_t>(size * size) * sizeof(double));
        const Inspection found = clean_weights(to, size, num_words);
        if (found.finding != Finding::none) return found;
        kernels->logarithms(to, size * size);
    }
    clear_unread(to, size, num_words, -HUGE_VAL);
    return {};
}

// The first finding of graphs as (code, graph, head, dependent).  `clean_graph(g, data)` cleans the
// log-weights of a graph.  If nothing is wrong and oddities are asked for, the first suspicion is
// what is found.
template <class Clean>
std::tuple<int, Index, Index, Index> inspect_with(const Array<double, 3>& log_weights,
                                                  const Lengths& lengths, int kind,
                                                  bool report_oddities, const Clean& clean_graph) {
    const Index count = static_cast<Index>(log_weights.shape(0));
    const Index size = static_cast<Index>(log_weights.shape(1));
    Inspection first;
    Suspicion suspicion = Suspicion::none;
    Index bad = 0, odd = 0;
    run(count, 1, [&](Index g, Workspace&, const Interrupt&) {
        if (first.finding != Finding::none) return Status::ok;
        double* data = log_weights.data() + g * size * size;
        const Index n = lengths.data()[g];
        first = clean_graph(g, data, size, n);
        bad = g;
        if (first.finding != Finding::none) return Status::ok;
        const bool asks = report_oddities && suspicion == Suspicion::none;
        const Judgement judgement = judge({data, size, n, static_cast<TreeKind>(kind)}, asks);
        first.finding = judgement.finding;
        if (judgement.suspicion != Suspicion::none) {
            suspicion = judgement.suspicion;
            odd = g;
        }
        return Status::ok;
    });
    if (first.finding == Finding::none) return {static_cast<int>(suspicion), odd, 0, 0};
    return {static_cast<int>(first.finding), bad, first.head, first.dependent};
}

// Clean every graph in place.  A graph with a bad entry is left as it was but for what is never
// read.
std::tuple<int, Index, Index, Index> inspect(Array<double, 3> log_weights, Lengths lengths,
                                             int kind, bool report_oddities) {
    return inspect_with(
        log_weights, lengths, kind, report_oddities,
        [](Index, double* data, Index size, Index n) { return clean(data, size, n); });
}

// The same for weights, whose clean logarithms are written to `log_weights`.
std::tuple<int, Index, Index, Index> inspect_weights(LogWeights weights,
                                                     Array<double, 3> log_weights, Lengths lengths,
                                                     int kind) {
    return inspect_with(
        log_weights, lengths, kind, false, [&](Index g, double* data, Index size, Index n) {
            return clean_logarithms(weights.data() + g * size * size, data, size, n);
        });
}

// The same memory, as an array that nobody can make writable: its owner is not reachable from
// Python, and offers no buffer to write to.
template <class Number>
nb::ndarray<nb::numpy, const Number> frozen(Contiguous<Number> array) {
    std::size_t shape[8] = {};
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape[axis] = array.shape(axis);
    const nb::capsule owner(new Contiguous<Number>(array), [](void* held) noexcept {
        delete static_cast<Contiguous<Number>*>(held);
    });
    return {array.data(), array.ndim(), shape, owner};
}

// The clean log-weights of a single graph, frozen, as (1, m, m): from an array of float64 in C
// order, with nothing wrong or odd about it.  None for anything else, which `inspect` is for.
std::optional<nb::ndarray<nb::numpy, const double>> sound_copy(nb::handle values, int kind,
                                                               bool are_weights) {
    Array<const double, 2> given;
    if (!nb::try_cast(values, given, false)) return std::nullopt;
    const std::size_t m = given.shape(0);
    const Index size = static_cast<Index>(m);
    // 3 x 3 may be a list of edges.
    if (m < 2 || m == 3 || m != given.shape(1)) return std::nullopt;
    std::unique_ptr<double[]> copy(new double[m * m]);
    {
        const GilReleased released;
        Inspection found;
        if (are_weights) {
            found = clean_logarithms(given.data(), copy.get(), size, size - 1);
        } else {
            std::memcpy(copy.get(), given.data(), m * m * sizeof(double));
            found = clean(copy.get(), size, size - 1);
        }
        if (found.finding != Finding::none) return std::nullopt;
        const Judgement judgement =
            judge({copy.get(), size, size - 1, static_cast<TreeKind>(kind)}, !are_weights);
        if (judgement.finding != Finding::none || judgement.suspicion != Suspicion::none) {
            return std::nullopt;
        }
    }
    const nb::capsule owner(copy.get(),
                            [](void* held) noexcept { delete[] static_cast<double*>(held); });
    return nb::ndarray<nb::numpy, const double>(copy.release(), {1, m, m}, owner);
}

}  // namespace

void register_gate(nb::module_& m) {
    m.def("logarithms", &logarithms, nb::arg("numbers"));
    m.def("inspect", &inspect, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"),
          nb::arg("report_oddities") = false);
    m.def("inspect_weights", &inspect_weights, nb::arg("weights"), nb::arg("log_weights"),
          nb::arg("lengths"), nb::arg("kind"));
    m.def("sound_copy", &sound_copy, nb::arg("values"), nb::arg("kind"), nb::arg("are_weights"));
    m.def("frozen", &frozen<double>, nb::arg("array"));
    m.def("frozen", &frozen<std::int32_t>, nb::arg("array"));
}

}  // namespace arborand
