// Handlers for XLA: what compiled functions of JAX call, without Python and without the GIL.
//
// The first argument of a call holds the scores (..., m, m), in float32 or float64, and the last
// one the lengths of the graphs.  Answers are in the precision of the scores.  Everything else is
// passed as attributes; `operation` is the name of the operation in Python.  One more handler lets
// Python do the work: for rare operations, and for calls that are refused, because Python's gates
// know what to say.
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "python/inference.hpp"
#include "python/registration.hpp"
#include "python/sampling.hpp"
#include "python/xla_abi.hpp"

namespace arborand {
namespace {

// answer(attributes, arguments, results) writes to the results.  Never freed: XLA's threads may
// outlive the interpreter.
PyObject* answer_in_python = nullptr;

Index num_numbers(const xla::Buffer& buffer, std::int64_t num_axes) {
    Index count = 1;
    for (std::int64_t axis = 0; axis < num_axes; ++axis) count *= buffer.dimensions[axis];
    return count;
}

class Call {
  public:
    explicit Call(const xla::CallFrame& frame) : frame_(frame) {}

    const xla::Buffer& argument(std::int64_t i) const { return *frame_.arguments.buffers[i]; }
    const xla::Buffer& result(std::int64_t i) const { return *frame_.results.buffers[i]; }

    std::int64_t attribute(const char* name) const {
        const xla::Attributes& all = frame_.attributes;
        for (std::int64_t i = 0; i < all.size; ++i) {
            if (all.names[i]->size != std::strlen(name)) continue;
            if (std::memcmp(all.names[i]->begin, name, all.names[i]->size) != 0) continue;
            const xla::Scalar* scalar = static_cast<const xla::Scalar*>(all.values[i]);
            return *static_cast<const std::int64_t*>(scalar->value);
        }
        throw std::invalid_argument(std::string("the call has no attribute ") + name);
    }
    int workers() const { return static_cast<int>(attribute("workers")); }

    Index size() const { return argument(0).dimensions[argument(0).rank - 1]; }
    Index num_graphs() const { return num_numbers(argument(0), argument(0).rank - 2); }

    // `count` graphs from `first` on, each for so many directions.
    Batch batch(Index first, Index count, Index repeats) const {
        const xla::Buffer& scores = argument(0);
        const xla::Buffer& lengths = argument(frame_.arguments.size - 1);
        const bool is_float32 = scores.type == xla::Type::float32;
        const Index bytes = is_float32 ? sizeof(float) : sizeof(double);
        return Batch(static_cast<const char*>(scores.data) + first * size() * size() * bytes,
                     is_float32, size(), static_cast<const std::int32_t*>(lengths.data) + first,
                     count, repeats, static_cast<TreeKind>(attribute("kind")));
    }
    Batch batch() const { return batch(0, num_graphs(), 1); }

    // The direction among the arguments, and a batch with each graph once for every one it has.
    Matrices direction(std::int64_t i) const {
        return {argument(i).data, argument(i).type == xla::Type::float32, size(), 1};
    }
    Batch batch_of_directions() const {
        const Index count = num_numbers(argument(1), argument(1).rank - 2);
        return batch(0, num_graphs(), num_graphs() == 0 ? 1 : count / num_graphs());
    }

    // The result with a number per arc, or the one with a number per graph, if that is asked for.
    Answers arcs() const { return result_of_rank(argument(0).rank); }
    Answers values() const { return result_of_rank(argument(0).rank - 2); }
    Answers answers() const { return answers_of(result(0)); }

  private:
    static Answers answers_of(const xla::Buffer& buffer) {
        return {buffer.data, buffer.type == xla::Type::float32};
    }
    Answers result_of_rank(std::int64_t rank) const {
        for (std::int64_t i = 0; i < frame_.results.size; ++i) {
            if (result(i).rank == rank) return answers_of(result(i));
        }
        return {};
    }

    const xla::CallFrame& frame_;
};

// ---- what is done without Python

void solve_log_partition(const Call& call) {
    log_partition(call.batch(), call.workers(), call.values(), call.arcs());
}

void solve_entropy(const Call& call) {
    entropy(call.batch(), call.workers(), call.values(), call.arcs());
}

void solve_arc_covariances(const Call& call) {
    arc_covariances(call.batch_of_directions(), call.workers(), {call.direction(1)},
                    call.answers());
}

void solve_arc_cumulants(const Call& call) {
    arc_cumulants(call.batch_of_directions(), call.workers(),
                  {call.direction(1), call.direction(2)}, call.answers());
}

void solve_entropy_gradient_tangents(const Call& call) {
    entropy_gradient_tangents(call.batch_of_directions(), call.workers(), {call.direction(1)},
                              call.answers());
}

// Each key has as many graphs as the others, and its own draws of them: the trees are those of a
// call with this key and these graphs alone.
void solve_sample(const Call& call) {
    const xla::Buffer& keys = call.argument(1);
    const Index num_keys = num_numbers(keys, keys.rank - 1);
    const Index count = num_keys == 0 ? 0 : call.num_graphs() / num_keys;
    const Index num_draws = call.attribute("num_draws");
    const Method method = static_cast<Method>(call.attribute("method"));
    std::int32_t* heads = static_cast<std::int32_t*>(call.result(0).data);
    for (Index i = 0; i < num_keys; ++i, heads += num_draws * count * call.size()) {
        Draws draws{method, {}, 0, 0, DrawRule{}};
        std::memcpy(draws.key.words, static_cast<const std::uint32_t*>(keys.data) + 4 * i,
                    sizeof draws.key.words);
        sample(call.batch(i * count, count, 1), call.workers(), draws, num_draws, heads);
    }
}

// Numbers as they are, unless something is wrong with them: then Python says what.
void pass_if_sound(const Call& call) {
    const xla::Buffer& numbers = call.argument(0);
    const xla::Buffer& is_wrong = call.argument(1);
    const bool* wrong = static_cast<const bool*>(is_wrong.data);
    for (Index i = 0; i < num_numbers(is_wrong, is_wrong.rank); ++i) {
        if (wrong[i]) throw RefusedScores();
    }
    const std::size_t bytes = numbers.type == xla::Type::float32 ? sizeof(float) : sizeof(double);
    const std::size_t count = static_cast<std::size_t>(num_numbers(numbers, numbers.rank));
    if (count > 0) std::memcpy(call.result(0).data, numbers.data, count * bytes);
}

// ---- what Python does

nb::dlpack::dtype type_of(const xla::Buffer& buffer) {
    switch (buffer.type) {
        case xla::Type::boolean:
            return nb::dtype<bool>();
        case xla::Type::int32:
            return nb::dtype<std::int32_t>();
        case xla::Type::int64:
            return nb::dtype<std::int64_t>();
        case xla::Type::uint32:
            return nb::dtype<std::uint32_t>();
        case xla::Type::float32:
            return nb::dtype<float>();
        case xla::Type::float64:
            return nb::dtype<double>();
    }
    throw std::invalid_argument("an XLA buffer has an unexpected type");
}

// The memory of buffers, as arrays.
template <class... Access>
nb::list arrays_of(const xla::Buffers& buffers) {
    nb::list arrays;
    for (std::int64_t i = 0; i < buffers.size; ++i) {
        const xla::Buffer& buffer = *buffers.buffers[i];
        std::size_t shape[32];
        if (buffer.rank > 32) throw std::invalid_argument("an XLA buffer has too many axes");
        std::copy_n(buffer.dimensions, buffer.rank, shape);
        const nb::ndarray<nb::numpy, Access...> array(buffer.data,
                                                      static_cast<std::size_t>(buffer.rank), shape,
                                                      nb::none(), nullptr, type_of(buffer));
        arrays.append(array);
    }
    return arrays;
}

nb::dict attributes_of(const xla::Attributes& attributes) {
    nb::dict found;
    for (std::int64_t i = 0; i < attributes.size; ++i) {
        const nb::str name(attributes.names[i]->begin, attributes.names[i]->size);
        if (attributes.types[i] == xla::AttributeType::string) {
            const auto* text = static_cast<const xla::Characters*>(attributes.values[i]);
            found[name] = nb::str(text->begin, text->size);
            continue;
        }
        const auto* scalar = static_cast<const xla::Scalar*>(attributes.values[i]);
        if (scalar->type == xla::Type::float64) {
            found[name] = *static_cast<const double*>(scalar->value);
        } else {
            found[name] = *static_cast<const std::int64_t*>(scalar->value);
        }
    }
    return found;
}

// What Python says if something is wrong, or nothing.
std::string solve_in_python(const xla::CallFrame& frame) {
    const nb::gil_scoped_acquire gil;
    try {
        const nb::handle answer = answer_in_python;
        answer(attributes_of(frame.attributes), arrays_of<nb::ro>(frame.arguments),
               arrays_of(frame.results));
        return {};
    } catch (const nb::python_error& error) {
        return std::string(nb::cast<const char*>(error.type().attr("__name__"))) + ": " +
               nb::str(error.value()).c_str();
    }
}

// ---- how XLA calls

xla::Error* error_of(const xla::CallFrame& frame, xla::ErrorCode code, const char* message) {
    xla::ErrorArguments arguments{sizeof arguments, nullptr, message, code};
    return frame.api->create_error(&arguments);
}

using Solve = void (*)(const Call&);

xla::Error* answer(const xla::CallFrame& frame, Solve solve) {
    try {
        try {
            if (solve != nullptr) {
                solve(Call(frame));
                return nullptr;
            }
        } catch (const RefusedScores&) {
        }
        const std::string message = solve_in_python(frame);
        if (message.empty()) return nullptr;
        return error_of(frame, xla::ErrorCode::invalid_argument, message.c_str());
    } catch (const std::bad_alloc&) {
        return error_of(frame, xla::ErrorCode::resource_exhausted, "arborand is out of memory");
    } catch (const std::exception& error) {
        return error_of(frame, xla::ErrorCode::internal, error.what());
    }
}

template <Solve solve>
xla::Error* handle(xla::CallFrame* frame) {
    for (xla::Extension* one = frame->extension; one != nullptr; one = one->next) {
        if (one->type != xla::metadata_type) continue;
        // XLA asks, before any call, for which version the handler was written.
        xla::Metadata& metadata = *reinterpret_cast<xla::MetadataExtension*>(one)->metadata;
        metadata.version.major = xla::major_version;
        metadata.version.minor = xla::minor_version;
        metadata.traits = 0;
        return nullptr;
    }
    return frame->stage == xla::Stage::execute ? answer(*frame, solve) : nullptr;
}

template <Solve solve>
nb::capsule capsule() {
    return nb::capsule(reinterpret_cast<void*>(&handle<solve>));
}

}  // namespace

void register_xla(nb::module_& m) {
    m.def(
        "xla_handlers",
        [](nb::callable answer) {
            answer_in_python = answer.release().ptr();
            nb::dict handlers;
            handlers["log_partition"] = capsule<solve_log_partition>();
            handlers["entropy"] = capsule<solve_entropy>();
            handlers["arc_covariances"] = capsule<solve_arc_covariances>();
            handlers["arc_cumulants"] = capsule<solve_arc_cumulants>();
            handlers["entropy_gradient_tangents"] = capsule<solve_entropy_gradient_tangents>();
            handlers["sample"] = capsule<solve_sample>();
            handlers["checked"] = capsule<pass_if_sound>();
            handlers["python"] = capsule<nullptr>();
            return handlers;
        },
        nb::arg("answer"), nb::sig("def xla_handlers(answer: object) -> dict[str, object]"),
        "Functions for XLA; answer(attributes, arguments, results) is called where Python is "
        "needed.");
}

}  // namespace arborand
