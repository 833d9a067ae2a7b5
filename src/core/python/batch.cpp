// Scores become batches: copied, cleaned and inspected, or referred to as they come.
#include "python/batch.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "numbers/floating_point_guard.hpp"
#include "python/inspection.hpp"
#include "python/registration.hpp"
#include "python/suspicion.hpp"

namespace arborand {
namespace {

TreeKind kind_of(const nb::int_& kind) { return static_cast<TreeKind>(PyLong_AsLong(kind.ptr())); }

template <class Number>
void copy_matrix(const Number* from, Index row_stride, Index column_stride, Index num_nodes,
                 double* to, Index width) {
    for (Index i = 0; i < num_nodes; ++i, from += row_stride, to += width) {
        if (column_stride == 1) {
            std::copy(from, from + num_nodes, to);
        } else {
            for (Index j = 0; j < num_nodes; ++j) to[j] = from[j * column_stride];
        }
    }
}

// What is wrong with a clean graph, or odd.
int judge(const Graph& graph, bool reports_odd) {
    const Finding finding = find_trees(graph);
    if (finding != Finding::none) return static_cast<int>(finding);
    const Index count = graph.stride * graph.stride;
    const bool may_be_odd =
        reports_odd && kernels->has_zero_or_low(graph.log_weights, count, mask_score);
    return static_cast<int>(may_be_odd ? suspect(graph) : Suspicion::none);
}

// Where the numbers of an array of shape (..., m, m) are, and how far apart its graphs; false if
// they are not floats, or too irregular.
bool find_matrices(const AnyArray& array, Matrices& matrices, Index& graph_stride) {
    matrices.is_float32 = array.dtype() == nb::dtype<float>();
    if (!matrices.is_float32 && array.dtype() != nb::dtype<double>()) return false;
    matrices.data = array.data();
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(matrices.data);
    if (address % (matrices.is_float32 ? sizeof(float) : sizeof(double)) != 0) return false;
    const std::size_t axes = array.ndim();
    if (axes < 2) {
        matrices.column_stride = array.stride(0);
        return axes == 1;
    }
    if (array.shape(axes - 1) != array.shape(axes - 2) || array.shape(axes - 1) < 2) return false;
    matrices.row_stride = array.stride(axes - 2);
    matrices.column_stride = array.stride(axes - 1);
    graph_stride = axes > 2 ? array.stride(axes - 3) : 0;
    for (std::size_t axis = 0; axis + 3 < axes; ++axis) {
        const Index inner = static_cast<Index>(array.shape(axis + 1));
        if (array.stride(axis) != array.stride(axis + 1) * inner) return false;
    }
    return true;
}

Index num_matrices(const AnyArray& array) {
    Index count = 1;
    for (std::size_t axis = 0; axis + 2 < array.ndim(); ++axis) {
        count *= static_cast<Index>(array.shape(axis));
    }
    return count;
}

// Memory of the batch, as an array that nobody can make writable: its owner offers no buffer.
template <class Number>
nb::ndarray<nb::numpy, const Number> view(const Number* data, nb::handle owner,
                                          std::initializer_list<std::size_t> shape) {
    return {data, shape, owner};
}

}  // namespace

void Matrices::copy(Index first, Index num_nodes, double* to, Index width) const {
    if (is_float32) {
        const ARBORAND_ISA::FloatingPointGuard guard;  // it may take small numbers for 0
        copy_matrix(static_cast<const float*>(data) + first, row_stride, column_stride, num_nodes,
                    to, width);
    } else {
        copy_matrix(static_cast<const double*>(data) + first, row_stride, column_stride, num_nodes,
                    to, width);
    }
}

namespace {

// Write the clean log-weights of a graph, whose scores or weights begin at number `first`, in rows
// of `width`.
Inspection copy_and_clean(const Matrices& values, Index first, Index n, bool are_weights,
                          Scratch& memory, double* to, Index width) {
    const Index area = width * width;
    if (!are_weights) {
        values.copy(first, n + 1, to, width);
        clear_unread(to, width, n, -HUGE_VAL);
        return kernels->all_below_infinity(to, area) ? Inspection{} : find_bad_score(to, width);
    }
    if (!memory.reserve(static_cast<std::size_t>(area) * sizeof(double))) throw std::bad_alloc();
    double* weights = reinterpret_cast<double*>(memory.memory());
    values.copy(first, n + 1, weights, width);
    clear_unread(weights, width, n, 1.0);  // whose logarithm is as quick as any
    if (!kernels->logarithms_of_weights(weights, to, area)) {
        // Some weight is bad, or nearly 0.
        const Inspection found = find_bad_weight(weights, width);
        if (found.finding != Finding::none) return found;
        std::memcpy(to, weights, static_cast<std::size_t>(area) * sizeof(double));
        kernels->logarithms(to, area);
    }
    clear_unread(to, width, n, -HUGE_VAL);
    return {};
}

}  // namespace

void Batch::set_lengths(const std::optional<Lengths>& lengths, Index count) {
    lengths_.reserve(static_cast<std::size_t>(count) + 1);  // memory even if there are none
    if (!lengths) {
        lengths_.assign(static_cast<std::size_t>(count), static_cast<std::int32_t>(size_ - 1));
        return;
    }
    expect_size(*lengths, count);
    const bool is_wide = lengths->dtype() == nb::dtype<std::int64_t>();
    if (!is_wide && lengths->dtype() != nb::dtype<std::int32_t>()) {
        throw std::invalid_argument("lengths must be int32 or int64");
    }
    for (Index g = 0; g < count; ++g) {
        const std::int64_t length = is_wide ? static_cast<const std::int64_t*>(lengths->data())[g]
                                            : static_cast<const std::int32_t*>(lengths->data())[g];
        if (length < 1 || (size_ > 0 && length >= size_) || length > INT32_MAX - 1) {
            throw RefusedScores();
        }
        lengths_.push_back(static_cast<std::int32_t>(length));
    }
}

Batch::Batch(AnyArray scores, std::optional<Lengths> lengths, nb::int_ kind, bool refuses_odd)
    : kind_(kind_of(kind)), given_(std::move(scores)), refuses_odd_(refuses_odd) {
    if (!find_matrices(given_, scores_, graph_stride_)) throw RefusedScores();
    if (given_.ndim() > 1) {
        size_ = static_cast<Index>(given_.shape(given_.ndim() - 1));
        set_lengths(lengths, num_matrices(given_));
        return;
    }
    if (!lengths) throw RefusedScores();
    set_lengths(lengths, static_cast<Index>(lengths->size()));
    beginnings_.reserve(lengths_.size() + 1);
    Beginning next{0, 0};
    for (const Index length : lengths_) {
        beginnings_.push_back(next);
        next.row += length + 1;
        next.entry += (length + 1) * (length + 1);
        if (next.entry > static_cast<Index>(given_.size())) break;  // before it overflows
    }
    beginnings_.push_back(next);
    expect_size(given_, next.entry);
}

Batch::Batch(const void* scores, bool is_float32, Index size, const std::int32_t* lengths,
             Index count, Index repeats, TreeKind kind)
    : kind_(kind),
      size_(size),
      scores_{scores, is_float32, size, 1},
      graph_stride_(size * size),
      repeats_(repeats),
      caller_(Caller::xla) {
    lengths_.reserve(static_cast<std::size_t>(count * repeats) + 1);
    for (Index g = 0; g < count; ++g) {
        if (lengths[g] < 1 || lengths[g] >= size) throw RefusedScores();
        lengths_.insert(lengths_.end(), static_cast<std::size_t>(repeats), lengths[g]);
    }
}

nb::tuple Batch::check(nb::handle values, std::optional<Lengths> lengths, nb::int_ kind,
                       bool are_weights) {
    const nb::tuple neither = nb::make_tuple(nb::none(), nb::none());
    AnyArray given;
    Matrices matrices;
    Index graph_stride = 0;
    if (!nb::try_cast(values, given, false)) return neither;
    if (given.ndim() < 2 || !find_matrices(given, matrices, graph_stride)) return neither;
    Batch batch;
    batch.kind_ = kind_of(kind);
    batch.size_ = static_cast<Index>(given.shape(given.ndim() - 1));
    batch.set_lengths(lengths, num_matrices(given));
    const Index size = batch.size_;
    batch.checked_ = Numbers(batch.num_entries());
    int code = 0;
    Index place = 0;
    Inspection entry;
    bool is_wrong = false;
    run(batch.count(), 1, [&](Index g, Workspace& workspace, const Interrupt&) {
        if (is_wrong) return Status::ok;
        double* to = batch.checked_.get() + g * size * size;
        entry = copy_and_clean(matrices, g * graph_stride, batch.num_words(g), are_weights,
                               workspace.scores, to, size);
        int found = static_cast<int>(entry.finding);
        if (found == 0) {
            const bool reports_odd = code == 0 && !are_weights;
            found = judge({to, size, batch.num_words(g), batch.kind_}, reports_odd);
        }
        is_wrong = found != 0 && !is_suspicion(found);
        if (found != 0) {
            code = found;
            place = g;
        }
        return Status::ok;
    });
    if (code == 0) return nb::make_tuple(std::move(batch), nb::none());
    const nb::tuple found = nb::make_tuple(code, place, entry.head, entry.dependent);
    return is_wrong ? nb::make_tuple(nb::none(), found) : nb::make_tuple(std::move(batch), found);
}

Batch Batch::take(Array<const std::int64_t, 1> chosen) const {
    Batch some;
    some.kind_ = kind_;
    some.size_ = size_;
    const Index area = size_ * size_, count = static_cast<Index>(chosen.shape(0));
    some.checked_ = Numbers(count * area);
    some.lengths_.reserve(static_cast<std::size_t>(count) + 1);
    for (Index i = 0; i < count; ++i) {
        const Index g = chosen.data()[i];
        if (!checked_ || g < 0 || g >= this->count()) throw std::out_of_range("no such graph");
        some.lengths_.push_back(static_cast<std::int32_t>(num_words(g)));
        std::copy_n(checked_.get() + g * area, area, some.checked_.get() + i * area);
    }
    return some;
}

void Batch::load(const Group& group, Scratch& memory, Graph* graphs) const {
    const Index n = num_words(group.graphs[0]), width = n + 1, area = width * width;
    if (checked_) {
        for (Index k = 0; k < group.count; ++k) {
            graphs[k] = {checked_.get() + group.graphs[k] * size_ * size_, size_, n, kind_};
        }
        return;
    }
    if (!memory.reserve(static_cast<std::size_t>(group.count * area) * sizeof(double))) {
        throw std::bad_alloc();
    }
    double* copy = reinterpret_cast<double*>(memory.memory());
    for (Index k = 0; k < group.count; ++k, copy += area) {
        const Index g = group.graphs[k];
        Matrices matrix = scores_;
        if (is_ragged()) matrix.row_stride = width * matrix.column_stride;
        const Index first =
            is_ragged() ? first_entry(g) * matrix.column_stride : g / repeats_ * graph_stride_;
        graphs[k] = {copy, width, n, kind_};
        const Inspection found = copy_and_clean(matrix, first, n, false, memory, copy, width);
        if (found.finding != Finding::none || judge(graphs[k], refuses_odd_) != 0) {
            throw RefusedScores();
        }
    }
}

void register_batch(nb::module_& m) {
    nb::exception<RefusedScores>(m, "RefusedScores");
    nb::class_<Batch>(m, "Batch",
                      "Graphs on their way into the core: scores as they come, padded (..., m, m) "
                      "or ragged in one row, or a checked copy.")
        .def(nb::init<AnyArray, std::optional<Lengths>, nb::int_, bool>(), nb::arg("scores"),
             nb::arg("lengths").none(), nb::arg("kind"), nb::arg("refuses_odd") = false)
        .def_static("check", &Batch::check, nb::arg("values"), nb::arg("lengths").none(),
                    nb::arg("kind"), nb::arg("are_weights") = false,
                    nb::sig("def check(values: object, lengths: NDArray | None, kind: int, "
                            "are_weights: bool = False) -> "
                            "tuple[Batch | None, tuple[int, int, int, int] | None]"),
                    "Make a checked copy, and report what is odd or wrong.")
        .def("take", &Batch::take, nb::arg("chosen"), "Copy some graphs of a checked copy.")
        .def("__len__", &Batch::count)
        .def_prop_ro("size", &Batch::size,
                     "How many nodes a padded graph has room for, root included.")
        .def_prop_ro("log_weights",
                     [](nb::handle_t<Batch> self) {
                         const Batch& batch = nb::cast<const Batch&>(self);
                         if (batch.checked() == nullptr) throw nb::attribute_error("log_weights");
                         const std::size_t size = static_cast<std::size_t>(batch.size());
                         return view(batch.checked(), self, {batch.lengths().size(), size, size});
                     })
        .def_prop_ro("lengths", [](nb::handle_t<Batch> self) {
            const Batch& batch = nb::cast<const Batch&>(self);
            return view(batch.lengths().data(), self, {batch.lengths().size()});
        });
}

}  // namespace arborand
